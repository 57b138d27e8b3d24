#!/usr/bin/env python3
"""Runs every fuzzer of build-asan/fuzz, as many at a time as there are cores.

fuzz.py [--seconds N] [--only NAME]... Each runs for N seconds of a core of its own, from its corpus and the seeds of
tests/fuzz/corpus. Prints a line "ok   NAME" or "FAIL NAME reason" for each; what it found and the input that shows it
are in the reason. Exit status: 0 no fuzzer found anything, 1 otherwise.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-asan"
OPTIONS = ("-seed=1", "-timeout=20", "-rss_limit_mb=3072", f"-artifact_prefix={BUILD}/")
TOLD = ("SUMMARY:", "Base64:")


def command_of(fuzzer, seconds):
    corpus = BUILD / "corpus" / fuzzer.name
    corpus.mkdir(parents=True, exist_ok=True)
    seeds = ROOT / "tests" / "fuzz" / "corpus" / fuzzer.name.removeprefix("fuzz_")
    return [fuzzer, f"-max_total_time={seconds}", *OPTIONS, corpus, *([seeds] if seeds.is_dir() else [])]


def verdict(fuzzer, seconds):
    """The line of one fuzzer; its whole output goes to build-asan/NAME.log."""
    done = subprocess.run(
        command_of(fuzzer, seconds), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    (BUILD / f"{fuzzer.name}.log").write_text(done.stdout)
    if done.returncode == 0:
        return f"ok   {fuzzer.name}"
    told = [line for line in done.stdout.splitlines() if line.startswith(TOLD)]
    return "; ".join([f"FAIL {fuzzer.name} ended with exit code {done.returncode}", *told])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--only", action="append", metavar="NAME", help="only this fuzzer; may be repeated")
    chosen = parser.parse_args()
    fuzzers = sorted(path for path in (BUILD / "fuzz").glob("*") if os.access(path, os.X_OK))
    if chosen.only:
        fuzzers = [fuzzer for fuzzer in fuzzers if fuzzer.name in chosen.only]
    failed = not fuzzers
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for line in pool.map(lambda fuzzer: verdict(fuzzer, chosen.seconds), fuzzers):
            failed |= line.startswith("FAIL")
            print(line, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
