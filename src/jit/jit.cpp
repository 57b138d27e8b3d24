// What goes into a key: the stub (kernel, spec, parameters, launch bounds), every bundled source that the compiler may
// see, the options, the target and the compiler's version. Nothing of the machine, no path and no time.
#include "jit/jit.h"

#include <array>
#include <chrono>
#include <utility>

#include "core/text.h"
#include "jit/progress.h"
#include "jit/sha256.h"
#include "jit/stub.h"

namespace fovea {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::string_view, 1> kGpuRoots{"device/"};
constexpr std::array<std::string_view, 2> kModelRoots{"device/", "model/"};
constexpr std::string_view kPtxIsa = "device/isa_ptx/";

std::vector<std::string> options_of(const Target& target) {
  return target.kind == Target::Kind::model ? host_options() : nvrtc_options(target, NvrtcOutput::cubin);
}

Artifact from_disk(Bytes bytes) {
  return {.bytes = std::make_shared<const Bytes>(std::move(bytes)), .origin = Origin::disk, .seconds = 0};
}

Error gpu_only(const Target& target) {
  return {.status = FOVEA_UNSUPPORTED,
          .asked = cat("PTX or resource numbers for ", name(target)),
          .allowed = "a GPU target",
          .why = "the model runs host code",
          .hint = "ask for sm_80, sm_90a, ..."};
}

}  // namespace

std::string_view name(Origin origin) {
  switch (origin) {
    case Origin::memory:
      return "memory";
    case Origin::disk:
      return "disk";
    case Origin::compiled:
      return "compiled";
  }
  return "unknown";
}

Jit::Jit(const Config& config, int max_nvrtc_major, const Bundle& bundle)
    : config_(config),
      max_nvrtc_major_(max_nvrtc_major),
      gpu_bundle_(bundle.below(kGpuRoots, {})),
      model_bundle_(bundle.below(kModelRoots, kPtxIsa)),
      cache_(config.cache_dir) {}

Result<nvrtc::Nvrtc> Jit::nvrtc() {
  bool made = false;
  return nvrtc_.get(
      {}, [this] { return nvrtc::load_nvrtc(nvrtc::nvrtc_candidates(config_), max_nvrtc_major_); }, made);
}

Result<HostCompiler> Jit::host_compiler() {
  bool made = false;
  return host_compiler_.get(
      {}, [this] { return find_host_compiler(config_); }, made);
}

std::string Jit::digest(const std::string& text, const Target& target) const {
  const bool model = target.kind == Target::Kind::model;
  Sha256 all;
  all.field(text);
  all.field((model ? model_bundle_ : gpu_bundle_).hash());
  all.field(name(target));
  for (const std::string& option : options_of(target)) all.field(option);
  return hex(all.finish());
}

Result<Artifact> Jit::get(const KernelSource& source, const Target& target) {
  const Clock::time_point start = Clock::now();
  const std::string key = cat(name(target), "\n", stub(source, target.kind));
  bool made = false;
  Result<Artifact> result = artifacts_.get(
      key, [&] { return find_or_compile(source, target); }, made);
  if (!result.ok()) return result;
  if (!made) result.value().origin = Origin::memory;
  result.value().seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

Result<Artifact> Jit::find_or_compile(const KernelSource& source, const Target& target) {
  const bool model = target.kind == Target::Kind::model;
  const std::string text = stub(source, target.kind);
  CacheKey key{.digest = digest(text, target),
               .compiler = {},
               .kind = model ? "so" : "cubin",
               .label = cat(source.kernel, " ", name(target))};
  return model ? make_object(std::move(key), text) : make_cubin(std::move(key), text, target);
}

Result<Artifact> Jit::make_cubin(CacheKey key, const std::string& text, const Target& target) {
  const Result<nvrtc::Nvrtc> nvrtc = this->nvrtc();
  if (!nvrtc.ok()) {
    if (std::optional<Bytes> bytes = cache_.load_of_any_compiler(key)) return from_disk(std::move(*bytes));
    return nvrtc.error();
  }
  key.compiler = cat("nvrtc-", nvrtc.value().version());
  if (std::optional<Bytes> bytes = cache_.load(key)) return from_disk(std::move(*bytes));
  Result<NvrtcProduct> product = [&] {
    const CompileNotice notice(key.label, config_.quiet);
    return compile_nvrtc(nvrtc.value(), gpu_bundle_, text, target, NvrtcOutput::cubin);
  }();
  if (!product.ok()) return product.error();
  return keep(key, std::move(product.value().bytes));
}

Result<Artifact> Jit::make_object(CacheKey key, const std::string& text) {
  const Result<HostCompiler> compiler = host_compiler();
  if (!compiler.ok()) return compiler.error();
  key.compiler = compiler.value().tag();
  if (std::optional<Bytes> bytes = cache_.load(key)) return from_disk(std::move(*bytes));
  Result<Bytes> object = [&] {
    const CompileNotice notice(key.label, config_.quiet);
    return compile_host(compiler.value(), model_bundle_, text);
  }();
  if (!object.ok()) return object.error();
  return keep(key, std::move(object.value()));
}

Artifact Jit::keep(const CacheKey& key, Bytes bytes) {
  std::string reason;
  if (!cache_.store(key, bytes, reason) && !config_.quiet) {
    std::call_once(told_memory_only_, [&] { print_line(cat("compiled kernels stay in memory only: ", reason)); });
  }
  return {.bytes = std::make_shared<const Bytes>(std::move(bytes)), .origin = Origin::compiled, .seconds = 0};
}

Result<NvrtcProduct> Jit::compile_fresh(const KernelSource& source, const Target& target, NvrtcOutput output) {
  if (target.kind == Target::Kind::model) return gpu_only(target);
  const Result<nvrtc::Nvrtc> nvrtc = this->nvrtc();
  if (!nvrtc.ok()) return nvrtc.error();
  return compile_nvrtc(nvrtc.value(), gpu_bundle_, stub(source, target.kind), target, output);
}

Result<std::string> Jit::ptx(const KernelSource& source, const Target& target) {
  const Result<NvrtcProduct> product = compile_fresh(source, target, NvrtcOutput::ptx);
  if (!product.ok()) return product.error();
  return std::string(view(product.value().bytes));
}

Result<std::optional<std::string>> Jit::resources(const KernelSource& source, const Target& target) {
  const Result<NvrtcProduct> product = compile_fresh(source, target, NvrtcOutput::cubin);
  if (!product.ok()) return product.error();
  return resource_text(product.value().log);
}

}  // namespace fovea
