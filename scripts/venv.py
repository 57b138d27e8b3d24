#!/usr/bin/env python3
"""Makes .venv with the packages of tests/python/requirements*.txt: venv.py [--require torch].

Calls pip only when the requirements have changed or a package is missing, so that later runs work offline. A package
that cannot be installed is named with pip's reason; only those given with --require make the script fail.
"""

import argparse
import hashlib
import pathlib
import subprocess
import sys

from progress import Steps

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
REQUIREMENTS = ROOT / "tests" / "python" / "requirements.txt"
ALONE = ROOT / "tests" / "python" / "requirements-alone.txt"  # installed without dependencies
STAMP = VENV / "fovea-requirements"


def requirements(file=REQUIREMENTS):
    lines = (line.split("#")[0].strip() for line in file.read_text().splitlines())
    return [line for line in lines if line]


def package(requirement):
    return requirement.split("=")[0].split("<")[0].split(">")[0].strip().lower()


def wanted_stamp():
    return hashlib.sha256((sys.version + "\n".join(requirements() + requirements(ALONE))).encode()).hexdigest()


def install_each(steps, wanted, options=()):
    """Installs one by one, after a joint installation failed; returns {package: pip's last line}."""
    failed = {}
    steps.total += len(wanted)
    for requirement in wanted:
        code, output = steps.run(f"pip install {requirement}", pip("install", *options, requirement), show_tail=0)
        if code != 0:
            lines = [line for line in output.splitlines() if line.strip()]
            failed[package(requirement)] = lines[-1] if lines else f"pip ended with exit code {code}"
    return failed


def pip(*arguments):
    """The command of .venv's pip."""
    return [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", *arguments]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--require", action="append", default=[])
    options = parser.parse_args()
    if STAMP.exists() and STAMP.read_text() == wanted_stamp():
        return 0
    steps = Steps(2, ROOT / "build" / "logs")
    code, _ = steps.run("make .venv", [sys.executable, "-m", "venv", "--clear", str(VENV)])
    if code != 0:
        return code
    code, _ = steps.run("pip install into .venv", pip("install", "-r", str(REQUIREMENTS)), show_tail=3)
    failed = {} if code == 0 else install_each(steps, requirements())
    failed |= install_each(steps, requirements(ALONE), ["--no-deps"])
    if not failed:
        STAMP.write_text(wanted_stamp())
    for name, reason in failed.items():
        print(f"not installed: {name}: {reason}")
    return 1 if any(name in failed for name in options.require) else 0


if __name__ == "__main__":
    sys.exit(main())
