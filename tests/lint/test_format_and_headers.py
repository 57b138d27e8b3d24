"""check_format and check_headers go red on one bad file and name it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from bad_tree import BadTree  # noqa: E402

import check_format  # noqa: E402
import check_headers  # noqa: E402


class Format(BadTree):
    def test_misformatted_file_is_named(self):
        self.write("src/core/good.cpp", "int f(int x) { return x; }\n")
        self.write("src/core/bad.cpp", "int  f( int x ){return x;}\n")
        self.assert_only(check_format.check, "src/core/bad.cpp:1: not clang-formatted")


class Headers(BadTree):
    def test_header_that_needs_another_first(self):
        self.write("src/core/good.h", "#pragma once\n#include <string>\ninline std::string f() { return {}; }\n")
        self.write("src/core/bad.h", "#pragma once\ninline std::string g() { return {}; }\n")
        self.assert_only(check_headers.check, "src/core/bad.h:1: does not compile alone as c++20")

    def test_header_that_a_source_includes_first_is_left_to_the_build(self):
        self.write("src/core/bad.h", "#pragma once\ninline std::string g() { return {}; }\n")
        self.write("src/core/other.cpp", '// x\n#include <string>\n#include "core/bad.h"\n')
        self.assert_only(check_headers.check, "src/core/bad.h:1: does not compile alone")
        self.write("src/core/bad.cpp", '// x\n#include "core/bad.h"\n')
        self.assert_only(check_headers.check)

    def test_header_with_a_warning(self):
        self.write("src/core/bad.h", "#pragma once\ninline int f(long x) { return x; }\n")
        self.assert_only(check_headers.check, "conversion")

    def test_public_header_is_c99(self):
        self.write("include/fovea/fovea.h", "#ifndef X\n#define X\nenum class Status { ok };\n#endif\n")
        self.assert_only(check_headers.check, "does not compile alone as c99")
