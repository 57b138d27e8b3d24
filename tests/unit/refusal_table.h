// The refusals of a forward call as a table: how to provoke each, and what its message has to name.
#pragma once

#include <string>
#include <vector>

#include "unit/forward_case.h"

namespace fovea::test {

struct RefusalRow {
  const char* name;  // of the test
  fovea_status status;
  void (*bend)(ForwardCase&);
  const char* in_asked;  // a number or name that `asked` has to carry
};

const std::vector<RefusalRow>& refusal_rows();

}  // namespace fovea::test
