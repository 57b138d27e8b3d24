"""The standard list of kernels compiles for every target, without a GPU: `fovea warmup --arch TARGET`."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a")


def warmup(target):
    environment = os.environ | {
        "VIRTUAL_ENV": sys.prefix,
        "FOVEA_CACHE_DIR": str(ROOT / "build" / "kernel-cache"),
        "FOVEA_LOG": "quiet",
    }
    command = [str(ROOT / "build" / "fovea"), "warmup", "--arch", target]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(importlib.util.find_spec("nvidia") is None, reason="the package nvidia-cuda-nvrtc is not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_standard_list_compiles(target):
    done = warmup(target)
    assert done.returncode == 0, done.stderr


def test_support_table_is_fresh():
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / "support_table.py"), "--check"], check=False)
    assert done.returncode == 0


def test_unknown_target_is_refused_by_name():
    done = warmup("sm_12")
    assert done.returncode != 0
    assert "sm_12" in done.stderr
