#!/usr/bin/env python3
"""Runs the lints over the tree: run.py [LINT]... Prints problems, then one verdict per lint."""

import pathlib
import sys

import check_bug_cases
import check_format
import check_headers
import check_layers
import check_style

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINTS = {
    "layers": check_layers.check,
    "style": check_style.check,
    "format": check_format.check,
    "headers": check_headers.check,
    "bug_cases": check_bug_cases.check,
}


def main():
    names = sys.argv[1:] or list(LINTS)
    unknown = [name for name in names if name not in LINTS]
    if unknown:
        print(f"unknown lint {unknown[0]}; there are: {', '.join(LINTS)}", file=sys.stderr)
        return 2
    verdicts = []
    for name in names:
        problems = LINTS[name](ROOT)
        for problem in problems:
            print(problem)
        verdicts.append(("FAIL" if problems else "ok  ", f"lint.{name}"))
    for verdict, name in verdicts:
        print(verdict, name)
    return 1 if any(verdict == "FAIL" for verdict, _ in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
