"""The tests of the Python package run against the installed wheel (scripts/wheel.py) and the fp64 reference."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools" / "ctypes"), str(ROOT / "tests" / "python")]

pytest.importorskip("fovea", reason="the package is not installed: scripts/wheel.py")
