/* reference.h - attention in fp64, naive and single-threaded: docs/contract.md in executable form.
 *
 * What it is: the judge. It takes the library's own argument structs and shares no code with the library.
 * Beyond the library, q, k, v, out, bias, sink and lse may also be f64. Flags, backend, num_splits and stream that
 * choose how a call runs mean nothing here. Validation is the library's: here only null pointers, dtypes, ranks and
 * the head ratio are looked at, so a call must be well-formed.
 */
#ifndef FOVEA_REFERENCE_REFERENCE_H_
#define FOVEA_REFERENCE_REFERENCE_H_

#include "fovea/fovea.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out and lse of sections 1-3 of the contract. */
FOVEA_API fovea_status fovea_reference_forward(const fovea_forward_args* args, fovea_error* error);

/* The same, for the rows i of each sequence with i % row_stride == row_phase only; the others are not touched. Makes
 * long sequences affordable. */
FOVEA_API fovea_status fovea_reference_forward_rows(const fovea_forward_args* args, int64_t row_stride,
                                                    int64_t row_phase, fovea_error* error);

/* Merges partial results over disjoint key sets (section 3). out and lse may be the very views of a part. */
FOVEA_API fovea_status fovea_reference_merge(const fovea_merge_args* args, fovea_error* error);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* FOVEA_REFERENCE_REFERENCE_H_ */
