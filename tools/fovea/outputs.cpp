// Every temporary file is complete before the first one is renamed.
#include "tools/fovea/outputs.h"

#include <map>
#include <utility>
#include <vector>

#include "tools/fovea/io/safetensors.h"

namespace fovea::cli {
namespace {

Outcome write_one(OutputFile& file, const std::vector<NamedTensor>& tensors, NpyBf16 bf16) {
  if (file.path().ends_with(".npy")) return write_npy(file, tensors.front().tensor, bf16);
  return write_safetensors(file, tensors, {{"writer", std::string("fovea ") + fovea_version()}});
}

}  // namespace

Outcome check_output_path(const std::string& path) {
  if (path.empty() || path.ends_with(".npy") || path.ends_with(".safetensors")) return std::nullopt;
  return Failure{.exit = ExitCode::usage,
                 .code = "file_type",
                 .found = path,
                 .allowed = "a name ending in .npy or .safetensors",
                 .why = {},
                 .hint = {},
                 .file = {},
                 .offset = {}};
}

Outcome write_outputs(const Call& call, const std::string& out_path, const std::string& lse_path, NpyBf16 bf16) {
  std::map<std::string, std::vector<NamedTensor>> contents;
  if (!out_path.empty()) contents[out_path].push_back({"out", call.out});
  if (!lse_path.empty()) contents[lse_path].push_back({"lse", call.lse});
  std::vector<OutputFile> files;
  for (const auto& [path, tensors] : contents) {
    if (tensors.size() > 1 && path.ends_with(".npy")) {
      return Failure{.exit = ExitCode::usage,
                     .code = "file_type",
                     .found = "out and lse both to " + path,
                     .allowed = "two .npy files, or one .safetensors file",
                     .why = "an .npy file holds one array",
                     .hint = {},
                     .file = {},
                     .offset = {}};
    }
    Result<OutputFile> file = OutputFile::create(path);
    if (!file.ok()) return file.failure();
    files.push_back(std::move(file.value()));
    if (Outcome bad = write_one(files.back(), tensors, bf16)) return bad;
  }
  for (OutputFile& file : files) {
    if (Outcome bad = file.commit()) return bad;
  }
  return std::nullopt;
}

}  // namespace fovea::cli
