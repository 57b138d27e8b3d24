#!/usr/bin/env python3
"""Bug cases: docs/bug-cases.md and tests/cpu/bug_*.cpp name the same tests, and each row of the page has a status.

Whether a test passes is the test run's business.
"""

import pathlib
import re
import sys

import tree

DOCUMENT = pathlib.Path("docs/bug-cases.md")
SOURCES = "tests/cpu/bug_*.cpp"
SUITE = "BugReports"
DEFINED = re.compile(rf"^TEST\({SUITE}, (\w+)\)", re.MULTILINE)
LISTED = re.compile(rf"`{SUITE}\.(\w+)`")
STATUS = re.compile(r"^(tested|forward tested; later: \S.*|later: \S.*)$")


def check(root):
    defined = {}
    for source in sorted(root.glob(SOURCES)):
        text = source.read_text(encoding="utf-8")
        for match in DEFINED.finditer(text):
            defined[match.group(1)] = (source.relative_to(root), text[: match.start()].count("\n") + 1)
    return list(problems(tree.read(root, DOCUMENT), defined))


def problems(document, defined):
    """`defined`: test name -> (path, line)."""
    seen = set()
    for number, line in enumerate(document.splitlines(), start=1):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("| ") or cells[0] == "report":
            continue
        if len(cells) != 4 or not STATUS.match(cells[3]):
            yield tree.Problem(DOCUMENT, number, "a row is: report | fault | test | tested, or later: why")
            continue
        names = LISTED.findall(cells[2])
        if bool(names) == cells[3].startswith("later:"):
            yield tree.Problem(DOCUMENT, number, "a row has a test, or says for what it waits")
        for name in names:
            if name not in defined:
                yield tree.Problem(DOCUMENT, number, f"no such test: {SUITE}.{name}")
            if name in seen:
                yield tree.Problem(DOCUMENT, number, f"listed twice: {SUITE}.{name}")
            seen.add(name)
    for name, (path, number) in defined.items():
        if name not in seen:
            yield tree.Problem(path, number, f"{SUITE}.{name} is not in {DOCUMENT}")
    if not seen:
        yield tree.Problem(DOCUMENT, 1, "lists no test")


def main():
    found = check(pathlib.Path(__file__).resolve().parent.parent.parent)
    for problem in found:
        print(problem)
    print("FAIL" if found else "ok  ", "lint.bug_cases")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
