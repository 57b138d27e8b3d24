#!/usr/bin/env python3
"""Runs the tests of the lints (tests/lint) and prints one verdict per test."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Verdicts(unittest.TextTestResult):
    def addSuccess(self, test):
        super().addSuccess(test)
        print("ok  ", test.id())

    def addFailure(self, test, error):
        super().addFailure(test, error)
        print("FAIL", test.id())

    def addError(self, test, error):
        super().addError(test, error)
        print("FAIL", test.id())


def main():
    sys.path.insert(0, str(ROOT / "scripts" / "lint"))
    suite = unittest.defaultTestLoader.discover(str(ROOT / "tests" / "lint"))
    result = unittest.TextTestRunner(stream=sys.stdout, resultclass=Verdicts, verbosity=0).run(suite)
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())
