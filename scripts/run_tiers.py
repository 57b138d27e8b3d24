#!/usr/bin/env python3
"""Builds and runs every tier of tests, goes on after a failed one, and sums up in one last line.

run_tiers.py [--only TIER]... [--fuzz-seconds N]. A tier that cannot be built, or that runs no test, counts as one
failure. What a tier contains is decided by tests/CMakeLists.txt, tests/python, tests/lint and scripts/lint.
"""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import time

import build
import junit
from progress import Steps

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "logs"
CTEST_TIERS = ("unit", "reference", "cases", "cpu", "tools", "jit", "model", "conformance", "kernels", "abi", "package")
SANITIZED_TIERS = ("unit", "tools")
LATER_TIERS = ("asan", "fuzz", "python", "mutation", "lint")
TIERS = (*CTEST_TIERS, *LATER_TIERS)


class Run:
    """One run of tiers: the steps' counter and the tallies so far."""

    def __init__(self, tiers, fuzz_seconds):
        self.tiers = tiers
        self.fuzz_seconds = fuzz_seconds
        self.tallies = {}
        self.seconds = {}
        ctest = [tier for tier in CTEST_TIERS if tier in tiers]
        self.release_tiers = ctest
        self.packages = None  # .venv in the making: begun beside the build, for it mostly waits for the network
        self.packages_made = None  # whether .venv could be made; None before python_packages()
        total = (2 + len(ctest) if ctest or "python" in tiers else 0)
        total += 3 if "asan" in tiers else 0
        total += 3 if "fuzz" in tiers else 0
        total += 1 if "python" in tiers or "jit" in tiers else 0
        total += 2 if "python" in tiers else 0
        total += 1 if "mutation" in tiers else 0
        total += 2 if "lint" in tiers else 0
        self.steps = Steps(total, LOGS)

    @contextlib.contextmanager
    def timed(self, name):
        started = time.monotonic()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - started

    def record(self, tier, tally):
        self.tallies.setdefault(tier, junit.Tally()).add(tally)

    def fail(self, tier, reason):
        self.record(tier, junit.Tally(failures=[(tier, reason)]))

    def prepare(self, preset, targets, tiers):
        """Configures and builds; on failure every one of `tiers` counts as failed."""
        for title, command in (
            (f"configure {preset}", build.configure_command(preset)),
            (f"build {preset}", build.build_command(preset, targets)),
        ):
            code, _ = self.steps.run(title, command, cwd=ROOT)
            if code != 0:
                for tier in tiers:
                    self.fail(tier, f"{title} failed")
                return False
        return True

    def ctest(self, tier, preset_directory, label):
        report = LOGS / f"ctest-{tier}.xml"
        report.unlink(missing_ok=True)
        command = ["ctest", "--test-dir", str(preset_directory), "-L", f"^({label})$", "-j", str(os.cpu_count() or 1)]
        command += ["--output-on-failure", "--no-tests=error", "--output-junit", str(report)]
        code, _ = self.steps.run(f"test {tier}", command, cwd=ROOT)
        self.take_report(tier, report, code)

    def take_report(self, tier, report, code):
        tally = junit.read(report) if report.exists() else junit.Tally()
        if tally.total == 0:
            return self.fail(tier, "ran no test")
        if code != 0 and tally.failed == 0:
            tally.failures.append((tier, f"the test runner ended with exit code {code}"))
        return self.record(tier, tally)

    def release(self):
        with self.timed("build"):
            built = self.prepare("release", [], self.release_tiers)
        if not built:
            self.steps.done += len(self.release_tiers)
            return
        for tier in self.release_tiers:
            if tier == "jit":
                self.python_packages()  # NVRTC; without it the tests that need it are skipped
            with self.timed(tier):
                self.ctest(tier, ROOT / "build", tier)

    def asan(self):
        targets = [f"fovea_{tier}_tests" for tier in SANITIZED_TIERS]
        if self.prepare("asan", targets, ["asan"]):
            self.ctest("asan", ROOT / "build-asan", "|".join(SANITIZED_TIERS))

    def fuzz(self):
        if not self.prepare("asan", ["fovea_fuzzers"], ["fuzz"]):
            return
        command = [sys.executable, "scripts/fuzz.py", f"--seconds={self.fuzz_seconds}"]
        code, output = self.steps.run("fuzz", command, cwd=ROOT)
        self.record("fuzz", tally_of_marks(output, code, "fuzz"))

    def start_packages(self):
        if self.packages is None:
            command = [sys.executable, str(ROOT / "scripts" / "venv.py")]
            self.packages = self.steps.start("python packages", command, cwd=ROOT)

    def python_packages(self):
        """Makes .venv, once; returns whether it is there."""
        if self.packages_made is None:
            self.start_packages()
            code, output = self.steps.finish(self.packages)
            for line in output.splitlines():
                if line.startswith("not installed:"):
                    print(f"    {line}; the tests that need it are skipped")
            self.packages_made = code == 0
        return self.packages_made

    def side_by_side(self):
        """pytest's options to run files on every core, if pytest-xdist is there."""
        have = subprocess.run([str(ROOT / ".venv" / "bin" / "python"), "-c", "import xdist"], capture_output=True)
        return ["-n", str(os.cpu_count()), "--dist", "loadfile"] if have.returncode == 0 else []

    def python(self):
        if not self.python_packages():
            return self.fail("python", "no virtual environment")
        code, output = self.steps.run("python wheel", [sys.executable, str(ROOT / "scripts" / "wheel.py")], cwd=ROOT)
        if code != 0:
            return self.fail("python", "the wheel could not be made")
        print(f"    {output.splitlines()[-1]}")
        report = LOGS / "pytest.xml"
        report.unlink(missing_ok=True)
        command = [str(ROOT / ".venv" / "bin" / "python"), "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
        command += self.side_by_side()
        command += [f"--junit-xml={report}", "tests/python", "tests/isa", "tests/conformance", "tests/negative"]
        command += ["tests/mutation"]
        code, _ = self.steps.run("test python", command, cwd=ROOT)
        return self.take_report("python", report, code)

    def mutation(self):
        command = [sys.executable, "scripts/mutate.py", "--ci"]
        code, output = self.steps.run("mutations", command, cwd=ROOT)
        tally = junit.Tally()
        for line in output.splitlines():
            name, _, verdict = line.partition(" ")
            if verdict.strip().startswith("caught"):
                tally.passed += 1
            elif verdict.strip().startswith(("survived", "does not build")):
                tally.failures.append((name, verdict.strip()))
        if tally.total == 0 or (code != 0 and tally.failed == 0):
            tally.failures.append(("mutation", f"ended with exit code {code} after {tally.total} mutations"))
        self.record("mutation", tally)

    def lint(self):
        code, output = self.steps.run("lint", [sys.executable, "scripts/lint/run.py"], cwd=ROOT)
        self.record("lint", tally_of_marks(output, code, "lint"))
        command = [sys.executable, "scripts/lint/selftest.py"]
        code, output = self.steps.run("test lint", command, cwd=ROOT)
        self.record("lint", tally_of_marks(output, code, "lint.selftest"))


def tally_of_marks(output, code, name):
    """Counts lines "ok   NAME" and "FAIL NAME"."""
    words = [line.split(maxsplit=1) for line in output.splitlines()]
    tally = junit.Tally(passed=sum(1 for pair in words if len(pair) == 2 and pair[0] == "ok"))
    tally.failures = [(pair[1], "see above") for pair in words if len(pair) == 2 and pair[0] == "FAIL"]
    if tally.total == 0 or (code != 0 and tally.failed == 0):
        tally.failures.append((name, f"ended with exit code {code} after {tally.total} checks"))
    return tally


def summary(tallies, seconds, total_seconds):
    """Prints the table, the reasons and the closing line; returns the exit code. "(build)": what ctest tiers share."""
    print(f"\n{'tier':<12}{'passed':>8}{'failed':>8}{'skipped':>8}{'seconds':>9}")
    if "build" in seconds:
        print(f"{'(build)':<36}{seconds['build']:>9.0f}")
    total = junit.Tally()
    for tier, tally in tallies.items():
        print(f"{tier:<12}{tally.passed:>8}{tally.failed:>8}{tally.skipped:>8}{seconds.get(tier, 0.0):>9.0f}")
        total.add(tally)
    for word, entries in (("skipped", total.skips), ("FAILED", total.failures)):
        for name, reason in entries:
            print(f"{word}: {name}: {reason}")
    print(f"total time {total_seconds:.0f} s")
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped", flush=True)
    return 1 if total.failed or not total.passed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=TIERS, default=[])
    parser.add_argument("--fuzz-seconds", type=int, default=20)
    options = parser.parse_args()
    started = time.monotonic()
    tiers = options.only or TIERS
    run = Run(tiers, options.fuzz_seconds)
    if "python" in tiers or "jit" in tiers:
        run.start_packages()
    if run.release_tiers or "python" in tiers:
        run.release()
    for tier in LATER_TIERS:
        if tier in tiers:
            with run.timed(tier):
                getattr(run, tier)()
    return summary(run.tallies, run.seconds, time.monotonic() - started)


if __name__ == "__main__":
    sys.exit(main())
