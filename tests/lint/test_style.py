"""check_style goes red on each rule, and stays green beside it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from bad_tree import BadTree  # noqa: E402

import check_style  # noqa: E402

CLEAN = """// What it is.
#include <string>
namespace fovea {
constexpr int kLimit = 3;
static const char* const kName = "getenv TODO int g_x = 0;";
struct Value {
  int x = 0;
};
int twice(int x) {
  static const int kTwo = 2;
  int result = kTwo * x;
  auto lambda = [&](int y) { return result + y; };
  return lambda(0);
}
}  // namespace fovea
"""


class Style(BadTree):
    def test_clean_file_passes(self):
        self.write("src/core/good.cpp", CLEAN.replace("getenv TODO ", ""))
        self.assert_only(check_style.check)

    def test_missing_opening_comment(self):
        self.write("src/core/bad.cpp", "int f();\n")
        self.write("tools/bad.py", "import os\n")
        self.write("src/CMakeLists.txt", "add_library(x)\n")
        self.assert_only(check_style.check, *["does not open with a comment"] * 3)

    def test_long_line(self):
        self.write("src/core/bad.cpp", "// x\n// " + "y" * 118 + "\n")
        self.assert_only(check_style.check, "bad.cpp:2: 121 columns")

    def test_long_file(self):
        self.write("src/core/bad.cpp", "// x\n" * 401)
        self.assert_only(check_style.check, "401 lines; 400 at most")

    def test_long_function(self):
        body = "  work();\n"
        self.write("src/core/good.cpp", "// x\nint f(int a,\n      int b) {\n" + body * 57 + "}\n")
        self.write("src/core/bad.cpp", "// x\nint f(int a,\n      int b) {\n" + body * 58 + "}\n")
        self.assert_only(check_style.check, "bad.cpp:2: f has 61 lines; 60 at most")

    def test_long_function_with_a_reason(self):
        body = "int f() {\n" + "  work();\n" * 70 + "}\n"
        self.write("src/core/good.cpp", "// x\n\n// Rows.\n// Long on purpose: a table.\n" + body)
        self.write("src/core/bad.cpp", "// x\n\n// Long on purpose:\n" + body)
        self.assert_only(check_style.check, "bad.cpp:4: f has 72 lines")

    def test_device_functions_may_be_longer(self):
        self.write("device/base/good.h", "// x\nint f() {\n" + "  work();\n" * 78 + "}\n")
        self.write("device/base/bad.h", "// x\nint f() {\n" + "  work();\n" * 79 + "}\n")
        self.assert_only(check_style.check, "bad.h:2: f has 81 lines; 80 at most")

    def test_phrases(self):
        self.write("src/core/bad.cpp", "// x\n// Must match the table\n// keep in sync\n// TODO later\n")
        self.assert_only(check_style.check, "Must match", "keep in sync", "TODO")

    def test_environment(self):
        read = "// x\nconst char* f() { return std::getenv(name); }\n"
        self.write("src/core/config.cpp", read)
        self.write("src/api/bad.cpp", read)
        self.assert_only(check_style.check, "src/api/bad.cpp:2: reads the environment")

    def test_mutable_statics(self):
        self.write(
            "src/core/bad.cpp",
            "// x\nint g_calls = 0;\nint f() {\n  static int calls = 0;\n  thread_local std::string text;\n"
            "  return ++calls;\n}\nstruct S {\n  static inline int count = 0;\n  int member = 0;\n};\n",
        )
        found = ["bad.cpp:2", "bad.cpp:4", "bad.cpp:5", "bad.cpp:9"]
        self.assert_only(check_style.check, *[f"{place}: mutable static state" for place in found])

    def test_machine_path(self):
        path = "/" + "home/someone/build"
        self.write("docs/bad.md", f"# x\nRun `{path}/fovea`.\n")
        self.assert_only(check_style.check, f"docs/bad.md:2: a path of one machine: {path}")
