#!/usr/bin/env python3
"""check_library.py can fail: small shared libraries with each fault go red. test_check_library.py C_COMPILER."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_library

COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 else "cc"
HEADER = "/* FOVEA_API void fovea_commented(void); */\nFOVEA_API const char* fovea_version(void);\n"


class CheckLibrary(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name)
        self.header = self.directory / "fovea.h"
        self.header.write_text(HEADER)

    def library(self, source, name="libfovea.so", link=()):
        path = self.directory / name
        code = self.directory / "library.c"
        code.write_text(source)
        flags = ["-shared", "-fPIC", f"-Wl,-soname,{name}", "-Wl,--no-as-needed"]
        subprocess.run([COMPILER, *flags, str(code), "-o", str(path), *link], check=True)
        return str(path)

    def test_clean_library_passes(self):
        library = self.library('const char* fovea_version(void) { return "1"; }')
        self.assertEqual(check_library.check_symbols(library, self.header), [])
        self.assertEqual(check_library.check_dependencies(library, self.header), [])

    def test_extra_and_missing_symbols_are_named(self):
        library = self.library("int fovea_extra(void) { return 1; }")
        problems = check_library.check_symbols(library, self.header)
        self.assertEqual(problems, ["declared, not exported: fovea_version", "exported, not declared: fovea_extra"])

    def test_foreign_symbols_are_named(self):
        library = self.library("int cuInit(int); int Py_IsInitialized(void);\n"
                               "int fovea_version(void) { return cuInit(0) + Py_IsInitialized(); }")
        problems = check_library.check_dependencies(library, self.header)
        self.assertEqual(problems, ["imports the symbol Py_IsInitialized", "imports the symbol cuInit"])

    def test_foreign_library_is_named(self):
        cuda = self.library("int anything(void) { return 1; }", name="libcudart.so.12")
        library = self.library("int fovea_version(void) { return 1; }", link=[cuda])
        problems = check_library.check_dependencies(library, self.header)
        self.assertEqual(problems, ["needs the library libcudart.so.12"])


if __name__ == "__main__":
    unittest.main()
