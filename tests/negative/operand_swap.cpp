// misuse: FragB
// A and B of an mma have different maps: handing one for the other is a type error.
#include "tile/mma.h"

namespace fovea {

void product(FragC& d, const FragA& a, const FragB& b) {
#ifdef MISUSE
  mma<Element::bf16>(d, b, a);
#else
  mma<Element::bf16>(d, a, b);
#endif
}

}  // namespace fovea
