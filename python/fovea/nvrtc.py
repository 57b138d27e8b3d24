"""NVRTC in the wheels of the running interpreter.

The library itself looks below VIRTUAL_ENV and CONDA_PREFIX; an interpreter run without an activated environment sets
neither, so that its own site-packages are looked at here. What is opened here, the library finds in the process.
"""

import ctypes
import os
import pathlib
import sys

_FILES = ("nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12")


def wheel_library(path=None):
    """The newest libnvrtc in a wheel on `path` (default: sys.path), or None."""
    for name in _FILES:
        for folder in sys.path if path is None else path:
            file = pathlib.Path(folder or ".") / name
            if file.exists():
                return file
    return None


def open_wheel():
    """Opens it, unless FOVEA_NVRTC names another. Returns the path that was opened, or None."""
    file = None if os.environ.get("FOVEA_NVRTC") else wheel_library()
    if file is not None:
        ctypes.CDLL(str(file))
    return file
