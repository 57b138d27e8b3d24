// fovea run, in process: inputs in every layout and container, judged by the reference and by stored outputs.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/support.h"

namespace fovea::cli::testing {
namespace {

// q, k, v of B=1, S=3, H=2, D=4 in one safetensors file, BSHD.
std::vector<float> numbers(std::size_t count, float step) {
  std::vector<float> values(count);
  for (std::size_t n = 0; n < count; ++n) values[n] = std::sin(step * static_cast<float>(n + 1));
  return values;
}

void write(const std::string& path, const std::vector<NamedTensor>& tensors) {
  Result<OutputFile> file = OutputFile::create(path);
  ASSERT_TRUE(file.ok());
  const bool npy = path.ends_with(".npy");
  ASSERT_FALSE(npy ? write_npy(file.value(), tensors[0].tensor, NpyBf16::refuse)
                   : write_safetensors(file.value(), tensors, {}));
  ASSERT_FALSE(file.value().commit());
}

std::vector<NamedTensor> small_qkv(const std::vector<std::int64_t>& shape = {1, 3, 2, 4}) {
  const std::size_t count = 24;
  return {{"q", tensor_of(ElementType::f32, shape, numbers(count, 0.7F))},
          {"k", tensor_of(ElementType::f32, shape, numbers(count, 1.1F))},
          {"v", tensor_of(ElementType::f32, shape, numbers(count, 0.3F))}};
}

std::vector<float> read_floats(const std::string& path, const std::string& name) {
  const auto source = open_file(path);
  EXPECT_TRUE(source.ok());
  const Result<SafetensorsFile> file = SafetensorsFile::open(source.value());
  EXPECT_TRUE(file.ok());
  const Result<Tensor> tensor = file.value().read(name);
  EXPECT_TRUE(tensor.ok());
  return values_of<float>(tensor.value());
}

TEST(Run, ChecksAgainstTheReferenceAndWritesOneFile) {
  const TempDir dir;
  write(dir.file("in.safetensors"), small_qkv());
  const Ran ran = fovea({"run", "--in", dir.file("in.safetensors"), "--causal", "--check", "--out",
                         dir.file("o.safetensors"), "--lse", dir.file("o.safetensors"), "--format", "json"});
  ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
  EXPECT_TRUE(ran.err.empty());
  const nlohmann::json json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["check"], "ok");
  EXPECT_EQ(json["visible_pairs"], 6);
  EXPECT_EQ(json["check_rows"], "3 of 3");
  EXPECT_EQ(dir.entries(), 2U);
  // Row 0 sees key 0 only: out is v's row 0.
  const std::vector<float> out = read_floats(dir.file("o.safetensors"), "out"), v = numbers(24, 0.3F);
  for (std::size_t n = 0; n < 8; ++n) EXPECT_NEAR(out[n], v[n], 1e-6F) << n;
  for (const float x : read_floats(dir.file("o.safetensors"), "lse")) EXPECT_TRUE(std::isfinite(x));
}

TEST(Run, LayoutsOfTheSameNumbersAgree) {
  const TempDir dir;
  const std::vector<NamedTensor> bshd = small_qkv();
  std::vector<NamedTensor> bhsd, shd;
  for (const NamedTensor& named : bshd) {
    const std::vector<float> from = values_of<float>(named.tensor);
    std::vector<float> to(from.size());
    for (std::size_t s = 0; s < 3; ++s) {
      for (std::size_t h = 0; h < 2; ++h) std::copy_n(&from[(s * 2 + h) * 4], 4, &to[(h * 3 + s) * 4]);
    }
    bhsd.push_back({named.name, tensor_of(ElementType::f32, {1, 2, 3, 4}, to)});
    shd.push_back({named.name, tensor_of(ElementType::f32, {3, 2, 4}, from)});
  }
  write(dir.file("bshd.safetensors"), bshd);
  write(dir.file("bhsd.safetensors"), bhsd);
  write(dir.file("shd.safetensors"), shd);
  for (const std::string layout : {"bshd", "bhsd", "shd"}) {
    const Ran ran = fovea({"run", "--in", dir.file(layout + ".safetensors"), "--layout", layout, "--window", "1,inf",
                           "--check", "--out", dir.file(layout + "-o.safetensors")});
    ASSERT_EQ(ran.code, 0) << layout << ran.err << ran.out;
  }
  const std::vector<float> want = read_floats(dir.file("bshd-o.safetensors"), "out");
  EXPECT_EQ(read_floats(dir.file("shd-o.safetensors"), "out"), want);
  const std::vector<float> turned = read_floats(dir.file("bhsd-o.safetensors"), "out");
  for (std::size_t s = 0; s < 3; ++s) {
    for (std::size_t h = 0; h < 2; ++h) {
      for (std::size_t d = 0; d < 4; ++d) EXPECT_EQ(turned[(h * 3 + s) * 4 + d], want[(s * 2 + h) * 4 + d]);
    }
  }
}

TEST(Run, PackedSequencesWithInt64OffsetsAndRowsOfNobody) {
  const TempDir dir;
  std::vector<NamedTensor> tensors = small_qkv({3, 2, 4});
  const Tensor offsets = tensor_of<std::int64_t>(ElementType::i64, {3}, {0, 1, 2});  // row 2 belongs to nobody
  tensors.push_back({"cu_seqlens_q", offsets});
  tensors.push_back({"cu_seqlens_kv", offsets});
  write(dir.file("in.safetensors"), tensors);
  const Ran ran = fovea({"run", "--in", dir.file("in.safetensors"), "--layout", "shd", "--check", "--out",
                         dir.file("o.safetensors"), "--lse", dir.file("o.safetensors")});
  ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
  const std::vector<float> out = read_floats(dir.file("o.safetensors"), "out"), v = numbers(24, 0.3F);
  for (std::size_t n = 0; n < 16; ++n) EXPECT_NEAR(out[n], v[n], 1e-6F) << n;
  for (std::size_t n = 16; n < 24; ++n) EXPECT_EQ(out[n], 0.0F) << n;
  const std::vector<float> lse = read_floats(dir.file("o.safetensors"), "lse");
  EXPECT_TRUE(std::isinf(lse[2]) && std::isinf(lse[5]));
}

TEST(Run, NpyInAndOutWithMaskSinkAndReferenceBackend) {
  const TempDir dir;
  for (const NamedTensor& named : small_qkv()) write(dir.file(named.name + ".npy"), {named});
  write(dir.file("mask.npy"),
        {{"mask", tensor_of<std::uint8_t>(ElementType::boolean, {3, 3}, {1, 0, 1, 0, 0, 0, 1, 1, 1})}});
  write(dir.file("sink.npy"), {{"sink", tensor_of<float>(ElementType::f32, {2}, {0.5F, -1.0F})}});
  for (const std::string backend : {"cpu", "reference"}) {
    const Ran ran = fovea({"run", "--q", dir.file("q.npy"), "--k", dir.file("k.npy"), "--v", dir.file("v.npy"),
                           "--mask", dir.file("mask.npy"), "--sink", dir.file("sink.npy"), "--backend", backend,
                           "--check", "--out", dir.file(backend + ".npy")});
    ASSERT_EQ(ran.code, 0) << backend << ran.err << ran.out;
  }
  const Ran agree =
      fovea({"run", "--q", dir.file("q.npy"), "--k", dir.file("k.npy"), "--v", dir.file("v.npy"), "--mask",
             dir.file("mask.npy"), "--sink", dir.file("sink.npy"), "--expect", dir.file("reference.npy")});
  EXPECT_EQ(agree.code, 0) << agree.err << agree.out;
}

TEST(Run, AWrongExpectationFailsAndWritesNothing) {
  const TempDir dir;
  std::vector<NamedTensor> tensors = small_qkv();
  tensors.push_back({"out", tensors[2].tensor});  // v is not the answer
  write(dir.file("in.safetensors"), tensors);
  const Ran ran = fovea(
      {"run", "--in", dir.file("in.safetensors"), "--expect", dir.file("in.safetensors"), "--out", dir.file("o.npy")});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.out.find("expect_message"), std::string::npos) << ran.out;
  EXPECT_EQ(dir.entries(), 1U);
}

TEST(Run, RefusalsNameTheRuleAndWriteNothing) {
  const TempDir dir;
  write(dir.file("in.safetensors"), small_qkv());
  const Ran ran = fovea({"run", "--in", dir.file("in.safetensors"), "--softcap", "-1", "--out", dir.file("o.npy")});
  EXPECT_EQ(ran.code, 4);
  EXPECT_NE(ran.err.find("softcap"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("allowed:"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("hint:"), std::string::npos) << ran.err;
  EXPECT_TRUE(ran.out.empty());
  EXPECT_EQ(dir.entries(), 1U);
}

TEST(Run, TheReferenceBackendIsValidatedToo) {
  const TempDir dir;
  std::vector<NamedTensor> tensors = small_qkv({3, 2, 4});
  tensors.push_back({"cu_seqlens_q", tensor_of<std::int32_t>(ElementType::i32, {2}, {0, 1000})});
  tensors.push_back({"cu_seqlens_kv", tensor_of<std::int32_t>(ElementType::i32, {2}, {0, 3})});
  write(dir.file("in.safetensors"), tensors);
  const Ran ran = fovea({"run", "--in", dir.file("in.safetensors"), "--layout", "shd", "--backend", "reference"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_NE(ran.err.find("cu_seqlens"), std::string::npos) << ran.err;
}

TEST(Run, BadFilesEndWithCode3AndTheByte) {
  const TempDir dir;
  const std::string bad = dir.with("bad.npy", "\x93NUMPY");
  const Ran ran = fovea({"run", "--q", bad, "--k", bad, "--v", bad});
  EXPECT_EQ(ran.code, 3);
  EXPECT_NE(ran.err.find("npy_truncated"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("bad.npy, byte 6"), std::string::npos) << ran.err;
}

TEST(Run, UsageErrorsEndWithCode2) {
  const TempDir dir;
  write(dir.file("in.safetensors"), small_qkv());
  const std::string in = dir.file("in.safetensors");
  EXPECT_EQ(fovea({"run"}).code, 2);
  EXPECT_EQ(fovea({"run", "--in", in, "--window", "1"}).code, 2);
  EXPECT_EQ(fovea({"run", "--in", in, "--window", "x,1"}).code, 2);
  EXPECT_EQ(fovea({"run", "--in", in, "--out", dir.file("o.txt")}).code, 2);
  EXPECT_EQ(fovea({"run", "--in", in, "--out", dir.file("o.npy"), "--lse", dir.file("o.npy")}).code, 2);
  EXPECT_EQ(fovea({"run", "--in", in, "--ignore", "nonsense"}).code, 2);
  EXPECT_EQ(fovea({"run", "--in", in, "--repeat", "0"}).code, 2);
  EXPECT_EQ(dir.entries(), 1U);
}

}  // namespace
}  // namespace fovea::cli::testing
