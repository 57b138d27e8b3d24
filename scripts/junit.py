"""Reads JUnit XML as ctest and pytest write it: counts, and names with reasons for what failed or was skipped."""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree


@dataclasses.dataclass
class Tally:
    passed: int = 0
    failures: list = dataclasses.field(default_factory=list)  # (name, reason)
    skips: list = dataclasses.field(default_factory=list)  # (name, reason)

    @property
    def failed(self):
        return len(self.failures)

    @property
    def skipped(self):
        return len(self.skips)

    @property
    def total(self):
        return self.passed + self.failed + self.skipped

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips


def read(path):
    """The tally of one report."""
    tally = Tally()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name", "?")
        if case.get("classname") and case.get("classname") != name:
            name = f"{case.get('classname')}.{name}"
        failure = case.find("failure") if case.find("failure") is not None else case.find("error")
        skip = case.find("skipped")
        if failure is not None:
            tally.failures.append((name, failure.get("message") or "failed"))
        elif skip is not None:
            tally.skips.append((name, skip_reason(case, skip)))
        else:
            tally.passed += 1
    return tally


def skip_reason(case, skip):
    """ctest only says that a pattern matched; the reason stands in the output, one line above GoogleTest's mark.

    Of a module that skips itself pytest gives it in the text, as ('FILE', LINE, 'Skipped: REASON').
    """
    whole_module = re.search(r"'Skipped: (.*)'\)$", skip.text or "")
    if whole_module:
        return whole_module.group(1)
    lines = [line.strip() for line in (case.findtext("system-out") or "").splitlines()]
    for index, line in enumerate(lines):
        if line.startswith("[  SKIPPED ]") and index > 0:
            return lines[index - 1]
    return skip.get("message") or "no reason given"
