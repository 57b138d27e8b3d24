// The safetensors reader and writer: round trips and one test row per hostile form.
#include "tools/support.h"

namespace fovea::cli::testing {
namespace {

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return '"' + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + '}';
}

std::string file(const std::vector<std::string>& entries, const std::string& data) {
  std::string header = "{";
  for (const std::string& text : entries) header += (header.size() > 1 ? "," : "") + text;
  return safetensors_bytes(header + "}", data);
}

TEST(Safetensors, RoundTripsEveryDtypeWithMetadata) {
  const TempDir dir;
  std::vector<NamedTensor> tensors;
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16,
                                 ElementType::i64, ElementType::i32, ElementType::u8, ElementType::boolean}) {
    Tensor tensor = make_tensor(type, {3, 1});
    for (std::size_t n = 0; n < tensor.storage->bytes().size(); ++n) tensor.data[n] = static_cast<std::byte>(n % 2);
    tensors.push_back({std::string(name(type)), tensor});
  }
  Result<OutputFile> out = OutputFile::create(dir.file("t.safetensors"));
  ASSERT_TRUE(out.ok());
  ASSERT_FALSE(write_safetensors(out.value(), tensors, {{"about", "a \"test\""}}));
  ASSERT_FALSE(out.value().commit());

  const auto source = open_file(dir.file("t.safetensors"));
  ASSERT_TRUE(source.ok());
  const Result<SafetensorsFile> read = SafetensorsFile::open(source.value());
  ASSERT_TRUE(read.ok()) << read.failure().found;
  EXPECT_EQ(read.value().header().metadata.at("about"), "a \"test\"");
  EXPECT_EQ(read.value().header().entries.size(), tensors.size());
  for (const NamedTensor& named : tensors) {
    const Result<Tensor> tensor = read.value().read(named.name);
    ASSERT_TRUE(tensor.ok()) << tensor.failure().found;
    EXPECT_EQ(tensor.value().type, named.tensor.type);
    EXPECT_EQ(tensor.value().shape, named.tensor.shape);
    EXPECT_EQ(values_of<char>(tensor.value()), values_of<char>(named.tensor)) << named.name;
  }
}

TEST(Safetensors, LoadsTheTensorAskedForFromAnyOffset) {
  // b starts at an odd byte: what is read must be aligned all the same.
  const std::string bytes = file({entry("a", "U8", "[1]", "[0,1]"), entry("b", "F32", "[2]", "[1,9]")}, "x12345678");
  const Result<SafetensorsFile> read = open_bytes(bytes);
  ASSERT_TRUE(read.ok());
  const Result<Tensor> b = read.value().read("b");
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(std::memcmp(b.value().data, "12345678", 8), 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.value().data) % 64, 0U);
}

TEST(Safetensors, MissingNamesAreAnsweredWithTheNamesThatExist) {
  const std::string bytes = file({entry("layer0.q", "U8", "[1]", "[0,1]")}, "x");
  const Result<SafetensorsFile> read = open_bytes(bytes);
  ASSERT_TRUE(read.ok());
  const Result<Tensor> tensor = read.value().read("q");
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.failure().code, "safetensors_missing");
  EXPECT_EQ(tensor.failure().allowed, "layer0.q");
}

TEST(Safetensors, OtherDtypesAreRefusedOnlyWhenAskedFor) {
  const std::string bytes = file({entry("a", "F8_E4M3", "[1]", "[0,1]"), entry("b", "U8", "[1]", "[1,2]")}, "xy");
  const Result<SafetensorsFile> read = open_bytes(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read.value().read("b").ok());
  const Result<Tensor> a = read.value().read("a");
  ASSERT_FALSE(a.ok());
  EXPECT_EQ(a.failure().code, "safetensors_dtype");
}

TEST(Safetensors, HostileFilesEndInAClearFailure) {
  const std::string good = file({entry("a", "F32", "[2]", "[0,8]")}, "01234567");
  ASSERT_TRUE(open_bytes(good).ok());
  const std::string deep(100000, '[');
  const std::string a = entry("a", "U8", "[4]", "[0,4]");
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "safetensors_truncated"},
      {good.substr(0, 7), "safetensors_truncated"},
      {good.substr(0, 30), "safetensors_truncated"},
      {good.substr(0, good.size() - 1), "safetensors_offsets"},
      {good + "x", "safetensors_trailing_bytes"},
      {le(UINT64_MAX, 8) + "{}", "safetensors_header_size"},
      {le(100'000'001, 8) + "{}", "safetensors_header_size"},
      {le(50'000'000, 8) + "{}", "safetensors_truncated"},
      {safetensors_bytes("", ""), "safetensors_json_syntax"},
      {safetensors_bytes("[]", ""), "safetensors_header"},
      {safetensors_bytes("{\"a\":", ""), "safetensors_json_syntax"},
      {safetensors_bytes("{\"a\":" + deep, ""), "safetensors_json_depth"},
      {file({a, a}, "0123"), "safetensors_json_duplicate"},
      {file({a, entry("b", "U8", "[4]", "[2,6]")}, "012345"), "safetensors_overlap"},
      {file({a, entry("b", "U8", "[4]", "[0,4]")}, "0123"), "safetensors_overlap"},
      {file({entry("b", "U8", "[4]", "[2,6]")}, "012345"), "safetensors_gap"},
      {file({entry("b", "U8", "[4]", "[4,0]")}, "0123"), "safetensors_offsets"},
      {file({entry("b", "U8", "[4]", "[-4,0]")}, "0123"), "safetensors_offsets"},
      {file({entry("b", "U8", "[4]", "[0,18446744073709551615]")}, "0123"), "safetensors_offsets"},
      {file({entry("b", "U8", "[4]", "[0,4,4]")}, "0123"), "safetensors_offsets"},
      {file({entry("b", "U8", "[-4]", "[0,4]")}, "0123"), "safetensors_shape"},
      {file({entry("b", "U8", "[4.0]", "[0,4]")}, "0123"), "safetensors_shape"},
      {file({entry("b", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]")}, "0"), "safetensors_shape"},
      {file({entry("b", "U8", "[4294967296,4294967296]", "[0,4]")}, "0123"), "safetensors_shape_overflow"},
      {file({entry("b", "U8", "[0,4294967296,4294967296]", "[0,0]")}, ""), "safetensors_shape_overflow"},
      {file({entry("b", "U8", "[5]", "[0,4]")}, "0123"), "safetensors_size"},
      {file({entry("b", "X9", "[4]", "[0,4]")}, "0123"), "safetensors_dtype"},
      {file({R"("b":{"dtype":1,"shape":[4],"data_offsets":[0,4]})"}, "0123"), "safetensors_dtype"},
      {file({R"("b":{"dtype":"U8","shape":[4]})"}, "0123"), "safetensors_entry"},
      {file({R"("b":7)"}, "0123"), "safetensors_entry"},
      {file({R"("__metadata__":{"a":1})"}, ""), "safetensors_metadata"},
      {file({R"("__metadata__":[])"}, ""), "safetensors_metadata"},
  };
  for (const auto& [bytes, code] : rows) {
    const Result<SafetensorsFile> read = open_bytes(bytes);
    ASSERT_FALSE(read.ok()) << code << ": " << bytes.substr(0, 80);
    const Failure& failure = read.failure();
    EXPECT_EQ(failure.code, code) << failure.found << " in " << bytes.substr(0, 80);
    EXPECT_EQ(failure.exit, ExitCode::bad_file);
    EXPECT_EQ(failure.file, "x.safetensors");
    EXPECT_FALSE(failure.found.empty() || failure.allowed.empty()) << code;
    EXPECT_TRUE(failure.offset && *failure.offset <= bytes.size()) << code;
  }
}

TEST(OpenFile, RefusesWhatIsNoRegularFile) {
  const TempDir dir;
  EXPECT_EQ(open_file(dir.path().string()).failure().code, "file_kind");
  EXPECT_EQ(open_file("/dev/null").failure().code, "file_kind");
  EXPECT_EQ(open_file(dir.file("absent")).failure().code, "file_open");
}

TEST(OutputFile, LeavesNothingUnlessCommitted) {
  const TempDir dir;
  {
    Result<OutputFile> file = OutputFile::create(dir.file("a"));
    ASSERT_TRUE(file.ok());
    ASSERT_FALSE(file.value().write(std::as_bytes(std::span("abc", 3))));
    EXPECT_EQ(dir.entries(), 1U);
    EXPECT_FALSE(std::filesystem::exists(dir.file("a")));
  }
  EXPECT_EQ(dir.entries(), 0U);
  EXPECT_EQ(OutputFile::create(dir.path().string()).failure().code, "file_write");
  EXPECT_EQ(OutputFile::create(dir.file("no/such/folder")).failure().code, "file_write");
}

}  // namespace
}  // namespace fovea::cli::testing
