// The loader wants a file, and it knows libraries by their paths: each object gets a path of its own, which is removed
// once it is loaded.
#include "backend/model/module.h"

#include "core/text.h"
#include "jit/files.h"
#include "jit/stub.h"

namespace fovea::model {
namespace {

Error cannot_load(const std::string& reason) {
  return {.status = FOVEA_INTERNAL,
          .asked = "loading a kernel that was compiled for the model",
          .allowed = "a directory for temporary files that can be written and holds programs",
          .why = reason,
          .hint = "set TMPDIR to a directory that is not mounted noexec"};
}

}  // namespace

Result<Module> Modules::get(const KernelSource& source) {
  bool made = false;
  return loaded_.get(
      stub(source, Target::Kind::model), [&] { return load(source); }, made);
}

Result<Module> Modules::load(const KernelSource& source) {
  const Result<Artifact> object = jit_.get(source, Target{.kind = Target::Kind::model, .sm = 0});
  if (!object.ok()) return object.error();
  const ScratchDirectory scratch;
  if (scratch.path().empty()) return cannot_load(scratch.reason());
  const std::string path = cat(scratch.path(), "/", source.kernel, ".so");
  std::string reason;
  if (!publish_file(path, view(*object.value().bytes), reason)) return cannot_load(reason);
  const auto library = SharedLibrary::open(path, SharedLibrary::Unload::with_last_copy, reason);
  if (!library) return cannot_load(reason);
  Module module{.library = *library, .entry = nullptr};
  module.entry = reinterpret_cast<void (*)(const void*)>(library->symbol(kModelEntryName));
  if (module.entry == nullptr) return cannot_load(cat("it exports no ", kModelEntryName));
  return module;
}

}  // namespace fovea::model
