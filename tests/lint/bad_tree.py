"""A scratch tree for the lints' tests: the real rules, and files that each test writes."""

import pathlib
import shutil
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class BadTree(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        for name in ("scripts/lint/layers.toml", ".clang-format"):
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def messages(self, check):
        """Problems of the files that the test wrote, as "path:line: message"."""
        return [str(problem) for problem in check(self.root)]

    def assert_only(self, check, *fragments):
        """Each problem holds its fragment, in order, and there are no others."""
        found = self.messages(check)
        self.assertEqual(len(found), len(fragments), found)
        for message, fragment in zip(found, fragments):
            self.assertIn(fragment, message)
