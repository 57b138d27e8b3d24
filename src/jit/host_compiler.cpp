// Unpacks, compiles, reads back. No shell: arguments travel as a list.
#include "jit/host_compiler.h"

#include <cctype>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "core/text.h"
#include "jit/files.h"
#include "jit/process.h"

namespace fovea {
namespace {

constexpr std::size_t kMaxObject = std::size_t{256} << 20U;

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> found;
  for (std::string word; stream >> word;) found.push_back(word);
  return found;
}

Error scratch_error(const std::string& reason) {
  return {.status = FOVEA_CONFIG,
          .asked = "a scratch directory for the host compiler",
          .allowed = "a directory for temporary files that can be written",
          .why = reason,
          .hint = "set TMPDIR to a directory that can be written"};
}

Check unpack(const Bundle& bundle, const std::string& root) {
  std::string reason;
  for (const BundleFile& file : bundle.files()) {
    const std::string path = cat(root, "/", file.path);
    if (!make_private_directories(std::filesystem::path(path).parent_path().string(), reason) ||
        !publish_file(path, file.text, reason)) {
      return scratch_error(reason);
    }
  }
  return {};
}

Result<HostCompiler> probe(const std::vector<std::string>& command) {
  std::vector<std::string> arguments = command;
  arguments.emplace_back("--version");
  const Result<Finished> finished = run_process(arguments);
  if (!finished.ok()) return finished.error();
  const std::string& output = finished.value().output;
  if (finished.value().exit_code == 0) return HostCompiler{command, output.substr(0, output.find('\n'))};
  return Error{.status = FOVEA_NO_BACKEND,
               .asked = cat(command[0], " --version"),
               .allowed = "a C++20 compiler that tells its version",
               .why = output,
               .hint = "set CXX to g++ or clang++"};
}

}  // namespace

std::string HostCompiler::tag() const {
  constexpr std::size_t kMaxLength = 64;
  std::string text = version.substr(0, kMaxLength);
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.') c = '-';
  }
  return text;
}

Result<HostCompiler> find_host_compiler(const Config& config) {
  if (const std::vector<std::string> chosen = words(config.host_compiler); !chosen.empty()) return probe(chosen);
  Result<HostCompiler> gnu = probe({"g++"});
  return gnu.ok() ? gnu : probe({"clang++"});
}

std::vector<std::string> host_options() {
  // No contraction: a * b + c means the same with every host compiler; kernels say fma_rn where they want it.
  return {"-std=c++20", "-O1", "-fPIC", "-shared", "-ffp-contract=off"};
}

Result<Bytes> compile_host(const HostCompiler& compiler, const Bundle& bundle, const std::string& source) {
  const ScratchDirectory scratch;
  if (scratch.path().empty()) return scratch_error(scratch.reason());
  if (Check bad = unpack(bundle, scratch.path())) return *bad;
  std::string reason;
  const std::string input = cat(scratch.path(), "/stub.cpp");
  const std::string output = cat(scratch.path(), "/stub.so");
  if (!publish_file(input, source, reason)) return scratch_error(reason);

  std::vector<std::string> arguments = compiler.command;
  for (const std::string& option : host_options()) arguments.push_back(option);
  for (const char* root : {"/device", "/model"}) arguments.push_back(cat("-I", scratch.path(), root));
  for (const std::string& last : {input, std::string("-o"), output}) arguments.push_back(last);
  const Result<Finished> finished = run_process(arguments);
  if (!finished.ok()) return finished.error();
  std::optional<Bytes> object = read_file(output, kMaxObject);
  if (finished.value().exit_code == 0 && object) return std::move(*object);
  return Error{.status = FOVEA_INTERNAL,
               .asked = cat("a kernel for the model from ", compiler.version),
               .allowed = "kernel sources that compile",
               .why = cat("exit code ", finished.value().exit_code, ": ", finished.value().output),
               .hint = "this is a fault of fovea, or of a changed kernel source: please report this message"};
}

}  // namespace fovea
