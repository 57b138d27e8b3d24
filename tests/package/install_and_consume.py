#!/usr/bin/env python3
"""install_and_consume.py BUILD_DIRECTORY CONSUMER: installs, configures the consumer against the prefix, runs it.

The consumer is copied away first and the prefix is moved after the installation, so nothing can come from the source
tree, and the package works wherever it lies.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile


def run(*command):
    print("$", *command, flush=True)
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(result.stdout, flush=True)
    if result.returncode != 0:
        sys.exit(f"failed with exit code {result.returncode}")
    return result.stdout


def main():
    build, consumer = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        run("cmake", "--install", build, "--prefix", str(root / "first"))
        prefix = root / "moved"
        (root / "first").rename(prefix)
        shutil.copytree(consumer, root / "consumer")
        run("cmake", "-S", str(root / "consumer"), "-B", str(root / "out"), f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", str(root / "out"))
        for program in ("consumer_c", "consumer_cpp"):
            output = run(str(root / "out" / program))
            if "0.1.0" not in output:
                sys.exit(f"{program} did not print the version")
        version = run(str(prefix / "bin" / "fovea"), "--version")
        if "0.1.0" not in version:
            sys.exit("the installed tool did not print the version")


if __name__ == "__main__":
    main()
