// explain and doctor: the buffer protocol, both formats, and what a refused call explains.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "select/problem_fields.h"
#include "unit/forward_case.h"

namespace fovea::test {
namespace {

using TextCall = std::function<fovea_status(char*, std::size_t*, fovea_error*)>;

std::string text_of(const TextCall& call) {
  std::size_t size = 0;
  EXPECT_EQ(call(nullptr, &size, nullptr), FOVEA_BUFFER_TOO_SMALL);
  std::string text(size, '?');
  EXPECT_EQ(call(text.data(), &size, nullptr), FOVEA_OK);
  EXPECT_EQ(size, text.size());
  EXPECT_EQ(text.back(), '\0');
  text.pop_back();
  EXPECT_EQ(text.find('\0'), std::string::npos);
  return text;
}

void expect_protocol(const TextCall& call) {
  fovea_error error{};
  error.struct_size = sizeof(error);
  EXPECT_EQ(call(nullptr, nullptr, &error), FOVEA_NULL_POINTER);
  EXPECT_EQ(refusal_fault(error, FOVEA_NULL_POINTER), "");
  std::size_t needed = 0;
  EXPECT_EQ(call(nullptr, &needed, &error), FOVEA_BUFFER_TOO_SMALL);
  EXPECT_EQ(refusal_fault(error, FOVEA_BUFFER_TOO_SMALL), "");
  std::string small(needed - 1, '?');
  std::size_t size = small.size();
  EXPECT_EQ(call(small.data(), &size, &error), FOVEA_BUFFER_TOO_SMALL);
  EXPECT_EQ(size, needed);
  EXPECT_EQ(small, std::string(needed - 1, '?')) << "a buffer that is too small was written";
  std::string large(needed + 8, '?');
  size = large.size();
  EXPECT_EQ(call(large.data(), &size, &error), FOVEA_OK);
  EXPECT_EQ(size, needed);
  EXPECT_EQ(large.substr(needed), "????????");
}

class Reports : public testing::Test {
 protected:
  TextCall explain(std::int32_t format) {
    return [this, format](char* buffer, std::size_t* size, fovea_error* error) {
      return fovea_explain(context_.get(), &case_.args, format, buffer, size, error);
    };
  }
  TextCall doctor(std::int32_t format) {
    return [this, format](char* buffer, std::size_t* size, fovea_error* error) {
      return fovea_doctor(context_.get(), format, buffer, size, error);
    };
  }

  ContextPtr context_ = make_context();
  ForwardCase case_;
};

TEST_F(Reports, buffer_protocol) {
  for (const fovea_format format : {FOVEA_TEXT, FOVEA_JSON}) {
    expect_protocol(explain(format));
    expect_protocol(doctor(format));
  }
}

TEST_F(Reports, unknown_format_is_refused) {
  std::size_t size = 0;
  constexpr std::int32_t format = 7;
  EXPECT_EQ(explain(format)(nullptr, &size, &case_.error), FOVEA_UNKNOWN_FLAG);
  EXPECT_EQ(refusal_fault(case_.error, FOVEA_UNKNOWN_FLAG), "");
  EXPECT_EQ(doctor(format)(nullptr, &size, &case_.error), FOVEA_UNKNOWN_FLAG);
}

TEST_F(Reports, explain_json_tells_the_whole_chain) {
  case_.args.flags = FOVEA_FLAG_CAUSAL;
  const auto json = nlohmann::json::parse(text_of(explain(FOVEA_JSON)));
  EXPECT_EQ(json["choice"], "cpu_fwd_f32");
  EXPECT_EQ(json["problem"]["seqlen_kv"], 5);
  EXPECT_EQ(json["problem"]["causal"], true);
  EXPECT_EQ(json["problem"]["q_layout"], "dense");
  EXPECT_GT(json["plan"]["tile_m"], 0);
  ASSERT_EQ(json["verdicts"].size(), 2U);
  EXPECT_EQ(json["verdicts"][0]["refusal"]["code"], "dtype");
  EXPECT_EQ(json["verdicts"][1]["served"], true);
  std::size_t fields = 0;
  visit_fields(static_cast<const Problem&>(Problem{}), [&](std::string_view name, const auto&) {
    EXPECT_TRUE(json["problem"].contains(std::string(name))) << name;
    ++fields;
  });
  EXPECT_EQ(json["problem"].size(), fields + 1) << "every field and the digest";
}

TEST_F(Reports, explain_text_names_problem_verdicts_choice_and_plan) {
  const std::string text = text_of(explain(FOVEA_TEXT));
  for (const char* part : {"problem  ", "verdict  cpu_fwd_amx_bf16: refused", "verdict  cpu_fwd_f32: served",
                           "choice   cpu_fwd_f32", "plan     "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " not in\n" << text;
  }
}

TEST_F(Reports, explain_shows_a_slow_path) {
  case_.args.q.shape[3] = case_.args.k.shape[3] = 4;
  case_.args.q.strides[3] = case_.args.k.strides[3] = 2;
  const auto json = nlohmann::json::parse(text_of(explain(FOVEA_JSON)));
  EXPECT_EQ(json["verdicts"][1]["slow"], true);
  EXPECT_NE(json["verdicts"][1]["note"], "");
  EXPECT_NE(text_of(explain(FOVEA_TEXT)).find("served, slow"), std::string::npos);
}

TEST_F(Reports, explain_of_a_call_that_nothing_serves) {
  case_.args.backend = FOVEA_BACKEND_CUDA;
  const auto json = nlohmann::json::parse(text_of(explain(FOVEA_JSON)));
  EXPECT_TRUE(json["choice"].is_null());
  EXPECT_EQ(json["refusal"]["code"], "no_backend");
  EXPECT_NE(text_of(explain(FOVEA_TEXT)).find("choice   none: no_backend"), std::string::npos);
}

TEST_F(Reports, explain_of_a_malformed_call_is_its_refusal) {
  case_.args.num_splits = -4;
  std::size_t size = 0;
  EXPECT_EQ(explain(FOVEA_TEXT)(nullptr, &size, &case_.error), FOVEA_SPLITS);
  EXPECT_TRUE(case_.outputs_untouched());
}

TEST_F(Reports, doctor_tells_targets_threads_and_drivers) {
  const auto json = nlohmann::json::parse(text_of(doctor(FOVEA_JSON)));
  EXPECT_EQ(json["version"], fovea_version());
  EXPECT_EQ(json["num_threads"], 2);
  EXPECT_GE(json["cpu"]["cores"], 1);
  EXPECT_NE(json["cpu"]["simd_target"], "");
  EXPECT_EQ(json["cuda"]["usable"], false);
  EXPECT_NE(json["cuda"]["reason"], "");
  EXPECT_EQ(json["cpu"]["amx_bf16"].get<bool>(), json["cpu"]["amx_reason"] == "");
  EXPECT_EQ(json["kernels"].size(), 4U);
  EXPECT_NE(text_of(doctor(FOVEA_TEXT)).find("threads   2"), std::string::npos);
}

}  // namespace
}  // namespace fovea::test
