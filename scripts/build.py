#!/usr/bin/env python3
"""Configures and builds one CMake preset with progress: build.py release [--target fovea_cli]."""

import argparse
import os
import pathlib
import sys

from progress import Steps

ROOT = pathlib.Path(__file__).resolve().parent.parent


def configure_command(preset):
    return ["cmake", "--preset", preset]


def build_command(preset, targets=()):
    command = ["cmake", "--build", "--preset", preset, "--parallel", str(os.cpu_count() or 1)]
    for target in targets:
        command += ["--target", target]
    return command


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset")
    parser.add_argument("--target", action="append", default=[])
    options = parser.parse_args()
    steps = Steps(2, ROOT / "build" / "logs")
    for title, command in (
        (f"configure {options.preset}", configure_command(options.preset)),
        (f"build {options.preset}", build_command(options.preset, options.target)),
    ):
        code, _ = steps.run(title, command, cwd=ROOT)
        if code != 0:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
