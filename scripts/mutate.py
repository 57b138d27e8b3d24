#!/usr/bin/env python3
"""Breaks the code on purpose, one small change at a time, and demands that a quick test goes red.

mutate.py [--ci] [--only NAME]... [--list] [--texts] [--jobs N]. The mutations are data: tests/mutation/mutations.json.
Works on a copy of the tree, so the checkout is never touched. A mutation whose text is not found exactly once, or that
does not build, is an error: it no longer says anything about the code. Exit status: 0 all were caught, 1 otherwise.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MUTATIONS = ROOT / "tests" / "mutation" / "mutations.json"
NOT_COPIED = shutil.ignore_patterns(".git", "build", "build-*", ".venv", ".cache", "__pycache__")
# What the quick test does not need is not built: the command line tool, and with it most of the time.
NOT_NEEDED = ("tools/fovea",)
LEAST_PATIENCE = 30
KEYS = {"name", "file", "find", "replace", "breaks", "ci"}


class MutationError(Exception):
    """A mutation that cannot be carried out."""


def load(path):
    """The list of mutations, each with exactly the known keys and a name of its own."""
    mutations = json.loads(pathlib.Path(path).read_text())
    names = set()
    for mutation in mutations:
        if set(mutation) != KEYS:
            raise MutationError(f"{mutation.get('name', mutation)}: keys must be {', '.join(sorted(KEYS))}")
        if mutation["name"] in names:
            raise MutationError(f"{mutation['name']}: named twice")
        if mutation["find"] == mutation["replace"]:
            raise MutationError(f"{mutation['name']}: changes nothing")
        names.add(mutation["name"])
    return mutations


def mutated(root, mutation):
    """The file's path and its text with the mutation applied."""
    path = pathlib.Path(root) / mutation["file"]
    if not path.is_file():
        raise MutationError(f"{mutation['name']}: no file {mutation['file']}")
    text = path.read_text()
    count = text.count(mutation["find"])
    if count != 1:
        raise MutationError(f"{mutation['name']}: text found {count} times in {mutation['file']}, expected once")
    return path, text.replace(mutation["find"], mutation["replace"])


def left_out(directory, names):
    """For copytree: what of `names` in `directory` the copy does without."""
    ignored = NOT_COPIED(directory, names)
    inside = pathlib.Path(directory).relative_to(ROOT)
    return ignored | {name for name in names if (inside / name).as_posix() in NOT_NEEDED}


class Bench:
    """A copy of the tree with a build directory of its own, in which mutants are built and tested."""

    def __init__(self, directory, jobs, target, test, timeout):
        self.tree = pathlib.Path(directory) / "tree"
        self.build = pathlib.Path(directory) / "build"
        self.log = pathlib.Path(directory) / "log"
        self.jobs = jobs
        self.target = target
        self.test = test
        self.timeout = timeout
        # Paths relative to the bench and no directory in the hash: compilations are found again by the next run.
        self.environment = dict(os.environ, CCACHE_BASEDIR=str(directory), CCACHE_NOHASHDIR="1")
        shutil.copytree(ROOT, self.tree, ignore=left_out)

    def start(self, command):
        with open(self.log, "a") as log:
            return subprocess.Popen(command, cwd=self.tree, stdout=log, stderr=subprocess.STDOUT, env=self.environment)

    def run(self, command):
        """The exit status."""
        self.log.write_text("")
        return self.start(command).wait()

    def configure(self):
        command = ["cmake", "-S", str(self.tree), "-B", str(self.build), "-DCMAKE_BUILD_TYPE=Release"]
        # Mutants are compiled for speed of compilation; warnings about code that a mutation made useless are no matter.
        command += ["-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DFOVEA_WERROR=OFF", "-DFOVEA_SIMD_TARGETS=native"]
        if shutil.which("ccache"):
            command.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        return self.run(command) == 0

    def compile(self):
        return self.run(["cmake", "--build", str(self.build), "-j", str(self.jobs), "--target", self.target]) == 0

    def red(self):
        """Whether the test fails; a hang counts, for a test that never ends is not passed. Shards share the cores."""
        test = [str(self.build / self.test[0]), *self.test[1:]]
        count = f"GTEST_TOTAL_SHARDS={self.jobs}"
        shards = [self.start(["env", count, f"GTEST_SHARD_INDEX={index}", *test]) for index in range(self.jobs)]
        end = None if self.timeout is None else time.monotonic() + self.timeout
        codes = [None] * self.jobs
        while None in codes and not any(codes) and (end is None or time.monotonic() < end):
            time.sleep(0.05)
            codes = [shard.poll() for shard in shards]
        for shard in shards:
            shard.kill()
            shard.wait()
        return any(code != 0 for code in codes)

    def tail(self):
        return "".join("    " + line + "\n" for line in self.log.read_text(errors="replace").splitlines()[-12:])


def try_mutation(bench, mutation):
    """'caught', 'survived' or 'does not build'."""
    path, text = mutated(bench.tree, mutation)
    original = path.read_text()
    try:
        path.write_text(text)
        if not bench.compile():
            return "does not build"
        return "caught" if bench.red() else "survived"
    finally:
        path.write_text(original)


def options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ci", action="store_true", help="only the mutations marked for continuous integration")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the mutations and stop")
    parser.add_argument("--texts", action="store_true", help="check that every text is found once, build nothing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, help="seconds for one run of the test (default: three unmutated runs)")
    parser.add_argument("--mutations", default=MUTATIONS, type=pathlib.Path)
    parser.add_argument("--target", default="fovea_cases_tests", help="what to build for each mutant")
    parser.add_argument(
        "--test",
        default="tests/fovea_cases_tests --gtest_filter=Backend.* --gtest_fail_fast",
        help="the command that must go red; relative to the build directory",
    )
    return parser.parse_args(arguments)


def patience(unmutated):
    """Seconds until a test that took `unmutated` counts as a hang. A survivor takes as long as no mutant."""
    return max(LEAST_PATIENCE, 3 * unmutated)


def select(mutations, chosen):
    if chosen.only:
        unknown = set(chosen.only) - {m["name"] for m in mutations}
        if unknown:
            raise MutationError(f"no mutation named {', '.join(sorted(unknown))}")
        return [m for m in mutations if m["name"] in chosen.only]
    return [m for m in mutations if m["ci"] or not chosen.ci]


def run(mutations, chosen):
    """Number of mutations that were not caught."""
    with tempfile.TemporaryDirectory(prefix="fovea-mutate-") as directory:
        bench = Bench(directory, chosen.jobs, chosen.target, chosen.test.split(), chosen.timeout)
        started = time.monotonic()
        if not bench.configure() or not bench.compile():
            raise MutationError("the unmutated tree does not build\n" + bench.tail())
        tested = time.monotonic()
        if bench.red():
            raise MutationError("the test is red without any mutation\n" + bench.tail())
        if bench.timeout is None:
            bench.timeout = patience(time.monotonic() - tested)
        print(f"{'unmutated':32} green           {time.monotonic() - started:5.0f} s", flush=True)
        uncaught = 0
        for mutation in mutations:
            started = time.monotonic()
            verdict = try_mutation(bench, mutation)
            uncaught += verdict != "caught"
            print(f"{mutation['name']:32} {verdict:15} {time.monotonic() - started:5.0f} s", flush=True)
            if verdict == "does not build":
                print(bench.tail(), end="")
        return uncaught


def main(arguments=None):
    chosen = options(arguments)
    try:
        mutations = select(load(chosen.mutations), chosen)
        for mutation in mutations:
            mutated(ROOT, mutation)
        if chosen.list or chosen.texts:
            for mutation in mutations if chosen.list else []:
                print(f"{mutation['name']:32} {mutation['file']}: {mutation['breaks']}")
            return 0
        uncaught = run(mutations, chosen)
    except MutationError as error:
        print(f"mutate: {error}", file=sys.stderr)
        return 1
    print(f"{len(mutations) - uncaught} of {len(mutations)} mutations caught")
    return 1 if uncaught else 0


if __name__ == "__main__":
    sys.exit(main())
