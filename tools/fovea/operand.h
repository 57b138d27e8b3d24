// The inputs of a forward call as a table, so that options, files and views treat all of them alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fovea/fovea.h"

namespace fovea::cli {

// rows: [.., S, H, D]; score: broadcast to [B, H, Sq, Sk]; head: [Hq]; index: int32.
enum class OperandKind : std::uint8_t { rows, score, head, index };

struct OperandInfo {
  std::string_view name;  // in safetensors files; the option is the same with dashes
  std::string_view help;
  OperandKind kind;
  fovea_tensor fovea_forward_args::*member;
};

inline constexpr std::array<OperandInfo, 11> kOperands = {{
    {"q", "queries", OperandKind::rows, &fovea_forward_args::q},
    {"k", "keys", OperandKind::rows, &fovea_forward_args::k},
    {"v", "values", OperandKind::rows, &fovea_forward_args::v},
    {"mask", "bool, true = visible", OperandKind::score, &fovea_forward_args::mask},
    {"bias", "added to the scores", OperandKind::score, &fovea_forward_args::bias},
    {"sink", "f32 [Hq], a logit per head", OperandKind::head, &fovea_forward_args::sink},
    {"cu_seqlens_q", "int [B+1], row offsets of packed q", OperandKind::index, &fovea_forward_args::cu_seqlens_q},
    {"cu_seqlens_kv", "int [B+1], row offsets of packed k, v", OperandKind::index, &fovea_forward_args::cu_seqlens_kv},
    {"seqused_q", "int [B], used query rows", OperandKind::index, &fovea_forward_args::seqused_q},
    {"seqused_kv", "int [B], used keys", OperandKind::index, &fovea_forward_args::seqused_kv},
    {"page_table", "int [B, max_pages]", OperandKind::index, &fovea_forward_args::page_table},
}};

inline constexpr std::size_t kQ = 0, kK = 1, kV = 2, kCuSeqlensQ = 6, kCuSeqlensKv = 7;
static_assert(kOperands[kQ].name == "q" && kOperands[kV].name == "v" &&
              kOperands[kCuSeqlensKv].name == "cu_seqlens_kv");

inline std::string option_name(const OperandInfo& operand) {
  std::string name = "--";
  for (const char c : operand.name) name += c == '_' ? '-' : c;
  return name;
}

}  // namespace fovea::cli
