"""The tests of the Python package run against the installed wheel (scripts/wheel.py) and the fp64 reference."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools" / "ctypes"))

pytest.importorskip("fovea", reason="the package is not installed: scripts/wheel.py")
