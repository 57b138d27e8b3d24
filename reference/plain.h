/* plain.h - the plain same-precision evaluation that tolerances are derived from (docs/contract.md, section 5).
 *
 * What it is: what unfused code computes from the same inputs when it keeps inputs and P in the input dtype and scores
 * and sums in fp32. Its worst error against the fp64 reference is the yardstick. It judges nothing itself.
 */
#ifndef FOVEA_REFERENCE_PLAIN_H_
#define FOVEA_REFERENCE_PLAIN_H_

#include "fovea/fovea.h"

#ifdef __cplusplus
extern "C" {
#endif

FOVEA_API fovea_status fovea_plain_forward(const fovea_forward_args* args, fovea_error* error);

/* Only rows i of each sequence with i % row_stride == row_phase; the others are not touched. */
FOVEA_API fovea_status fovea_plain_forward_rows(const fovea_forward_args* args, int64_t row_stride, int64_t row_phase,
                                                fovea_error* error);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* FOVEA_REFERENCE_PLAIN_H_ */
