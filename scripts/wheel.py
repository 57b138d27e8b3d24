#!/usr/bin/env python3
"""Makes the wheel of the Python package in build/wheel and installs it into .venv: wheel.py.

Takes the library from build/ and the tools from .venv, so that nothing is downloaded. Prints the wheel's size, which
has a limit.
"""

import os
import pathlib
import shutil
import sys

from progress import Steps
from venv import pip  # scripts/venv.py

ROOT = pathlib.Path(__file__).resolve().parent.parent
WHEELS = ROOT / "build" / "wheel" / "dist"
LIMIT_BYTES = 5 * 2**20


def steps_of_wheel():
    """(title, command) of each step; the wheel's name is known after the first."""
    yield "build the wheel", pip("wheel", str(ROOT), "--no-build-isolation", "--no-deps", "--wheel-dir", str(WHEELS))
    options = ("--no-index", "--no-deps", "--force-reinstall")
    yield "install it into .venv", pip("install", *options, *map(str, WHEELS.glob("*.whl")))


def main():
    os.environ["FOVEA_PREBUILT"] = str(ROOT / "build")
    shutil.rmtree(WHEELS, ignore_errors=True)
    steps = Steps(2, ROOT / "build" / "logs")
    for title, command in steps_of_wheel():
        code, _ = steps.run(title, command, cwd=ROOT)
        if code != 0:
            return code
    for wheel in WHEELS.glob("*.whl"):
        size = wheel.stat().st_size
        print(f"{wheel.name}: {size / 2**20:.2f} MiB")
        if size > LIMIT_BYTES:
            print(f"the wheel is larger than {LIMIT_BYTES / 2**20:.0f} MiB")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
