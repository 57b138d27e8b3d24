// One option per number.
#include "tools/fovea/shape_options.h"

namespace fovea::cli {

void add_shape_options(CLI::App& app, Shapes& shapes, const std::string& group) {
  const auto dtypes = CLI::IsMember({"f32", "bf16", "f16"});
  app.add_option("--dtype", shapes.dtype, "f32 (default), bf16, f16")->check(dtypes)->group(group);
  app.add_option("--batch", shapes.batch, "batch size")->capture_default_str()->group(group);
  app.add_option("--seqlen-q", shapes.seqlen_q, "query rows")->capture_default_str()->group(group);
  app.add_option("--seqlen-kv", shapes.seqlen_kv, "keys (default: --seqlen-q)")->group(group);
  app.add_option("--heads-q", shapes.heads_q, "query heads")->capture_default_str()->group(group);
  app.add_option("--heads-kv", shapes.heads_kv, "key and value heads (default: --heads-q)")->group(group);
  app.add_option("--head-dim", shapes.head_dim, "head dim of q and k")->capture_default_str()->group(group);
  app.add_option("--head-dim-v", shapes.head_dim_v, "head dim of v (default: --head-dim)")->group(group);
  app.add_option("--lengths-q", shapes.lengths_q, "lengths of packed query sequences: 5,0,9")
      ->delimiter(',')
      ->group(group);
  app.add_option("--lengths-kv", shapes.lengths_kv, "lengths of packed key sequences")->delimiter(',')->group(group);
  app.add_option("--used-q", shapes.seqused_q, "seqused_q, one per sequence")->delimiter(',')->group(group);
  app.add_option("--used-kv", shapes.seqused_kv, "seqused_kv, one per sequence")->delimiter(',')->group(group);
  app.add_option("--page-size", shapes.page_size, "paged k, v with pages of so many keys")->group(group);
  app.add_option("--mask-shape", shapes.mask_shape, "B,H,Sq,Sk, each may be 1")->delimiter(',')->group(group);
  app.add_option("--bias-shape", shapes.bias_shape, "B,H,Sq,Sk, each may be 1")->delimiter(',')->group(group);
  app.add_option("--bias-dtype", shapes.bias_dtype, "dtype of the bias (default: --dtype)")
      ->check(dtypes)
      ->group(group);
  app.add_flag("--with-sink", shapes.sink, "a sink per query head")->group(group);
}

}  // namespace fovea::cli
