// Names and sizes of the public enums.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include "fovea/fovea.h"

namespace {

TEST(Names, statuses_are_distinct_and_fit_the_code_field) {
  std::set<std::string> names;
  int known = 0;
  for (int status = 0; status < 128; ++status) {
    const std::string name = fovea_status_name(static_cast<fovea_status>(status));
    EXPECT_LT(name.size(), sizeof(fovea_error::code));
    if (name == "unknown_status") continue;
    ++known;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_GE(known, 34);
  EXPECT_STREQ(fovea_status_name(FOVEA_OK), "ok");
  EXPECT_STREQ(fovea_status_name(FOVEA_HEAD_RATIO), "head_ratio");
  EXPECT_STREQ(fovea_status_name(FOVEA_CONFIG), "config");
}

TEST(Names, every_status_of_the_header_is_called_as_it_is_spelt) {
  std::ifstream file(FOVEA_SOURCE_DIR "/include/fovea/fovea.h");
  int found = 0;
  for (std::string line; std::getline(file, line) && !line.starts_with("} fovea_status;");) {
    std::string name(40, '\0');
    int status = 0;
    if (std::sscanf(line.c_str(), " FOVEA_%39[A-Z_] = %d", name.data(), &status) != 2) continue;
    name.resize(name.find('\0'));
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(fovea_status_name(static_cast<fovea_status>(status)), name);
    ++found;
  }
  EXPECT_EQ(found, 34);
}

TEST(Names, dtypes) {
  struct Row {
    fovea_dtype dtype;
    const char* name;
    std::size_t size;
  };
  for (const Row& row : {Row{FOVEA_F32, "f32", 4}, Row{FOVEA_BF16, "bf16", 2}, Row{FOVEA_F16, "f16", 2},
                         Row{FOVEA_F64, "f64", 8}, Row{FOVEA_BOOL, "bool", 1}, Row{FOVEA_I32, "i32", 4}}) {
    EXPECT_STREQ(fovea_dtype_name(row.dtype), row.name);
    EXPECT_EQ(fovea_dtype_size(row.dtype), row.size);
  }
  for (const int number : {0, 7}) {
    EXPECT_STREQ(fovea_dtype_name(static_cast<fovea_dtype>(number)), "unknown");
    EXPECT_EQ(fovea_dtype_size(static_cast<fovea_dtype>(number)), 0U);
  }
}

TEST(Names, version_is_that_of_the_header) {
  const std::string expected = std::to_string(FOVEA_VERSION_MAJOR) + "." + std::to_string(FOVEA_VERSION_MINOR) + "." +
                               std::to_string(FOVEA_VERSION_PATCH);
  EXPECT_EQ(fovea_version(), expected);
}

}  // namespace
