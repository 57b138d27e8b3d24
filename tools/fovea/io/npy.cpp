// Reads the preamble with bounded sizes, compares the size that the header promises with the file, then reads the data.
// Nothing is allocated for a header that the file cannot honour.
#include "tools/fovea/io/npy.h"

#include <array>
#include <cstring>
#include <utility>

#include "tools/fovea/io/npy_header.h"

namespace fovea::cli {
namespace {

constexpr std::array<unsigned char, 6> kMagic = {0x93, 'N', 'U', 'M', 'P', 'Y'};
constexpr std::uint64_t kMaxDict = 65535;  // what version 1 can say; real headers have about 100 bytes

struct Preamble {
  std::string dict;
  std::uint64_t dict_offset = 0;
  std::uint64_t data_offset = 0;
};

Result<Preamble> read_preamble(const ByteSource& source) {
  std::array<std::byte, 12> head{};
  const std::uint64_t size = source.size();
  if (size < 10) {
    return source.failure("npy_truncated", size, "a file of " + std::to_string(size) + " bytes",
                          "at least 10 bytes: magic, version, header length");
  }
  const std::size_t have = size < head.size() ? 10 : head.size();
  if (Outcome bad = source.read(0, std::span(head).first(have))) return *bad;
  if (std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0) {
    return source.failure("npy_magic", 0, "other bytes", "the six bytes \\x93NUMPY", "this is not an .npy file");
  }
  const int major = std::to_integer<int>(head[6]);
  if (major < 1 || major > 3 || head[7] != std::byte{0}) {
    return source.failure("npy_version", 6, std::to_string(major) + "." + std::to_string(std::to_integer<int>(head[7])),
                          "1.0, 2.0 or 3.0");
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  std::uint64_t length = 0;
  for (std::size_t n = 0; n < length_bytes; ++n) length |= std::to_integer<std::uint64_t>(head[8 + n]) << (8 * n);
  Preamble preamble{.dict = {}, .dict_offset = 8 + length_bytes, .data_offset = 8 + length_bytes + length};
  if (length > kMaxDict) {
    return source.failure("npy_header_size", 8, std::to_string(length) + " bytes of header",
                          "at most " + std::to_string(kMaxDict));
  }
  if (preamble.data_offset > size) {
    return source.failure("npy_truncated", size, "a file of " + std::to_string(size) + " bytes",
                          "a header that ends at byte " + std::to_string(preamble.data_offset));
  }
  preamble.dict.resize(static_cast<std::size_t>(length));
  if (Outcome bad = source.read(preamble.dict_offset, std::as_writable_bytes(std::span(preamble.dict)))) return *bad;
  return preamble;
}

std::optional<ElementType> element_type(const std::string& descr, NpyBf16 bf16) {
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::i64,
                                 ElementType::i32, ElementType::u8, ElementType::boolean}) {
    if (descr == npy_descr(type)) return type;
  }
  const bool two_bytes = descr == "<u2" || descr == "<V2" || descr == "|V2";
  if (two_bytes && bf16 == NpyBf16::as_u2) return ElementType::bf16;
  return std::nullopt;
}

Failure bad_dtype(const ByteSource& source, std::uint64_t offset, const std::string& descr) {
  const bool two_bytes = descr == "<u2" || descr == "<V2" || descr == "|V2";
  return source.failure("npy_dtype", offset, "descr '" + descr + "'", "<f2 <f4 <f8 <i4 <i8 |u1 |b1",
                        two_bytes ? "NumPy has no bf16, so two-byte elements could be anything"
                                  : "big-endian, complex, text, object and structured arrays are not read",
                        two_bytes ? "pass --npy-bf16 to read them as bf16, or use safetensors" : "");
}

}  // namespace

Result<Tensor> read_npy(const ByteSource& source, NpyBf16 bf16) {
  Result<Preamble> read = read_preamble(source);
  if (!read.ok()) return read.failure();
  const Preamble& preamble = read.value();
  const auto parsed = parse_npy_dict(preamble.dict);
  if (const auto* fault = std::get_if<NpyDictFault>(&parsed)) {
    return source.failure("npy_header", preamble.dict_offset + fault->position, fault->found, fault->allowed);
  }
  const NpyHeader& header = std::get<NpyHeader>(parsed);
  const std::optional<ElementType> type = element_type(header.descr, bf16);
  if (!type) return bad_dtype(source, preamble.dict_offset, header.descr);
  const std::optional<std::int64_t> count = checked_count(header.shape, element_size(*type));
  if (!count) {
    return source.failure("npy_shape_overflow", preamble.dict_offset, "shape " + shape_text(header.shape),
                          "a tensor of less than 2^63 bytes");
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(*count) * element_size(*type);
  const std::uint64_t present = source.size() - preamble.data_offset;
  if (present != bytes) {
    return source.failure(
        present < bytes ? "npy_truncated" : "npy_trailing_bytes", preamble.data_offset,
        std::to_string(present) + " bytes of data",
        std::to_string(bytes) + " bytes for shape " + shape_text(header.shape) + " of " + header.descr);
  }
  Tensor tensor{.type = *type,
                .shape = header.shape,
                .strides = dense_strides(header.shape, header.fortran_order),
                .storage = Buffer::allocate(bytes),
                .data = nullptr};
  if (!tensor.storage) {
    return source.failure("out_of_memory", preamble.data_offset, std::to_string(bytes) + " bytes",
                          "what fits this machine's memory");
  }
  tensor.data = tensor.storage->data();
  if (Outcome bad = source.read(preamble.data_offset, tensor.storage->bytes())) return *bad;
  return tensor;
}

Outcome write_npy(OutputFile& file, const Tensor& tensor, NpyBf16 bf16) {
  std::string_view descr = npy_descr(tensor.type);
  if (descr.empty() && bf16 == NpyBf16::as_u2) descr = "<u2";
  if (descr.empty()) {
    return Failure{.exit = ExitCode::usage,
                   .code = "npy_dtype",
                   .found = "a bf16 tensor for an .npy file",
                   .allowed = "f16, f32, f64",
                   .why = "NumPy has no bf16",
                   .hint = "name the output *.safetensors, pass --out-dtype f32, or --npy-bf16 to write uint16 bits",
                   .file = file.path(),
                   .offset = {}};
  }
  const std::string preamble = npy_preamble(descr, tensor.shape);
  if (Outcome bad = file.write(std::as_bytes(std::span(preamble)))) return bad;
  return file.write(tensor.storage->bytes());
}

}  // namespace fovea::cli
