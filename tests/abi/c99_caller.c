/* A caller in plain C99: the header compiles, the structs can be filled by hand, and calls do what they say.
 *
 * With q = 0 every key weighs the same: out is the mean of v and lse is ln(Sk) (contract section 3). What attention
 * computes in general is tested elsewhere.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fovea/fovea.h"

enum { kBatch = 1, kSeqlenQ = 2, kSeqlenKv = 4, kHeads = 2, kHeadDim = 3 };

static int failures = 0;

static void expect(int condition, const char* what) {
  if (!condition) {
    ++failures;
    printf("FAILED: %s\n", what);
  }
}

/* A row-major f32 view on the CPU. */
static fovea_tensor view(float* data, int rank, const int64_t* shape) {
  fovea_tensor tensor;
  int64_t stride = 1;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = data;
  tensor.dtype = FOVEA_F32;
  tensor.rank = rank;
  tensor.device_type = FOVEA_DEVICE_CPU;
  for (int d = rank - 1; d >= 0; --d) {
    tensor.shape[d] = shape[d];
    tensor.strides[d] = stride;
    stride *= shape[d];
  }
  return tensor;
}

static void fill(float* data, int count, float value) {
  for (int i = 0; i < count; ++i) data[i] = value;
}

static float v_element(int key, int head, int d) { return (float)(100 * key + 10 * head + d); }

static void check_forward(fovea_context* context) {
  static float q[kSeqlenQ * kHeads * kHeadDim], k[kSeqlenKv * kHeads * kHeadDim], v[kSeqlenKv * kHeads * kHeadDim];
  static float out[kSeqlenQ * kHeads * kHeadDim], lse[kHeads * kSeqlenQ];
  const int64_t q_shape[4] = {kBatch, kSeqlenQ, kHeads, kHeadDim};
  const int64_t kv_shape[4] = {kBatch, kSeqlenKv, kHeads, kHeadDim};
  const int64_t lse_shape[3] = {kBatch, kHeads, kSeqlenQ};
  fovea_forward_args args;
  fovea_error error;

  fill(q, kSeqlenQ * kHeads * kHeadDim, 0.0F);
  fill(k, kSeqlenKv * kHeads * kHeadDim, 1.0F);
  fill(out, kSeqlenQ * kHeads * kHeadDim, NAN);
  fill(lse, kHeads * kSeqlenQ, NAN);
  for (int j = 0; j < kSeqlenKv; ++j)
    for (int h = 0; h < kHeads; ++h)
      for (int d = 0; d < kHeadDim; ++d) v[(j * kHeads + h) * kHeadDim + d] = v_element(j, h, d);

  memset(&args, 0, sizeof args);
  memset(&error, 0, sizeof error);
  args.struct_size = sizeof args;
  error.struct_size = sizeof error;
  args.q = view(q, 4, q_shape);
  args.k = view(k, 4, kv_shape);
  args.v = view(v, 4, kv_shape);
  args.out = view(out, 4, q_shape);
  args.lse = view(lse, 3, lse_shape);
  expect(fovea_supports(context, &args, &error) == FOVEA_OK, "fovea_supports accepts the call");
  expect(fovea_forward(context, &args, &error) == FOVEA_OK, "fovea_forward succeeds");

  for (int i = 0; i < kSeqlenQ; ++i)
    for (int h = 0; h < kHeads; ++h) {
      expect(fabsf(lse[h * kSeqlenQ + i] - logf(kSeqlenKv)) < 1e-5F, "lse is ln(Sk)");
      for (int d = 0; d < kHeadDim; ++d) {
        const float mean = (v_element(0, h, d) + v_element(kSeqlenKv - 1, h, d)) / 2.0F;
        expect(fabsf(out[(i * kHeads + h) * kHeadDim + d] - mean) < 1e-3F, "out is the mean of v");
      }
    }
}

static void check_refusals(fovea_context* context) {
  fovea_forward_args args;
  fovea_error error;
  memset(&args, 0, sizeof args);
  memset(&error, 0, sizeof error);
  error.struct_size = sizeof error;
  args.struct_size = sizeof args;
  expect(fovea_forward(context, &args, &error) == FOVEA_NULL_POINTER, "absent tensors are refused");
  expect(strcmp(error.code, fovea_status_name(FOVEA_NULL_POINTER)) == 0, "the error names its code");
  expect(error.hint[0] != '\0', "the error says what to do");
  args.struct_size = 1;
  expect(fovea_forward(context, &args, NULL) == FOVEA_STRUCT_SIZE, "an unknown struct size is refused");
}

static void check_texts(fovea_context* context) {
  char version[32];
  size_t size = 0;
  snprintf(version, sizeof version, "%d.%d.%d", FOVEA_VERSION_MAJOR, FOVEA_VERSION_MINOR, FOVEA_VERSION_PATCH);
  expect(strcmp(version, fovea_version()) == 0, "header and library agree on the version");
  expect(fovea_dtype_size(FOVEA_BF16) == 2, "bf16 has two bytes");
  expect(strcmp(fovea_dtype_name(FOVEA_F16), "f16") == 0, "f16 is called f16");
  expect(fovea_doctor(context, FOVEA_JSON, NULL, &size, NULL) == FOVEA_BUFFER_TOO_SMALL && size > 1,
         "fovea_doctor reports the size it needs");
}

int main(void) {
  fovea_context* context = NULL;
  expect(fovea_context_create(NULL, &context, NULL) == FOVEA_OK, "a context can be made");
  if (context != NULL) {
    check_forward(context);
    check_refusals(context);
    check_texts(context);
    expect(fovea_context_num_threads(context) >= 1, "a context has a thread");
  }
  fovea_context_destroy(context);
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
