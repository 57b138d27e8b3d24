// Names and sizes of the public enums: what messages, reports and tools print.
#include "fovea/fovea.h"

#define FOVEA_STRINGIFY(x) #x
#define FOVEA_VERSION_TEXT(major, minor, patch) \
  FOVEA_STRINGIFY(major) "." FOVEA_STRINGIFY(minor) "." FOVEA_STRINGIFY(patch)

extern "C" {

const char* fovea_status_name(fovea_status status) {
  switch (status) {
    case FOVEA_OK:
      return "ok";
    case FOVEA_NULL_POINTER:
      return "null_pointer";
    case FOVEA_STRUCT_SIZE:
      return "struct_size";
    case FOVEA_UNKNOWN_FLAG:
      return "unknown_flag";
    case FOVEA_BUFFER_TOO_SMALL:
      return "buffer_too_small";
    case FOVEA_CONFIG:
      return "config";
    case FOVEA_DTYPE:
      return "dtype";
    case FOVEA_DTYPE_MISMATCH:
      return "dtype_mismatch";
    case FOVEA_RANK:
      return "rank";
    case FOVEA_SHAPE:
      return "shape";
    case FOVEA_HEAD_DIM:
      return "head_dim";
    case FOVEA_HEAD_RATIO:
      return "head_ratio";
    case FOVEA_STRIDE_OVERFLOW:
      return "stride_overflow";
    case FOVEA_ALIGNMENT:
      return "alignment";
    case FOVEA_OUTPUT_OVERLAP:
      return "output_overlap";
    case FOVEA_DEVICE:
      return "device";
    case FOVEA_CU_SEQLENS:
      return "cu_seqlens";
    case FOVEA_SEQUSED:
      return "seqused";
    case FOVEA_PAGE_TABLE:
      return "page_table";
    case FOVEA_PAGED_ARGUMENTS:
      return "paged_arguments";
    case FOVEA_MASK_SHAPE:
      return "mask_shape";
    case FOVEA_BIAS_SHAPE:
      return "bias_shape";
    case FOVEA_WINDOW:
      return "window";
    case FOVEA_OFFSET:
      return "offset";
    case FOVEA_SCALE:
      return "scale";
    case FOVEA_SOFTCAP:
      return "softcap";
    case FOVEA_SINK_SHAPE:
      return "sink_shape";
    case FOVEA_SPLITS:
      return "splits";
    case FOVEA_MERGE_COUNT:
      return "merge_count";
    case FOVEA_NO_BACKEND:
      return "no_backend";
    case FOVEA_UNSUPPORTED:
      return "unsupported";
    case FOVEA_SLOW_PATH:
      return "slow_path";
    case FOVEA_OUT_OF_MEMORY:
      return "out_of_memory";
    case FOVEA_INTERNAL:
      return "internal";
  }
  return "unknown_status";
}

size_t fovea_dtype_size(fovea_dtype dtype) {
  switch (dtype) {
    case FOVEA_F32:
      return 4;
    case FOVEA_BF16:
      return 2;
    case FOVEA_F16:
      return 2;
    case FOVEA_F64:
      return 8;
    case FOVEA_BOOL:
      return 1;
    case FOVEA_I32:
      return 4;
  }
  return 0;
}

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
