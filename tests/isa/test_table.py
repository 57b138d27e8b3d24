"""The two sides of the contract agree, generated files are fresh, and the checks that say so can fail."""

import subprocess
import sys
import unittest

import probes

import isa_table


class Table(unittest.TestCase):
    def run_script(self, name):
        command = [sys.executable, str(probes.ROOT / "scripts" / name), "--check"]
        result = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_both_sides_alike_and_docs_fresh(self):
        self.run_script("isa_table.py")

    def test_wgmma_text_fresh(self):
        self.run_script("isa_wgmma.py")

    def test_every_function_can_be_probed(self):
        for function in probes.functions():
            self.assertTrue(probes.calls(function), function.name)


class TableCanFail(unittest.TestCase):
    TEXT = "// Warp: shfl.sync, sm_80.\nFOVEA_INLINE u32 f(u32 v, SmemPtr) {\n  asm(\"%s %%0;\");\n}\n"

    def parse(self, opcode="shfl.sync.b32", text=TEXT):
        return list(isa_table.parse("warp", text % opcode))

    def test_alike(self):
        self.assertEqual(isa_table.differences(self.parse(), self.parse()), [])
        self.assertEqual(list(isa_table.untold(self.parse())), [])

    def test_parameter_type_differs(self):
        other = self.parse(text=self.TEXT.replace("u32 v", "i32 v"))
        self.assertEqual(len(isa_table.differences(self.parse(), other)), 2)

    def test_result_type_differs(self):
        other = self.parse(text=self.TEXT.replace("INLINE u32", "INLINE i32"))
        self.assertEqual(len(isa_table.differences(self.parse(), other)), 2)

    def test_missing_function(self):
        self.assertEqual(len(isa_table.differences(self.parse(), [])), 1)

    def test_wrong_instruction_under_a_section(self):
        self.assertEqual(len(list(isa_table.untold(self.parse("vote.sync.any")))), 1)

    def test_no_section(self):
        functions = self.parse(text=self.TEXT.split("\n", 1)[1])
        self.assertIn("no section comment", next(isa_table.untold(functions)))

    def test_details_are_no_contract(self):
        text = "namespace detail {\n" + self.TEXT + "}  // namespace detail\n"
        self.assertEqual(self.parse(text=text), [])


if __name__ == "__main__":
    unittest.main()
