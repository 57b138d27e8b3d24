// Instance: the memory of one Case. Owns every tensor, each in an allocation of its own that ends with its last element
// (a sanitizer sees any overread); outputs start as NaN with canary margins around them.
// An input element depends on the seed and its logical coordinates alone, never on layout or strides: the same case in
// another layout holds the same numbers. What the result should be is run.h's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cases/case.h"
#include "cases/device_call.h"
#include "cases/geometry.h"
#include "cases/placement.h"

namespace fovea::cases {

// One allocation of exactly the bytes asked for.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes), data_(std::make_unique<std::byte[]>(bytes)) {}
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte[]> data_;
};

class Instance {
 public:
  explicit Instance(const Case& c);

  const Case& of() const { return case_; }
  const Geometry& geometry() const { return geometry_; }
  const fovea_forward_args& args() const { return args_; }
  fovea_forward_args& args() { return args_; }

  // Elements of row i of batch entry b (not of storage); key j likewise. Outputs read, inputs may be overwritten.
  double out(std::int64_t b, std::int64_t i, std::int64_t h, std::int64_t d) const;
  double lse(std::int64_t b, std::int64_t h, std::int64_t i) const;
  double k(std::int64_t b, std::int64_t j, std::int64_t h, std::int64_t d) const;
  double v(std::int64_t b, std::int64_t j, std::int64_t h, std::int64_t d) const;
  void set_k(std::int64_t b, std::int64_t j, std::int64_t h, std::int64_t d, double value);
  void set_v(std::int64_t b, std::int64_t j, std::int64_t h, std::int64_t d, double value);
  // Element (b, h, i, j) of the extents of the view.
  void set_mask(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, bool visible);
  void set_bias(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, double value);

  // All memory of the case, margins and gaps included: what a copy on another device must hold.
  std::vector<HostRange> ranges();

  // NaN of a pattern of its own into all storage of out and lse, margins included.
  void reset_outputs();
  // Empty when every element of out and lse was written and nothing else was: not their margins and gaps, not rows
  // outside all sequences, not an input. Otherwise says what. Call seal() first if inputs were overwritten.
  std::string untouched_violation() const;
  void seal() { sealed_ = input_digest(); }

 private:
  struct Output {
    Placement place;
    Extents extents;
    std::size_t buffer = 0;
    fovea_dtype dtype = FOVEA_F32;
  };
  struct Storage {
    std::byte* data = nullptr;
    std::size_t buffer = 0;
  };

  // materialize.cpp: inputs
  void make_q();
  void make_kv();
  void make_score_operands();
  void make_indices();
  void make_options();
  Storage allocate(fovea_dtype dtype, std::int64_t elements, bool input);
  void fill_keys(const fovea_tensor& t, bool values);
  fovea_tensor score_operand(bool bias);
  fovea_tensor indices(const std::vector<std::int32_t>& values);
  std::byte* key_address(const fovea_tensor& t, std::int64_t b, std::int64_t j, std::int64_t h, std::int64_t d) const;

  // outputs.cpp
  void make_outputs();
  fovea_tensor make_output(Output& output, fovea_dtype dtype, Strides strides, const Extents& extents);
  std::string check_output(const Output& output, const char* name) const;
  std::uint64_t input_digest() const;

  Case case_;
  Geometry geometry_;
  fovea_forward_args args_{};
  std::vector<Buffer> buffers_;
  std::vector<std::size_t> inputs_;  // indices into buffers_
  Output out_, lse_;
  std::uint64_t sealed_ = 0;
};

}  // namespace fovea::cases
