// One row or more for every status that a forward call can give.
#include "unit/refusal_table.h"

#include <cstdint>
#include <iterator>
#include <limits>

namespace fovea::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr std::int64_t kHuge = std::int64_t{1} << 40;
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

using C = ForwardCase;

const RefusalRow kCallRows[] = {
    {"no_q", FOVEA_NULL_POINTER, [](C& c) { c.args.q = {}; }, "q"},
    {"no_out", FOVEA_NULL_POINTER, [](C& c) { c.args.out = {}; }, "out"},
    {"null_k_data", FOVEA_NULL_POINTER, [](C& c) { c.args.k.data = nullptr; }, "k.data"},
    {"null_mask_data", FOVEA_NULL_POINTER,
     [](C& c) {
       c.set_mask({1, 1, 3, 5}), c.args.mask.data = nullptr;
     },
     "mask"},
    {"struct_size_zero", FOVEA_STRUCT_SIZE, [](C& c) { c.args.struct_size = 0; }, "struct_size=0"},
    {"struct_size_huge", FOVEA_STRUCT_SIZE, [](C& c) { c.args.struct_size = UINT64_MAX; }, "18446744073709551615"},
    {"flag", FOVEA_UNKNOWN_FLAG, [](C& c) { c.args.flags = 1U << 31U; }, "2147483648"},
    {"backend_number", FOVEA_UNKNOWN_FLAG, [](C& c) { c.args.backend = 77; }, "77"},
    {"backend_negative", FOVEA_UNKNOWN_FLAG, [](C& c) { c.args.backend = -1; }, "-1"},
    {"reserved", FOVEA_UNKNOWN_FLAG, [](C& c) { c.args.reserved = 5; }, "5"},
    {"window_left_negative", FOVEA_WINDOW, [](C& c) { c.args.flags = FOVEA_FLAG_WINDOW_LEFT, c.args.window_left = -1; },
     "window_left=-1"},
    {"window_right_huge", FOVEA_WINDOW,
     [](C& c) { c.args.flags = FOVEA_FLAG_WINDOW_RIGHT, c.args.window_right = kHuge + 1; }, "1099511627777"},
    {"window_without_flag", FOVEA_WINDOW, [](C& c) { c.args.window_left = 4; }, "without its flag"},
    {"q_offset_huge", FOVEA_OFFSET, [](C& c) { c.args.flags = FOVEA_FLAG_Q_OFFSET, c.args.q_offset = kHuge + 1; },
     "q_offset=1099511627777"},
    {"kv_offset_low", FOVEA_OFFSET,
     [](C& c) { c.args.flags = FOVEA_FLAG_KV_OFFSET, c.args.kv_offset = std::numeric_limits<std::int64_t>::min(); },
     "kv_offset=-9223372036854775808"},
    {"offset_without_flag", FOVEA_OFFSET, [](C& c) { c.args.kv_offset = 1; }, "without its flag"},
    {"scale_nan", FOVEA_SCALE, [](C& c) { c.args.flags = FOVEA_FLAG_SOFTMAX_SCALE, c.args.softmax_scale = kNan; },
     "nan"},
    {"scale_inf", FOVEA_SCALE, [](C& c) { c.args.flags = FOVEA_FLAG_SOFTMAX_SCALE, c.args.softmax_scale = -kInf; },
     "-inf"},
    {"scale_without_flag", FOVEA_SCALE, [](C& c) { c.args.softmax_scale = 0.5F; }, "0.5"},
    {"softcap_negative", FOVEA_SOFTCAP, [](C& c) { c.args.softcap = -1.5F; }, "-1.5"},
    {"softcap_nan", FOVEA_SOFTCAP, [](C& c) { c.args.softcap = kNan; }, "nan"},
    {"softcap_inf", FOVEA_SOFTCAP, [](C& c) { c.args.softcap = kInf; }, "inf"},
    {"splits_negative", FOVEA_SPLITS, [](C& c) { c.args.num_splits = -1; }, "-1"},
    {"splits_many", FOVEA_SPLITS, [](C& c) { c.args.num_splits = 257; }, "257"},
    {"backend_cuda", FOVEA_NO_BACKEND, [](C& c) { c.args.backend = FOVEA_BACKEND_CUDA; }, "cuda"},
    {"slow_path", FOVEA_SLOW_PATH,
     [](C& c) {
       c.args.flags = FOVEA_FLAG_FORBID_SLOW;
       c.args.q = view(c.q.data(), FOVEA_F32, {2, 3, 4, 4});
       c.args.q.strides[3] = 2, c.args.q.strides[2] = 8, c.args.q.strides[1] = 32, c.args.q.strides[0] = 96;
       c.args.k.shape[3] = 4;
     },
     "stride(D)"},
};

const RefusalRow kTensorRows[] = {
    {"dtype_number", FOVEA_DTYPE, [](C& c) { c.args.q.dtype = 99; }, "99"},
    {"dtype_f64", FOVEA_DTYPE,
     [](C& c) {
       c.args.q = view(nullptr, FOVEA_F64, {2, 0, 4, 8});
     },
     "f64"},
    {"out_i32", FOVEA_DTYPE, [](C& c) { c.args.out.dtype = FOVEA_I32; }, "out in i32"},
    {"lse_bf16", FOVEA_DTYPE, [](C& c) { c.args.lse.dtype = FOVEA_BF16; }, "lse in bf16"},
    {"mask_f32", FOVEA_DTYPE,
     [](C& c) {
       c.set_bias({1, 1, 3, 5}), c.args.mask = c.args.bias;
     },
     "mask in f32"},
    {"seqused_f32", FOVEA_DTYPE,
     [](C& c) {
       c.set_seqused_kv({5, 5}), c.args.seqused_kv.dtype = FOVEA_F32;
     },
     "seqused_kv in f32"},
    {"k_bf16", FOVEA_DTYPE_MISMATCH, [](C& c) { c.args.k.dtype = FOVEA_BF16; }, "k in bf16"},
    {"v_f16", FOVEA_DTYPE_MISMATCH, [](C& c) { c.args.v.dtype = FOVEA_F16; }, "v in f16"},
    {"rank_five", FOVEA_RANK, [](C& c) { c.args.q.rank = 5; }, "q.rank=5"},
    {"rank_negative", FOVEA_RANK, [](C& c) { c.args.v.rank = -1; }, "v.rank=-1"},
    {"rank_three_dense", FOVEA_RANK,
     [](C& c) {
       c.args.q = view(c.q.data(), FOVEA_F32, {6, 4, 8});
     },
     "rank 3"},
    {"rank_zero_with_data", FOVEA_RANK,
     [](C& c) {
       c.set_mask({1, 1, 3, 5}), c.args.mask.rank = 0;
     },
     "mask.rank=0"},
    {"lse_rank", FOVEA_RANK,
     [](C& c) {
       c.args.lse = view(c.lse.data(), FOVEA_F32, {4, 6});
     },
     "lse"},
    {"negative_extent", FOVEA_SHAPE, [](C& c) { c.args.q.shape[1] = -3; }, "-3"},
    {"huge_extent", FOVEA_SHAPE, [](C& c) { c.args.k.shape[1] = kHuge + 1; }, "1099511627777"},
    {"batch_of_k", FOVEA_SHAPE, [](C& c) { c.args.k.shape[0] = 1; }, "[1, 5, 2, 8]"},
    {"seqlen_of_v", FOVEA_SHAPE, [](C& c) { c.args.v.shape[1] = 4; }, "[2, 4, 2, 6]"},
    {"head_dim_of_k", FOVEA_SHAPE, [](C& c) { c.args.k.shape[3] = 7; }, "[2, 5, 2, 7]"},
    {"out_shape", FOVEA_SHAPE, [](C& c) { c.args.out.shape[1] = 2; }, "[2, 2, 4, 6]"},
    {"lse_shape", FOVEA_SHAPE,
     [](C& c) {
       c.args.lse = view(c.lse.data(), FOVEA_F32, {2, 3, 4});
     },
     "[2, 3, 4]"},
    {"seqused_shape", FOVEA_SHAPE,
     [](C& c) {
       c.set_seqused_q({3, 3, 3});
     },
     "[3]"},
    {"cu_kv_shape", FOVEA_SHAPE,
     [](C& c) {
       c.make_varlen_kv({0, 2, 5, 10});
     },
     "[4]"},
    {"page_size_zero", FOVEA_SHAPE, [](C& c) { c.make_paged(), c.args.k.shape[1] = 0, c.args.v.shape[1] = 0; },
     "page_size=0"},
    {"head_dim_zero", FOVEA_HEAD_DIM, [](C& c) { c.args.q.shape[3] = 0; }, "head_dim_qk=0"},
    {"head_dim_v_zero", FOVEA_HEAD_DIM, [](C& c) { c.args.v.shape[3] = 0; }, "head_dim_v=0"},
    {"head_dim_large", FOVEA_HEAD_DIM,
     [](C& c) {
       c.q.resize(1025), c.k.resize(1025);
       c.args.q.data = c.q.data(), c.args.k.data = c.k.data();
       c.args.q.shape[3] = c.args.k.shape[3] = 1025;
       for (int d = 0; d < 4; ++d) c.args.q.strides[d] = c.args.k.strides[d] = d == 3 ? 1 : 0;
     },
     "head_dim_qk=1025"},
    {"head_ratio", FOVEA_HEAD_RATIO,
     [](C& c) { c.args.k.shape[2] = c.args.v.shape[2] = 3, c.args.k.strides[2] = c.args.v.strides[2] = 0; },
     "num_heads_q=4, num_heads_kv=3"},
    {"stride_overflow", FOVEA_STRIDE_OVERFLOW, [](C& c) { c.args.q.strides[0] = kMaxInt64; }, "9223372036854775807"},
    {"stride_overflow_sum", FOVEA_STRIDE_OVERFLOW,
     [](C& c) { c.args.k.strides[0] = kMaxInt64 / 4, c.args.k.strides[1] = kMaxInt64 / 4; }, "k.shape"},
    {"stride_lowest", FOVEA_STRIDE_OVERFLOW,
     [](C& c) { c.args.v.strides[2] = std::numeric_limits<std::int64_t>::min(); }, "v.shape"},
    {"stride_wraps_address", FOVEA_STRIDE_OVERFLOW, [](C& c) { c.args.v.strides[0] = -(kMaxInt64 / 4); }, "v.shape"},
    {"element_count_overflow", FOVEA_SHAPE,
     [](C& c) {
       c.args.k.shape[0] = c.args.k.shape[1] = kHuge;
       for (auto& stride : c.args.k.strides) stride = 0;
     },
     "1099511627776"},
    {"element_count_overflow_of_an_empty_view", FOVEA_SHAPE,
     [](C& c) {
       c.args.q.shape[0] = 0;
       c.args.q.shape[1] = c.args.q.shape[2] = kHuge;
     },
     "[0, 1099511627776, 1099511627776, 8]"},
    {"alignment_q", FOVEA_ALIGNMENT,
     [](C& c) { c.args.q.data = reinterpret_cast<char*>(c.args.q.data) + 2, c.args.q.shape[0] = 1; }, "2 past"},
    {"alignment_bf16", FOVEA_ALIGNMENT,
     [](C& c) {
       c.set_bias({1, 1, 3, 5});
       c.args.bias.data = reinterpret_cast<char*>(c.args.bias.data) + 1;
       c.args.bias.dtype = FOVEA_BF16;
     },
     "bias.data"},
};

const RefusalRow kAliasingRows[] = {
    {"out_is_q", FOVEA_OUTPUT_OVERLAP, [](C& c) { c.args.out.data = c.args.q.data; }, "out"},
    {"out_tail_in_v", FOVEA_OUTPUT_OVERLAP,
     [](C& c) { c.args.out.data = c.v.data() + c.v.size() - 1, c.args.out.strides[0] = -72; }, "out"},
    {"lse_in_out", FOVEA_OUTPUT_OVERLAP, [](C& c) { c.args.lse.data = c.out.data() + 7; }, "lse"},
    {"out_stride_zero", FOVEA_OUTPUT_OVERLAP, [](C& c) { c.args.out.strides[1] = 0; }, "strides that meet"},
    {"out_rows_meet", FOVEA_OUTPUT_OVERLAP, [](C& c) { c.args.out.strides[2] = 5; }, "strides that meet"},
    {"lse_stride_zero", FOVEA_OUTPUT_OVERLAP, [](C& c) { c.args.lse.strides[0] = 0; }, "lse"},
    {"lse_in_sink", FOVEA_OUTPUT_OVERLAP, [](C& c) { c.set_sink({4}), c.args.sink.data = c.lse.data() + 4; }, "sink"},
    {"device_unknown", FOVEA_DEVICE, [](C& c) { c.args.q.device_type = 9; }, "device_type=9"},
    {"device_id", FOVEA_DEVICE, [](C& c) { c.args.v.device_id = 1; }, "device_id=1"},
    {"device_mixed", FOVEA_DEVICE, [](C& c) { c.args.k.device_type = FOVEA_DEVICE_CUDA; }, "k on device 1:0"},
    {"device_cuda", FOVEA_NO_BACKEND,
     [](C& c) {
       for (fovea_tensor* t : {&c.args.q, &c.args.k, &c.args.v, &c.args.out, &c.args.lse}) {
         t->device_type = FOVEA_DEVICE_CUDA;
       }
     },
     "CUDA tensors"},
    {"stream", FOVEA_DEVICE, [](C& c) { c.args.stream = &c; }, "stream"},
};

const RefusalRow kFeatureRows[] = {
    {"cu_q_negative", FOVEA_CU_SEQLENS,
     [](C& c) {
       c.make_varlen_q({-1, 2, 6});
     },
     "cu_seqlens_q[0]=-1"},
    {"cu_q_falls", FOVEA_CU_SEQLENS,
     [](C& c) {
       c.make_varlen_q({0, 4, 3});
     },
     "cu_seqlens_q[2]=3 after 4"},
    {"cu_q_past_buffer", FOVEA_CU_SEQLENS,
     [](C& c) {
       c.make_varlen_q({0, 2, 7});
     },
     "cu_seqlens_q[2]=7"},
    {"cu_kv_falls", FOVEA_CU_SEQLENS,
     [](C& c) {
       c.make_varlen_kv({5, 4, 10});
     },
     "cu_seqlens_kv[1]=4"},
    {"cu_kv_past_buffer", FOVEA_CU_SEQLENS,
     [](C& c) {
       c.make_varlen_kv({0, 11, 11});
     },
     "11"},
    {"seqused_q_large", FOVEA_SEQUSED,
     [](C& c) {
       c.set_seqused_q({3, 4});
     },
     "seqused_q[1]=4"},
    {"seqused_kv_negative", FOVEA_SEQUSED,
     [](C& c) {
       c.set_seqused_kv({-1, 5});
     },
     "seqused_kv[0]=-1"},
    {"seqused_varlen", FOVEA_SEQUSED,
     [](C& c) {
       c.make_varlen_kv(), c.set_seqused_kv({7, 4});
     },
     "seqused_kv[1]=4"},
    {"seqused_past_pages", FOVEA_SEQUSED,
     [](C& c) {
       c.make_paged({7, 2});
     },
     "seqused_kv[0]=7"},
    {"page_past_cache", FOVEA_PAGE_TABLE,
     [](C& c) {
       c.make_paged({5, 3});
     },
     "page_table[1, 1]=9"},
    {"page_first_past_cache", FOVEA_PAGE_TABLE,
     [](C& c) {
       c.make_paged({1, 1}, {5, 0, 0, 0, 0, 0});
     },
     "page_table[0, 0]=5"},
    {"page_negative", FOVEA_PAGE_TABLE,
     [](C& c) {
       c.make_paged({1, 0}, {-1, 0, 0, 0, 0, 0});
     },
     "page_table[0, 0]=-1"},
    {"pages_without_lengths", FOVEA_PAGED_ARGUMENTS, [](C& c) { c.make_paged(), c.args.seqused_kv = {}; },
     "without seqused_kv"},
    {"pages_with_offsets", FOVEA_PAGED_ARGUMENTS, [](C& c) { c.make_varlen_kv(), c.make_paged(); }, "cu_seqlens_kv"},
    {"mask_rank", FOVEA_MASK_SHAPE,
     [](C& c) {
       c.set_mask({3, 5});
     },
     "[3, 5]"},
    {"mask_batch", FOVEA_MASK_SHAPE,
     [](C& c) {
       c.set_mask({3, 1, 3, 5});
     },
     "[3, 1, 3, 5]"},
    {"mask_heads", FOVEA_MASK_SHAPE,
     [](C& c) {
       c.set_mask({1, 3, 3, 5});
     },
     "[1, 3, 3, 5]"},
    {"mask_rows", FOVEA_MASK_SHAPE,
     [](C& c) {
       c.set_mask({1, 1, 2, 5});
     },
     "[1, 1, 2, 5]"},
    {"mask_keys", FOVEA_MASK_SHAPE,
     [](C& c) {
       c.set_mask({1, 1, 3, 1});
     },
     "[1, 1, 3, 1]"},
    {"mask_long_dense", FOVEA_MASK_SHAPE,
     [](C& c) {
       c.set_mask({1, 1, 3, 6});
     },
     "[1, 1, 3, 6]"},
    {"mask_short_varlen", FOVEA_MASK_SHAPE,
     [](C& c) {
       c.make_varlen_kv(), c.set_mask({1, 1, 1, 6});
     },
     "6"},
    {"bias_keys", FOVEA_BIAS_SHAPE,
     [](C& c) {
       c.set_bias({2, 4, 3, 4});
     },
     "[2, 4, 3, 4]"},
    {"bias_rows_varlen", FOVEA_BIAS_SHAPE,
     [](C& c) {
       c.make_varlen_q(), c.set_bias({1, 1, 3, 5});
     },
     "3"},
    {"sink_heads", FOVEA_SINK_SHAPE, [](C& c) { c.set_sink({2}); }, "[2]"},
    {"sink_rank", FOVEA_SINK_SHAPE,
     [](C& c) {
       c.set_sink({1, 4});
     },
     "[1, 4]"},
};

}  // namespace

const std::vector<RefusalRow>& refusal_rows() {
  static const std::vector<RefusalRow> rows = [] {
    std::vector<RefusalRow> all(std::begin(kCallRows), std::end(kCallRows));
    all.insert(all.end(), std::begin(kTensorRows), std::end(kTensorRows));
    all.insert(all.end(), std::begin(kAliasingRows), std::end(kAliasingRows));
    all.insert(all.end(), std::begin(kFeatureRows), std::end(kFeatureRows));
    return all;
  }();
  return rows;
}

}  // namespace fovea::test
