// One compilation: create, compile, fetch, destroy. NVRTC copies what it is given and is safe to call from several
// threads with a program each.
#include "jit/nvrtc_compiler.h"

#include <array>
#include <utility>

#include "core/text.h"

namespace fovea {
namespace {

using nvrtc::Nvrtc;

constexpr std::array<std::string_view, 2> kRoots{"device/", "device/isa_ptx/"};

class Program {
 public:
  explicit Program(const Nvrtc& nvrtc) : nvrtc_(nvrtc) {}
  ~Program() {
    if (program_ != nullptr) nvrtc_.nvrtcDestroyProgram(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtc::nvrtcResult create(const Bundle& bundle, const std::string& source) {
    std::vector<std::string> names;
    std::vector<std::string> texts;
    for (const BundleFile& file : bundle.files()) {
      const std::string_view name = include_name(file.path, kRoots);
      if (name.empty()) continue;
      names.emplace_back(name);
      texts.emplace_back(file.text);
    }
    std::vector<const char*> name_pointers;
    std::vector<const char*> text_pointers;
    for (const std::string& name : names) name_pointers.push_back(name.c_str());
    for (const std::string& text : texts) text_pointers.push_back(text.c_str());
    return nvrtc_.nvrtcCreateProgram(&program_, source.c_str(), "stub.cu", static_cast<int>(names.size()),
                                     text_pointers.data(), name_pointers.data());
  }

  nvrtc::nvrtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    return nvrtc_.nvrtcCompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
  }

  std::string log() const {
    std::size_t size = 0;
    if (nvrtc_.nvrtcGetProgramLogSize(program_, &size) != nvrtc::NVRTC_SUCCESS || size <= 1) return {};
    std::string text(size, '\0');
    if (nvrtc_.nvrtcGetProgramLog(program_, text.data()) != nvrtc::NVRTC_SUCCESS) return {};
    text.resize(size - 1);  // the size counts the NUL
    return text;
  }

  nvrtc::nvrtcResult fetch(NvrtcOutput output, Bytes& bytes) const {
    const bool cubin = output == NvrtcOutput::cubin;
    std::size_t size = 0;
    const auto asked = cubin ? nvrtc_.nvrtcGetCUBINSize(program_, &size) : nvrtc_.nvrtcGetPTXSize(program_, &size);
    if (asked != nvrtc::NVRTC_SUCCESS) return asked;
    bytes.resize(size);
    const auto got = cubin ? nvrtc_.nvrtcGetCUBIN(program_, bytes.data()) : nvrtc_.nvrtcGetPTX(program_, bytes.data());
    if (!cubin && !bytes.empty()) bytes.pop_back();  // the size of PTX counts the NUL
    return got;
  }

 private:
  const Nvrtc& nvrtc_;
  nvrtc::nvrtcProgram program_ = nullptr;
};

Error compile_error(const Nvrtc& nvrtc, nvrtc::nvrtcResult result, const Target& target, const std::string& log) {
  const bool builtins = result == nvrtc::NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
  const std::string place = nvrtc.builtins.empty() ? cat("; no libnvrtc-builtins.so.", nvrtc.version(), " beside it")
                                                   : cat("; builtins from ", nvrtc.builtins);
  return {.status = FOVEA_INTERNAL,
          .asked = cat("a kernel for ", name(target), " from NVRTC ", nvrtc.version(), " at ", nvrtc.path),
          .allowed = "kernel sources that compile",
          .why = cat(nvrtc.nvrtcGetErrorString(result), builtins ? place : "", log.empty() ? "" : ": ", log),
          .hint = builtins ? "libnvrtc-builtins of the same version belongs into the same folder: reinstall NVRTC"
                           : "this is a fault of fovea, or of a changed kernel source: please report this message"};
}

}  // namespace

std::vector<std::string> nvrtc_options(const Target& target, NvrtcOutput output) {
  std::string arch = name(target);
  if (output == NvrtcOutput::ptx) arch = cat("compute_", arch.substr(arch.find('_') + 1));
  return {"--gpu-architecture=" + arch, "--std=c++20", "-default-device", "--ptxas-options=-v"};
}

std::optional<std::string> resource_text(const std::string& log) {
  if (log.find("ptxas info") == std::string::npos || log.find(" registers") == std::string::npos) return std::nullopt;
  return log;
}

Result<NvrtcProduct> compile_nvrtc(const Nvrtc& nvrtc, const Bundle& bundle, const std::string& source,
                                   const Target& target, NvrtcOutput output) {
  Program program(nvrtc);
  NvrtcProduct product;
  if (const auto result = program.create(bundle, source); result != nvrtc::NVRTC_SUCCESS) {
    return compile_error(nvrtc, result, target, {});
  }
  const auto compiled = program.compile(nvrtc_options(target, output));
  product.log = program.log();
  if (compiled != nvrtc::NVRTC_SUCCESS) return compile_error(nvrtc, compiled, target, product.log);
  if (const auto result = program.fetch(output, product.bytes); result != nvrtc::NVRTC_SUCCESS) {
    return compile_error(nvrtc, result, target, product.log);
  }
  return product;
}

}  // namespace fovea
