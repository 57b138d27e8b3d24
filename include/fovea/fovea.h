/* fovea.h - the C ABI of fovea, in C99.
 *
 * What it is: every entry point, argument struct, dtype and status code of the library.
 * Rules: no call throws, none allocates a tensor, none keeps a pointer to a tensor after it returns,
 * and a call that fails has written nothing. What attention means is defined in docs/contract.md;
 * the section numbers below refer to it.
 */
#ifndef FOVEA_FOVEA_H_
#define FOVEA_FOVEA_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define FOVEA_API
#else
#define FOVEA_API __attribute__((visibility("default")))
#endif

#define FOVEA_VERSION_MAJOR 0
#define FOVEA_VERSION_MINOR 1
#define FOVEA_VERSION_PATCH 0
#define FOVEA_MAX_RANK 4

/* ---- status -------------------------------------------------------------------------------------------------- */

/* Stable codes: a number is never reused. fovea_status_name() gives the name that messages carry. */
typedef enum fovea_status {
  FOVEA_OK = 0,
  /* the call itself */
  FOVEA_NULL_POINTER = 1,     /* a required pointer or tensor is missing */
  FOVEA_STRUCT_SIZE = 2,      /* struct_size is none that this library knows */
  FOVEA_UNKNOWN_FLAG = 3,     /* a flag bit or enum value that this library does not know */
  FOVEA_BUFFER_TOO_SMALL = 4, /* a caller's text buffer is too small; the needed size was reported */
  FOVEA_CONFIG = 5,           /* a context setting or an environment variable is malformed or out of range */
  /* tensors */
  FOVEA_DTYPE = 10,           /* a dtype that this operand cannot have */
  FOVEA_DTYPE_MISMATCH = 11,  /* operands that must agree in dtype do not */
  FOVEA_RANK = 12,            /* wrong number of dimensions */
  FOVEA_SHAPE = 13,           /* a dimension is negative, too large, or contradicts another operand */
  FOVEA_HEAD_DIM = 14,        /* head dim outside what is served */
  FOVEA_HEAD_RATIO = 15,      /* num_heads_q is not a multiple of num_heads_kv */
  FOVEA_STRIDE_OVERFLOW = 16, /* an element offset does not fit 63 bits */
  FOVEA_ALIGNMENT = 17,       /* a data pointer is not aligned to its element size */
  FOVEA_OUTPUT_OVERLAP = 18,  /* an output overlaps itself, another output or an input */
  FOVEA_DEVICE = 19,          /* a tensor lives on a device that no backend serves, or devices differ */
  /* features */
  FOVEA_CU_SEQLENS = 30,      /* offsets not monotone, negative or past the buffer */
  FOVEA_SEQUSED = 31,         /* a used length is negative or larger than its storage */
  FOVEA_PAGE_TABLE = 32,      /* a needed page index lies outside the cache */
  FOVEA_PAGED_ARGUMENTS = 33, /* page_table without seqused_kv, or with cu_seqlens_kv */
  FOVEA_MASK_SHAPE = 34,      /* mask is not broadcastable to [B, Hq|Hkv, Sq, Sk] */
  FOVEA_BIAS_SHAPE = 35,      /* bias is not broadcastable to [B, Hq|Hkv, Sq, Sk] */
  FOVEA_WINDOW = 36,          /* a window bound is negative or too large */
  FOVEA_OFFSET = 37,          /* q_offset or kv_offset too large for 64-bit positions */
  FOVEA_SCALE = 38,           /* softmax_scale is not finite */
  FOVEA_SOFTCAP = 39,         /* softcap is negative or not finite */
  FOVEA_SINK_SHAPE = 40,      /* sink is not fp32 [Hq] */
  FOVEA_SPLITS = 41,          /* num_splits out of range */
  FOVEA_MERGE_COUNT = 42,     /* merge needs at least one part */
  /* choice and execution */
  FOVEA_NO_BACKEND = 60,    /* the backend asked for is not in this build or on this machine */
  FOVEA_UNSUPPORTED = 61,   /* no kernel of the allowed backends serves this problem */
  FOVEA_SLOW_PATH = 62,     /* only a slow path serves it and FOVEA_FLAG_FORBID_SLOW is set */
  FOVEA_OUT_OF_MEMORY = 63, /* workspace could not be allocated */
  FOVEA_INTERNAL = 64       /* a fault of fovea: please report the message */
} fovea_status;

/* The name that stands in messages and logs, e.g. "head_ratio"; "unknown_status" for other numbers. */
FOVEA_API const char* fovea_status_name(fovea_status status);

/* Filled by a failing call when the caller passes one. All texts are NUL-terminated and never translated. */
typedef struct fovea_error {
  uint64_t struct_size; /* sizeof(fovea_error), set by the caller */
  int32_t status;       /* fovea_status */
  char code[32];        /* fovea_status_name(status) */
  char asked[192];      /* what the call asked for: "num_heads_q=7, num_heads_kv=2" */
  char allowed[192];    /* what is allowed: "num_heads_q a multiple of num_heads_kv" */
  char why[192];        /* the reason behind the rule */
  char hint[192];       /* what to do instead */
} fovea_error;

/* ---- tensors ------------------------------------------------------------------------------------------------- */

typedef enum fovea_dtype {
  FOVEA_F32 = 1,
  FOVEA_BF16 = 2,
  FOVEA_F16 = 3,
  FOVEA_F64 = 4,  /* the fp64 reference only */
  FOVEA_BOOL = 5, /* one byte, 0 = false, anything else = true */
  FOVEA_I32 = 6
} fovea_dtype;

/* Size of one element in bytes; 0 for an unknown dtype. */
FOVEA_API size_t fovea_dtype_size(fovea_dtype dtype);
/* "f32", "bf16", "f16", "f64", "bool", "i32"; "unknown" otherwise. */
FOVEA_API const char* fovea_dtype_name(fovea_dtype dtype);

typedef enum fovea_device_type { FOVEA_DEVICE_CPU = 0, FOVEA_DEVICE_CUDA = 1 } fovea_device_type;

/* A view: fovea neither owns nor copies what `data` points to. An optional tensor is absent when rank == 0.
 * Element (i0, i1, ...) lies at data + (i0*strides[0] + i1*strides[1] + ...) * element size. Strides count elements,
 * may be 0 (a broadcast view) or negative, and need no order. An extent may be 0; then data may be NULL. */
typedef struct fovea_tensor {
  void* data;
  int32_t dtype;       /* fovea_dtype */
  int32_t rank;        /* 1..FOVEA_MAX_RANK; 0 = absent */
  int32_t device_type; /* fovea_device_type */
  int32_t device_id;
  int64_t shape[FOVEA_MAX_RANK];
  int64_t strides[FOVEA_MAX_RANK];
} fovea_tensor;

/* ---- context ------------------------------------------------------------------------------------------------- */

/* When asynchronous copies of the model land between their issue and the wait for them. */
typedef enum fovea_model_landing {
  FOVEA_LANDING_RANDOM = 0, /* at seeded moments */
  FOVEA_LANDING_EAGER = 1,  /* at once */
  FOVEA_LANDING_LAZY = 2    /* at the last legal moment */
} fovea_model_landing;

/* A context owns threads, scratch memory and plans. It may be used from several threads at once. */
typedef struct fovea_context fovea_context;

typedef struct fovea_context_args {
  uint64_t struct_size;
  int32_t num_threads; /* CPU threads, the caller included; 0 = FOVEA_NUM_THREADS or all cores of the process */
  int32_t reserved;    /* 0 */
  /* What FOVEA_BACKEND_MODEL stands for and how it runs. Absent from the first version of this struct. */
  int32_t model_sm;      /* architecture: 80, 86, 89, 90, 100 or 120; 0 = 80 */
  int32_t model_landing; /* fovea_model_landing */
  uint64_t model_seed;   /* of the schedule: equal seeds give equal runs */
} fovea_context_args;

/* `args` may be NULL for defaults. On success *context must be given to fovea_context_destroy(). */
FOVEA_API fovea_status fovea_context_create(const fovea_context_args* args, fovea_context** context,
                                            fovea_error* error);
FOVEA_API void fovea_context_destroy(fovea_context* context);
/* Threads that the context uses, the caller included. */
FOVEA_API int32_t fovea_context_num_threads(const fovea_context* context);
/* Bytes of scratch memory that the context holds now (it grows on demand and is kept). */
FOVEA_API uint64_t fovea_context_workspace_bytes(const fovea_context* context);

/* ---- forward ------------------------------------------------------------------------------------------------- */

typedef enum fovea_backend {
  FOVEA_BACKEND_AUTO = 0, /* where the tensors are */
  FOVEA_BACKEND_CPU = 1,
  FOVEA_BACKEND_CUDA = 2,
  FOVEA_BACKEND_MODEL = 3 /* the GPU kernels on the functional GPU model, for tensors in CPU memory: slow, for tests */
} fovea_backend;

enum {
  FOVEA_FLAG_CAUSAL = 1u << 0,          /* section 2: causal, bottom-right aligned */
  FOVEA_FLAG_WINDOW_LEFT = 1u << 1,     /* window_left counts; without it the left side is unlimited */
  FOVEA_FLAG_WINDOW_RIGHT = 1u << 2,    /* window_right counts; without it the right side is unlimited */
  FOVEA_FLAG_Q_OFFSET = 1u << 3,        /* q_offset counts (kv_offset is 0 unless given) */
  FOVEA_FLAG_KV_OFFSET = 1u << 4,       /* kv_offset counts (q_offset is 0 unless given) */
  FOVEA_FLAG_SOFTMAX_SCALE = 1u << 5,   /* softmax_scale counts; without it 1/sqrt(head_dim_qk) */
  FOVEA_FLAG_BATCH_INVARIANT = 1u << 6, /* a request's bits do not depend on the rest of the batch */
  FOVEA_FLAG_FORBID_SLOW = 1u << 7      /* refuse rather than take a path that costs more than 1.5x */
};

/* Shapes, with B batch, Sq/Sk query/key length, Hq/Hkv heads, Dqk/Dv head dims, T total rows:
 *   q            dense [B, Sq, Hq, Dqk] or, with cu_seqlens_q, [Tq, Hq, Dqk]        f32 | bf16 | f16
 *   k, v         dense [B, Sk, Hkv, D], or with cu_seqlens_kv [Tk, Hkv, D],
 *                or with page_table [pages, page_size, Hkv, D]                      dtype of q
 *   out          as q with Dv                                                        f32 | bf16 | f16
 *   lse          [B, Hq, Sq], varlen [Hq, Tq]; optional                             f32
 *   mask         [B|1, Hq|Hkv|1, Sq|1, Sk], true = visible; optional                bool
 *   bias         as mask; optional                                                  f32 | bf16 | f16
 *   sink         [Hq]; optional                                                     f32
 *   cu_seqlens_* [B+1] row offsets; optional                                        i32
 *   seqused_*    [B] used lengths; optional (seqused_kv is required with pages)     i32
 *   page_table   [B, max_pages]; optional                                           i32
 * Query and key layouts combine freely. With variable lengths, mask and bias speak in positions inside each sequence;
 * their Sq (when not 1) and Sk extents then need only reach the longest used sequence.
 * seqused in device memory cannot be checked before the call: values outside the storage count as its nearest bound.
 * Rows of a sequence past seqused_q get out = 0 and lse = -inf; rows outside every sequence are never touched.
 * Zero-initialise the struct, set struct_size, fill what is needed. */
typedef struct fovea_forward_args {
  uint64_t struct_size; /* sizeof(fovea_forward_args) */
  fovea_tensor q, k, v, out;
  fovea_tensor lse, mask, bias, sink;
  fovea_tensor cu_seqlens_q, cu_seqlens_kv, seqused_q, seqused_kv, page_table;
  uint32_t flags;       /* FOVEA_FLAG_* */
  int32_t backend;      /* fovea_backend */
  float softmax_scale;  /* any finite value, negative and 0 included */
  float softcap;        /* 0 = off; else scores become softcap * tanh(score / softcap) */
  int64_t window_left;  /* >= 0, keys to the left of the diagonal, inclusive */
  int64_t window_right; /* >= 0 */
  int64_t q_offset;     /* position of query row 0; |.| <= 2^40 */
  int64_t kv_offset;    /* position of key row 0; |.| <= 2^40 */
  int32_t num_splits;   /* 0 = choose; 1..256 = split every key range into that many parts */
  int32_t reserved;     /* 0 */
  void* stream;         /* CUDA stream for CUDA tensors; NULL otherwise */
} fovea_forward_args;

/* Attention forward, sections 1-3. Runs to completion for CPU tensors. `error` may be NULL. */
FOVEA_API fovea_status fovea_forward(fovea_context* context, const fovea_forward_args* args, fovea_error* error);

/* Whether the call would be served: FOVEA_OK, or the very refusal that fovea_forward() would give. Nothing is written,
 * and of the operands only the int32 ones (offsets, lengths, pages) are read. */
FOVEA_API fovea_status fovea_supports(fovea_context* context, const fovea_forward_args* args, fovea_error* error);

/* Passed as int32_t, so that an unknown value is refused rather than undefined. */
typedef enum fovea_format { FOVEA_TEXT = 0, FOVEA_JSON = 1 } fovea_format;

/* Writes the chain Problem -> verdicts -> choice -> plan as text. On entry *size is the size of `buffer`; on return it
 * is the size needed including the NUL. `buffer` may be NULL to ask for the size (FOVEA_BUFFER_TOO_SMALL then). */
FOVEA_API fovea_status fovea_explain(fovea_context* context, const fovea_forward_args* args, int32_t format,
                                     char* buffer, size_t* size, fovea_error* error);

/* ---- merge --------------------------------------------------------------------------------------------------- */

/* Merges `count` partial results over disjoint key sets into the result over their union (section 3). (0, -inf) is the
 * identity. Apply the sink here, once, when the parts were made without it. out and lse may be the very views of a
 * part. On a GPU at most 32 parts, asynchronously on `stream`; on the CPU the call runs to completion.
 *   outs[i] [B, Sq, Hq, Dv] or [T, Hq, Dv]   f32 | bf16 | f16, each its own
 *   lses[i] [B, Hq, Sq] or [Hq, T]           f32
 *   out, lse (optional) as the parts; sink [Hq] f32, optional */
typedef struct fovea_merge_args {
  uint64_t struct_size;
  const fovea_tensor* outs;
  const fovea_tensor* lses;
  int32_t count;
  int32_t reserved; /* 0 */
  fovea_tensor out, lse, sink;
  /* Absent from the first version of this struct. */
  int32_t backend;   /* fovea_backend */
  int32_t reserved2; /* 0 */
  void* stream;      /* CUDA stream for CUDA tensors; NULL otherwise */
} fovea_merge_args;

FOVEA_API fovea_status fovea_merge(fovea_context* context, const fovea_merge_args* args, fovea_error* error);

/* ---- compiled kernels ---------------------------------------------------------------------------------------- */

/* GPU kernels are compiled at first use and kept on disk. These calls need no GPU. `target` is "sm_80", "sm_86",
 * "sm_89", "sm_90a", "sm_100a", "sm_120a", ..., or "model" for the functional model; NULL = the machine's first GPU. */

/* The standard list of a target: one kernel and spec per entry, numbered from 0. Same buffer protocol as
 * fovea_explain(). */
FOVEA_API fovea_status fovea_kernels(fovea_context* context, const char* target, int32_t format, char* buffer,
                                     size_t* size, fovea_error* error);

typedef enum fovea_kernel_form {
  FOVEA_KERNEL_STUB = 0,      /* the source that is compiled, text */
  FOVEA_KERNEL_RESOURCES = 1, /* what the assembler says about registers, spills and shared memory, text */
  FOVEA_KERNEL_PTX = 2,       /* text */
  FOVEA_KERNEL_BINARY = 3     /* a cubin, or a shared object for the model */
} fovea_kernel_form;

/* Writes one form of entry `index` of the standard list. Texts end with a NUL, which *size counts; binaries do not.
 * FOVEA_KERNEL_RESOURCES is refused as unsupported where NVRTC passes nothing on of what the assembler says. */
FOVEA_API fovea_status fovea_kernel_dump(fovea_context* context, const char* target, int32_t index, int32_t form,
                                         char* buffer, size_t* size, fovea_error* error);

typedef enum fovea_kernel_origin {
  FOVEA_ORIGIN_MEMORY = 0, /* this context had it */
  FOVEA_ORIGIN_DISK = 1,
  FOVEA_ORIGIN_COMPILED = 2
} fovea_kernel_origin;

typedef struct fovea_warmup_result {
  uint64_t struct_size; /* sizeof(fovea_warmup_result), set by the caller */
  int32_t origin;       /* fovea_kernel_origin */
  int32_t reserved;
  uint64_t bytes; /* of the binary */
  double seconds;
} fovea_warmup_result;

/* Compiles entry `index` of the standard list unless it is kept already. `result` may be NULL. */
FOVEA_API fovea_status fovea_warmup(fovea_context* context, const char* target, int32_t index,
                                    fovea_warmup_result* result, fovea_error* error);

typedef enum fovea_cache_action {
  FOVEA_CACHE_PATH = 0, /* the directory; empty when kernels are kept in memory only */
  FOVEA_CACHE_LIST = 1, /* every entry, with what is wrong with it */
  FOVEA_CACHE_CLEAR = 2 /* removes every entry; with a NULL buffer only the size is told */
} fovea_cache_action;

/* Looks at or clears the kernels on disk. Same buffer protocol as fovea_explain(). */
FOVEA_API fovea_status fovea_cache(fovea_context* context, int32_t action, int32_t format, char* buffer, size_t* size,
                                   fovea_error* error);

/* ---- model --------------------------------------------------------------------------------------------------- */

/* What the functional GPU model counted in the context's last forward call on it: instructions, bytes, bank conflicts,
 * barriers, and its fault if there was one. Same buffer protocol as fovea_explain(). */
FOVEA_API fovea_status fovea_model_report(fovea_context* context, int32_t format, char* buffer, size_t* size,
                                          fovea_error* error);

/* ---- library ------------------------------------------------------------------------------------------------- */

/* "0.1.0" */
FOVEA_API const char* fovea_version(void);
/* Machine report: CPU targets, the one in use, threads, drivers found or not and why. Same buffer protocol as
 * fovea_explain(). */
FOVEA_API fovea_status fovea_doctor(fovea_context* context, int32_t format, char* buffer, size_t* size,
                                    fovea_error* error);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* FOVEA_FOVEA_H_ */
