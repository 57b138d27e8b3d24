// What the tool's tests share: a folder that goes away, files made of bytes, and commands run in process.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tools/fovea/cli.h"
#include "tools/fovea/io/npy.h"
#include "tools/fovea/io/safetensors.h"

namespace fovea::cli::testing {

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fovea-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string with(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Ran {
  int code = -1;
  std::string out, err;
};

inline Ran fovea(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"fovea"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::ostringstream out, err;
  Ran ran;
  ran.code = run_cli(static_cast<int>(argv.size()), argv.data(), out, err);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

inline std::string le(std::uint64_t value, int bytes) {
  std::string text;
  for (int n = 0; n < bytes; ++n) text += static_cast<char>((value >> (8 * n)) & 0xff);
  return text;
}

inline std::string npy_bytes(const std::string& dict, const std::string& data, int version = 1) {
  return "\x93NUMPY" + std::string(1, static_cast<char>(version)) + std::string(1, '\0') +
         le(dict.size(), version == 1 ? 2 : 4) + dict + data;
}

inline std::string safetensors_bytes(const std::string& header, const std::string& data) {
  return le(header.size(), 8) + header + data;
}

template <class T>
Tensor tensor_of(ElementType type, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  Tensor tensor = make_tensor(type, std::move(shape));
  EXPECT_EQ(tensor.storage->bytes().size(), values.size() * sizeof(T));
  std::memcpy(tensor.data, values.data(), values.size() * sizeof(T));
  return tensor;
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  std::vector<T> values(tensor.storage->bytes().size() / sizeof(T));
  std::memcpy(values.data(), tensor.data, values.size() * sizeof(T));
  return values;
}

inline Result<Tensor> read_npy_bytes(const std::string& bytes, NpyBf16 bf16 = NpyBf16::refuse) {
  return read_npy(MemorySource("x.npy", std::as_bytes(std::span(bytes))), bf16);
}

// `bytes` outlives the file.
inline Result<SafetensorsFile> open_bytes(const std::string& bytes) {
  return SafetensorsFile::open(std::make_shared<MemorySource>("x.safetensors", std::as_bytes(std::span(bytes))));
}

}  // namespace fovea::cli::testing
