"""The ctypes mirror against the C compiler: sizes, offsets and constants as `cc` sees them in fovea.h.

Needs a C compiler; needs neither the library, nor numpy, nor torch.
"""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "ctypes"))

import c_header  # noqa: E402
import fovea_abi as abi  # noqa: E402


def layout_seen_by_c(structs, constants):
    """{"sizeof fovea_error": n, "offsetof fovea_error.code": n, "FOVEA_OK": n, ...} as the compiler prints them."""
    lines = ["#include <stdio.h>", "#include <stddef.h>", '#include "fovea/fovea.h"', "int main(void) {"]

    def show(label, expression):
        lines.append(f'  printf("%lld\\t{label}\\n", (long long)({expression}));')

    for name, struct in structs.items():
        show(f"sizeof {name}", f"sizeof({name})")
        for field, _ in struct._fields_:
            show(f"offsetof {name}.{field}", f"offsetof({name}, {field})")
            show(f"sizeof {name}.{field}", f"sizeof((({name}*)0)->{field})")
    for name in constants:
        show(name, name)
    lines.append("  return 0;\n}")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "layout.c"
        program = pathlib.Path(folder) / "layout"
        source.write_text("\n".join(lines))
        compiler = os.environ.get("CC", "cc")
        command = [compiler, "-std=c99", "-Wall", "-Werror", f"-I{ROOT / 'include'}", str(source), "-o", str(program)]
        subprocess.run(command, check=True)
        text = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return {label: int(value) for value, label in (line.split("\t") for line in text.splitlines())}


class MirrorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.structs = abi.HEADER.structs
        cls.constants = abi.HEADER.constants
        cls.seen = layout_seen_by_c(cls.structs, cls.constants)

    def test_structs(self):
        expected = {"fovea_error", "fovea_tensor", "fovea_context_args", "fovea_forward_args", "fovea_merge_args"}
        expected.add("fovea_warmup_result")
        self.assertEqual(expected, set(self.structs))
        for name, struct in self.structs.items():
            self.assertEqual(self.seen[f"sizeof {name}"], ctypes.sizeof(struct), name)
            end = 0
            for field, _ in struct._fields_:
                descriptor = getattr(struct, field)
                self.assertEqual(self.seen[f"offsetof {name}.{field}"], descriptor.offset, f"{name}.{field}")
                self.assertEqual(self.seen[f"sizeof {name}.{field}"], descriptor.size, f"{name}.{field}")
                self.assertLess(descriptor.offset - end, 8, f"a field of {name} before {field} is missing")
                end = descriptor.offset + descriptor.size
            self.assertLess(ctypes.sizeof(struct) - end, 8, f"a last field of {name} is missing")

    def test_constants(self):
        self.assertGreater(len(self.constants), 50)
        for name, value in self.constants.items():
            self.assertEqual(self.seen[name], value, name)

    def test_names(self):
        self.assertEqual({"f32", "bf16", "f16", "f64", "bool", "i32"}, set(abi.DTYPES))
        self.assertEqual({"auto", "cpu", "cuda", "model"}, set(abi.BACKENDS))
        self.assertIn("causal", abi.FLAGS)

    def test_operands_are_the_tensor_fields(self):
        fields = tuple(name for name, kind in abi.ForwardArgs._fields_ if kind is abi.Tensor)
        self.assertEqual(abi.OPERANDS, fields)


class HeaderReaderTest(unittest.TestCase):
    def test_reads_what_it_claims(self):
        header = c_header.Header(
            "#define N 3\n/* enum { COMMENT = 7 }; */ typedef enum e { A, B = 4, C } e;\nenum { F = 1u << 5 };\n"
            "typedef struct s { int32_t a, b; char text[N]; void* data; } s;\n"
            "typedef struct t { const s* list; s one; } t;"
        )
        self.assertEqual({"N": 3, "A": 0, "B": 4, "C": 5, "F": 32}, header.constants)
        self.assertEqual([name for name, _ in header.structs["s"]._fields_], ["a", "b", "text", "data"])
        self.assertIs(header.structs["t"]._fields_[1][1], header.structs["s"])

    def test_refuses_what_it_cannot_read(self):
        for text in ("enum { A = B | C };", "struct s { int x : 3; };", "struct s { int (*f)(int); };"):
            with self.assertRaises((ValueError, KeyError), msg=text):
                c_header.Header(text)


if __name__ == "__main__":
    unittest.main()
