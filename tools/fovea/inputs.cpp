// Finds each operand: an option of its own first, then prefix + name in --in, then the plain name there (lengths and
// pages are usually shared by all layers of a file).
#include "tools/fovea/inputs.h"

#include <algorithm>

#include "tools/fovea/io/safetensors.h"

namespace fovea::cli {
namespace {

constexpr std::string_view kSafetensors = ".safetensors";

Failure usage(std::string code, std::string found, std::string allowed, std::string hint) {
  return make_failure(ExitCode::usage, std::move(code), std::move(found), std::move(allowed), {}, std::move(hint));
}

Result<SafetensorsFile> open_safetensors(const std::string& path) {
  Result<std::shared_ptr<ByteSource>> source = open_file(path);
  if (!source.ok()) return source.failure();
  return SafetensorsFile::open(std::move(source.value()));
}

// Only operands that are not per layer may be found without the prefix.
std::optional<std::string> find_name(const SafetensorsFile& file, const InputOptions& options,
                                     const OperandInfo& operand) {
  const std::string name(operand.name);
  if (file.contains(options.prefix + name)) return options.prefix + name;
  if (operand.kind == OperandKind::index && file.contains(name)) return name;
  return std::nullopt;
}

Outcome load_from_file(const InputOptions& options, Inputs& inputs) {
  const Result<SafetensorsFile> file = open_safetensors(options.in);
  if (!file.ok()) return file.failure();
  for (std::size_t n = 0; n < kOperands.size(); ++n) {
    const std::string name(kOperands[n].name);
    const bool ignored = std::find(options.ignore.begin(), options.ignore.end(), name) != options.ignore.end();
    if (inputs[n] || ignored) continue;
    const std::optional<std::string> found = find_name(file.value(), options, kOperands[n]);
    if (!found && n > kV) continue;
    Result<Tensor> tensor = file.value().read(found.value_or(options.prefix + name));
    if (!tensor.ok()) return tensor.failure();
    inputs[n] = std::move(tensor.value());
  }
  return std::nullopt;
}

}  // namespace

bool InputOptions::any() const {
  return !in.empty() || std::any_of(files.begin(), files.end(), [](const std::string& file) { return !file.empty(); });
}

void add_input_options(CLI::App& app, InputOptions& options) {
  const std::string group = "Inputs";
  app.add_option("--in", options.in, "safetensors file with tensors named q, k, v, mask, cu_seqlens_q, ...")
      ->group(group);
  app.add_option("--prefix", options.prefix, "text before the names in --in, e.g. layer0.")->group(group);
  for (std::size_t n = 0; n < kOperands.size(); ++n) {
    app.add_option(option_name(kOperands[n]), options.files[n], std::string(kOperands[n].help))
        ->type_name("FILE[:NAME]")
        ->group(group);
  }
  app.add_option("--ignore", options.ignore, "operands of --in to leave out")->group(group);
  app.add_flag("--npy-bf16", options.npy_bf16, "two-byte <u2 and V2 .npy arrays hold bf16")->group(group);
}

Result<Tensor> load_tensor(const std::string& reference, const std::string& default_name, NpyBf16 bf16) {
  std::string path = reference, name = default_name;
  const std::size_t end = reference.rfind(std::string(kSafetensors) + ":");
  if (end != std::string::npos) {
    path = reference.substr(0, end + kSafetensors.size());
    name = reference.substr(path.size() + 1);
  }
  if (path.ends_with(kSafetensors)) {
    const Result<SafetensorsFile> file = open_safetensors(path);
    if (!file.ok()) return file.failure();
    return file.value().read(name);
  }
  if (!path.ends_with(".npy")) {
    return usage("file_type", path, "a name ending in .npy or .safetensors", "FILE.npy or FILE.safetensors:NAME");
  }
  const Result<std::shared_ptr<ByteSource>> source = open_file(path);
  if (!source.ok()) return source.failure();
  return read_npy(*source.value(), bf16);
}

Result<Inputs> load_inputs(const InputOptions& options) {
  Inputs inputs;
  for (const std::string& name : options.ignore) {
    const auto known = std::any_of(kOperands.begin(), kOperands.end(), [&](const auto& o) { return o.name == name; });
    if (!known) return usage("unknown_operand", "--ignore " + name, "mask, bias, sink, seqused_kv, ...", "");
  }
  for (std::size_t n = 0; n < kOperands.size(); ++n) {
    if (options.files[n].empty()) continue;
    Result<Tensor> tensor = load_tensor(options.files[n], std::string(kOperands[n].name), options.bf16());
    if (!tensor.ok()) return tensor.failure();
    inputs[n] = std::move(tensor.value());
  }
  if (!options.in.empty()) {
    if (Outcome bad = load_from_file(options, inputs)) return *bad;
  }
  for (const std::size_t n : {kQ, kK, kV}) {
    if (inputs[n]) continue;
    return usage("missing_input", "no " + std::string(kOperands[n].name), "q, k and v",
                 "--in FILE.safetensors, or --q FILE --k FILE --v FILE");
  }
  return inputs;
}

}  // namespace fovea::cli
