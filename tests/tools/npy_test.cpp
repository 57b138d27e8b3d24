// The .npy reader and writer: round trips, what NumPy writes, and one test row per hostile form.
#include "tools/fovea/io/npy_header.h"
#include "tools/support.h"

namespace fovea::cli::testing {
namespace {

struct Hostile {
  const char* label;
  std::string bytes;
  std::string code;
  std::uint64_t offset;  // 0 = not looked at
};

std::string dict(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

TEST(Npy, RoundTripsEveryDtype) {
  const TempDir dir;
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::i64,
                                 ElementType::i32, ElementType::u8, ElementType::boolean}) {
    Tensor tensor = make_tensor(type, {2, 3});
    for (std::size_t n = 0; n < tensor.storage->bytes().size(); ++n) tensor.data[n] = static_cast<std::byte>(n % 2);
    Result<OutputFile> file = OutputFile::create(dir.file("t.npy"));
    ASSERT_TRUE(file.ok());
    ASSERT_FALSE(write_npy(file.value(), tensor, NpyBf16::refuse));
    ASSERT_FALSE(file.value().commit());
    const auto source = open_file(dir.file("t.npy"));
    ASSERT_TRUE(source.ok());
    const Result<Tensor> read = read_npy(*source.value(), NpyBf16::refuse);
    ASSERT_TRUE(read.ok()) << read.failure().code;
    EXPECT_EQ(read.value().type, type);
    EXPECT_EQ(read.value().shape, tensor.shape);
    EXPECT_EQ(read.value().strides, (std::vector<std::int64_t>{3, 1}));
    EXPECT_EQ(values_of<char>(read.value()), values_of<char>(tensor)) << name(type);
  }
}

TEST(Npy, ScalarsVectorsAndEmptyTensorsRoundTrip) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {5}, {0, 3}, {1, 2, 3, 4}}) {
    const std::string preamble = npy_preamble("<f4", shape);
    EXPECT_EQ(preamble.size() % 64, 0U);
    const std::string data(static_cast<std::size_t>(*checked_count(shape, 4)) * 4, 'x');
    const Result<Tensor> read = read_npy_bytes(preamble + data);
    ASSERT_TRUE(read.ok()) << read.failure().found;
    EXPECT_EQ(read.value().shape, shape);
  }
}

TEST(Npy, FortranOrderIsAView) {
  const std::vector<float> stored = {1, 2, 3, 4, 5, 6};
  const std::string data(reinterpret_cast<const char*>(stored.data()), 24);
  const Result<Tensor> read = read_npy_bytes(npy_bytes(dict("<f4", "(2, 3)", "True"), data));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().strides, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(values_of<float>(read.value()), stored);
}

TEST(Npy, ReadsVersions2And3) {
  for (const int version : {2, 3}) EXPECT_TRUE(read_npy_bytes(npy_bytes(dict("<i4", "(1,)"), "abcd", version)).ok());
}

TEST(Npy, TwoByteElementsAreBf16OnlyWhenAsked) {
  for (const char* descr : {"<u2", "<V2", "|V2"}) {
    const std::string bytes = npy_bytes(dict(descr, "(2,)"), "abcd");
    const Result<Tensor> refused = read_npy_bytes(bytes);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.failure().code, "npy_dtype");
    EXPECT_NE(refused.failure().hint.find("--npy-bf16"), std::string::npos);
    const Result<Tensor> read = read_npy_bytes(bytes, NpyBf16::as_u2);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read.value().type, ElementType::bf16);
  }
}

TEST(Npy, Bf16IsWrittenOnlyWhenAsked) {
  const TempDir dir;
  Result<OutputFile> file = OutputFile::create(dir.file("t.npy"));
  ASSERT_TRUE(file.ok());
  const Tensor tensor = tensor_of<std::uint16_t>(ElementType::bf16, {2}, {1, 2});
  const Outcome refused = write_npy(file.value(), tensor, NpyBf16::refuse);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, "npy_dtype");
  EXPECT_FALSE(write_npy(file.value(), tensor, NpyBf16::as_u2));
}

TEST(Npy, HostileFilesEndInAClearFailure) {
  const std::string good = npy_bytes(dict("<f4", "(2,)"), "01234567");
  ASSERT_TRUE(read_npy_bytes(good).ok());
  const std::string huge = std::string("\x93NUMPY\x02", 7) + std::string(1, '\0') + le(0xffffffffU, 4) + "{";
  const std::vector<Hostile> rows = {
      {"empty file", "", "npy_truncated", 0},
      {"cut in the magic", good.substr(0, 5), "npy_truncated", 5},
      {"cut in the header", good.substr(0, 40), "npy_truncated", 40},
      {"cut in the data", good.substr(0, good.size() - 1), "npy_truncated", good.size() - 8},
      {"trailing garbage", good + "x", "npy_trailing_bytes", good.size() - 8},
      {"wrong magic", "PK" + good.substr(2), "npy_magic", 0},
      {"version 4", npy_bytes(dict("<f4", "(2,)"), "01234567", 4), "npy_version", 6},
      {"huge header", huge, "npy_header_size", 8},
      {"negative extent", npy_bytes(dict("<f4", "(-2,)"), ""), "npy_header", 0},
      {"extent over 63 bits", npy_bytes(dict("<f4", "(9223372036854775808,)"), ""), "npy_header", 0},
      {"product overflow", npy_bytes(dict("<f4", "(4294967296, 4294967296)"), ""), "npy_shape_overflow", 10},
      {"overflow behind a 0", npy_bytes(dict("<f4", "(0, 4294967296, 4294967296)"), ""), "npy_shape_overflow", 10},
      {"more than the file", npy_bytes(dict("<f4", "(1000000000000,)"), "0123"), "npy_truncated", 0},
      {"too many dimensions", npy_bytes(dict("|u1", "(1,1,1,1,1,1,1,1,1)"), "0"), "npy_header", 0},
      {"unknown dtype", npy_bytes(dict("<c8", "(1,)"), "01234567"), "npy_dtype", 10},
      {"big-endian", npy_bytes(dict(">f4", "(1,)"), "0123"), "npy_dtype", 10},
      {"object array", npy_bytes(dict("|O", "(1,)"), "01234567"), "npy_dtype", 10},
      {"structured dtype", npy_bytes("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "0123"),
       "npy_header", 20},
      {"key twice", npy_bytes("{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}", "0123"), "npy_header", 27},
      {"key missing", npy_bytes("{'descr': '<f4', 'shape': (1,)}", "0123"), "npy_header", 0},
      {"unknown key", npy_bytes("{'descr': '<f4', 'order': 1}", "0123"), "npy_header", 27},
      {"text after the dict", npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "0123"),
       "npy_header", 0},
      {"open string", npy_bytes("{'descr", ""), "npy_header", 0},
      {"nothing in the dict", npy_bytes("", ""), "npy_header", 10},
  };
  for (const Hostile& row : rows) {
    const Result<Tensor> read = read_npy_bytes(row.bytes);
    ASSERT_FALSE(read.ok()) << row.label;
    const Failure& failure = read.failure();
    EXPECT_EQ(failure.code, row.code) << row.label << ": " << failure.found;
    EXPECT_EQ(failure.exit, ExitCode::bad_file) << row.label;
    EXPECT_EQ(failure.file, "x.npy") << row.label;
    EXPECT_FALSE(failure.found.empty() || failure.allowed.empty()) << row.label;
    ASSERT_TRUE(failure.offset) << row.label;
    if (row.offset != 0) {
      EXPECT_EQ(*failure.offset, row.offset) << row.label;
    }
  }
}

}  // namespace
}  // namespace fovea::cli::testing
