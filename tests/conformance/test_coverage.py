"""Every function of the contract is run by a conformance kernel, or is named here with the reason why not."""

import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import isa_table  # noqa: E402

NOT_RUN = {
    r"trap": "ends the launch",
    r"undefined|set_role": "no instruction, no result",
    r"wgmma_fence_operand": "for the compiler only",
    "nctaid_x": "dependent on the size of the recording",
}


class Coverage(unittest.TestCase):
    def setUp(self):
        self.text = "".join(path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*.h")))
        self.functions = {function.name for function in isa_table.read(ROOT, isa_table.PTX)}

    def runs(self, name):
        return re.search(rf"\bisa::{name}\b", self.text) is not None

    def test_every_function_is_run(self):
        missing = [name for name in sorted(self.functions) if not self.runs(name) and not self.excused(name)]
        self.assertEqual(missing, [])

    def test_every_excuse_is_needed(self):
        for pattern in NOT_RUN:
            self.assertTrue(any(re.fullmatch(pattern, name) for name in self.functions), pattern)

    def excused(self, name):
        return any(re.fullmatch(pattern, name) for pattern in NOT_RUN)


if __name__ == "__main__":
    unittest.main()
