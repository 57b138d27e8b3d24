// Names and sizes of the public enums: what messages, reports and tools print.
#include "core/dtype.h"

#define FOVEA_STRINGIFY(x) #x
#define FOVEA_VERSION_TEXT(major, minor, patch) \
  FOVEA_STRINGIFY(major) "." FOVEA_STRINGIFY(minor) "." FOVEA_STRINGIFY(patch)

namespace {

struct StatusName {
  fovea_status status;
  const char* name;
};

constexpr StatusName kStatusNames[] = {
    {FOVEA_OK, "ok"},
    {FOVEA_NULL_POINTER, "null_pointer"},
    {FOVEA_STRUCT_SIZE, "struct_size"},
    {FOVEA_UNKNOWN_FLAG, "unknown_flag"},
    {FOVEA_BUFFER_TOO_SMALL, "buffer_too_small"},
    {FOVEA_CONFIG, "config"},
    {FOVEA_DTYPE, "dtype"},
    {FOVEA_DTYPE_MISMATCH, "dtype_mismatch"},
    {FOVEA_RANK, "rank"},
    {FOVEA_SHAPE, "shape"},
    {FOVEA_HEAD_DIM, "head_dim"},
    {FOVEA_HEAD_RATIO, "head_ratio"},
    {FOVEA_STRIDE_OVERFLOW, "stride_overflow"},
    {FOVEA_ALIGNMENT, "alignment"},
    {FOVEA_OUTPUT_OVERLAP, "output_overlap"},
    {FOVEA_DEVICE, "device"},
    {FOVEA_CU_SEQLENS, "cu_seqlens"},
    {FOVEA_SEQUSED, "seqused"},
    {FOVEA_PAGE_TABLE, "page_table"},
    {FOVEA_PAGED_ARGUMENTS, "paged_arguments"},
    {FOVEA_MASK_SHAPE, "mask_shape"},
    {FOVEA_BIAS_SHAPE, "bias_shape"},
    {FOVEA_WINDOW, "window"},
    {FOVEA_OFFSET, "offset"},
    {FOVEA_SCALE, "scale"},
    {FOVEA_SOFTCAP, "softcap"},
    {FOVEA_SINK_SHAPE, "sink_shape"},
    {FOVEA_SPLITS, "splits"},
    {FOVEA_MERGE_COUNT, "merge_count"},
    {FOVEA_NO_BACKEND, "no_backend"},
    {FOVEA_UNSUPPORTED, "unsupported"},
    {FOVEA_SLOW_PATH, "slow_path"},
    {FOVEA_OUT_OF_MEMORY, "out_of_memory"},
    {FOVEA_INTERNAL, "internal"},
};

}  // namespace

extern "C" {

const char* fovea_status_name(fovea_status status) {
  for (const StatusName& row : kStatusNames) {
    if (row.status == status) return row.name;
  }
  return "unknown_status";
}

size_t fovea_dtype_size(fovea_dtype dtype) { return fovea::element_size(dtype); }

const char* fovea_dtype_name(fovea_dtype dtype) {
  switch (dtype) {
    case FOVEA_F32:
      return "f32";
    case FOVEA_BF16:
      return "bf16";
    case FOVEA_F16:
      return "f16";
    case FOVEA_F64:
      return "f64";
    case FOVEA_BOOL:
      return "bool";
    case FOVEA_I32:
      return "i32";
  }
  return "unknown";
}

const char* fovea_version(void) {
  return FOVEA_VERSION_TEXT(FOVEA_VERSION_MAJOR, FOVEA_VERSION_MINOR, FOVEA_VERSION_PATCH);
}

}  // extern "C"
