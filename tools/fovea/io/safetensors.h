// safetensors files: F64 F32 F16 BF16 I64 I32 U8 BOOL are read; only the tensors asked for are loaded.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tools/fovea/failure.h"
#include "tools/fovea/io/byte_source.h"
#include "tools/fovea/io/output_file.h"
#include "tools/fovea/io/safetensors_header.h"
#include "tools/fovea/io/tensor.h"

namespace fovea::cli {

class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(std::shared_ptr<const ByteSource> source);

  const SafetensorsHeader& header() const { return header_; }
  const std::string& path() const { return source_->name(); }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  Result<Tensor> read(std::string_view name) const;

 private:
  SafetensorsFile(std::shared_ptr<const ByteSource> source, SafetensorsHeader header, std::uint64_t data_offset)
      : source_(std::move(source)), header_(std::move(header)), data_offset_(data_offset) {}
  const SafetensorsEntry* find(std::string_view name) const;

  std::shared_ptr<const ByteSource> source_;
  SafetensorsHeader header_;
  std::uint64_t data_offset_;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;  // dense
};

// Writes into `file`; the caller commits it.
Outcome write_safetensors(OutputFile& file, std::span<const NamedTensor> tensors,
                          const std::map<std::string, std::string>& metadata);

}  // namespace fovea::cli
