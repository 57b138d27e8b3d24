"""Misuse that must not compile. Each case is a small kernel that compiles as it stands and fails, with the right
reason in the compiler's text, once MISUSE is defined: so that it fails for the misuse and for nothing else."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")


def expected_text(case):
    """The first line of a case is "// misuse: TEXT": what the compiler must say."""
    first = case.read_text().splitlines()[0]
    assert first.startswith("// misuse: "), f"{case.name} does not say what the compiler must say"
    return first.removeprefix("// misuse: ")


def compile_case(case, misuse):
    command = [COMPILER, "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'device'}", f"-I{ROOT / 'model'}"]
    command += ["-DMISUSE"] if misuse else []
    done = subprocess.run([*command, str(case)], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("case", sorted(HERE.glob("*.cpp")), ids=lambda path: path.stem)
def test_misuse_does_not_compile(case):
    code, text = compile_case(case, misuse=False)
    assert code == 0, f"{case.name} must compile without MISUSE:\n{text}"
    code, text = compile_case(case, misuse=True)
    assert code != 0, f"{case.name} compiles although it misuses a layout"
    assert expected_text(case) in text, text
