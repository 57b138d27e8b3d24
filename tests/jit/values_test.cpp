// Stubs, targets, logs, hashes and bundles: values without files or compilers.
#include <gtest/gtest.h>

#include <array>

#include "core/text.h"
#include "jit/nvrtc_compiler.h"
#include "jit/sha256.h"
#include "jit/stub.h"
#include "jit/target.h"
#include "jit/toy.h"

namespace fovea::testing {
namespace {

TEST(Stub, IsTheTextThatArchitecturePromises) {
  const KernelSource source{.header = "kernels/fwd_mma.h",
                            .spec_expr = "{.tile_m = 128}",
                            .spec_type = "fovea::FwdSpec",
                            .params_type = "fovea::FwdParams",
                            .kernel = "fwd_mma",
                            .digest = 0xacafce607d876e32ULL,
                            .smem_bytes = 98304,
                            .threads = 128,
                            .min_ctas = 2};
  const std::string gpu =
      "#include \"kernels/fwd_mma.h\"\n"
      "constexpr fovea::FwdSpec kSpec{.tile_m = 128};\n"
      "static_assert(digest(kSpec) == 0xacafce607d876e32ULL, \"host and device disagree on the spec\");\n"
      "static_assert(plan_smem(kSpec).bytes == 98304, \"host and device disagree on shared memory\");\n"
      "FOVEA_ENTRY(128, 2) fovea_entry(FOVEA_GRID_CONSTANT fovea::FwdParams p) "
      "{ fovea::kernels::fwd_mma<kSpec>(p); }\n";
  EXPECT_EQ(stub(source, Target::Kind::gpu), gpu);
  EXPECT_EQ(stub(source, Target::Kind::model), gpu + "FOVEA_MODEL_MODULE(fovea_entry, fovea::FwdParams);\n");
}

TEST(Target, NamesReadBack) {
  for (const char* text : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a"}) {
    const Result<Target> target = parse_target(text);
    ASSERT_TRUE(target.ok()) << text;
    EXPECT_EQ(name(target.value()), text);
  }
  EXPECT_EQ(parse_target("sm_90").value(), parse_target("sm_90a").value());
  EXPECT_EQ(name(Target{.kind = Target::Kind::model, .sm = 0}), "model");
}

TEST(Target, RefusesWhatIsNone) {
  for (const char* text :
       {"", "sm_", "sm_a", "sm_75", "sm_80a", "sm_9", "sm_999", "90", "sm_90b", "sm_90aa", "sm_-90"}) {
    const Result<Target> target = parse_target(text);
    ASSERT_FALSE(target.ok()) << text;
    EXPECT_NE(target.error().asked.find(text), std::string::npos);
  }
}

// FIPS 180-4 example vectors, and lengths around the padding's edges against one update per byte.
TEST(ResourceText, IsAbsentWhereTheLogHasNone) {
  const std::string log = "ptxas info    : 0 bytes gmem\nptxas info    : Used 10 registers, 368 bytes cmem[0]\n";
  EXPECT_EQ(resource_text(log), log);
  EXPECT_EQ(resource_text(""), std::nullopt);
  EXPECT_EQ(resource_text("stub.cu(3): warning: variable was set but never used\n"), std::nullopt);
}

TEST(Sha256, KnownVectors) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1000000, 'a'))), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PartsDoNotMatter) {
  for (std::size_t length = 0; length < 200; ++length) {
    const std::string text(length, 'x');
    Sha256 bytewise;
    for (const char& c : text) bytewise.update({&c, 1});
    EXPECT_EQ(hex(bytewise.finish()), hex(sha256(text))) << length;
  }
}

TEST(Sha256, FieldsDoNotRunTogether) {
  Sha256 left;
  Sha256 right;
  left.field("ab"), left.field("c");
  right.field("a"), right.field("bc");
  EXPECT_NE(hex(left.finish()), hex(right.finish()));
}

TEST(Bundle, HashFollowsEveryPathAndText) {
  const std::string hash = Bundle({{"a", "1"}, {"b", "2"}}).hash();
  EXPECT_EQ(hash, Bundle({{"a", "1"}, {"b", "2"}}).hash());
  EXPECT_NE(hash, Bundle({{"a", "1"}, {"b", "3"}}).hash());
  EXPECT_NE(hash, Bundle({{"a", "1"}, {"c", "2"}}).hash());
  EXPECT_NE(hash, Bundle(std::vector<BundleFile>{{"a", "1"}}).hash());
}

TEST(Bundle, IncludeNamesUseTheLongestRoot) {
  constexpr std::array<std::string_view, 2> roots{"device/", "device/isa_ptx/"};
  EXPECT_EQ(include_name("device/isa_ptx/isa/mma.h", roots), "isa/mma.h");
  EXPECT_EQ(include_name("device/base/types.h", roots), "base/types.h");
  EXPECT_EQ(include_name("model/isa/mma.h", roots), "");
}

TEST(Bundle, EmbedsTheDeviceTree) {
  const Bundle bundle = embedded_bundle();
  bool found = false;
  for (const BundleFile& file : bundle.files()) {
    const auto text = read_file(cat(FOVEA_SOURCE_DIR "/", file.path), 1U << 20U);
    ASSERT_TRUE(text.has_value()) << file.path;
    EXPECT_EQ(view(*text), file.text) << file.path;
    found = found || file.path == "device/base/types.h";
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace fovea::testing
