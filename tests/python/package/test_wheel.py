"""What is in the wheel and what importing it needs."""

import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

import fovea
from fovea import nvrtc

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = pathlib.Path(fovea.__file__).parent


def python(code, **environment):
    """Runs `code` in a new interpreter; returns its output."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_size_and_files():
    (wheel,) = (ROOT / "build" / "wheel" / "dist").glob("*.whl")
    assert wheel.stat().st_size < 5 * 2**20
    assert wheel.name.endswith(".whl") and "-py3-none-" in wheel.name  # any Python, any torch
    names = zipfile.ZipFile(wheel).namelist()
    assert "fovea/libfovea_python.so" in names and "fovea/libfovea.so.0" in names
    sources = {f"fovea/{p.relative_to(ROOT / 'python' / 'fovea')}" for p in (ROOT / "python" / "fovea").rglob("*.py")}
    assert sources == {name for name in names if name.endswith(".py")}


@pytest.mark.parametrize("library", ["libfovea.so.0", "libfovea_python.so"])
def test_libraries_need_no_torch_cuda_or_python(library):
    dynamic = subprocess.run(["readelf", "-d", PACKAGE / library], check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"NEEDED.*\[(.*?)\]", dynamic)
    allowed = ("libfovea.so", "libtvm_ffi.so", "libhwy.so", "libboost_context.so", "libstdc++.so", "libgcc_s.so")
    allowed += ("libc.so", "libm.so", "libpthread.so", "libdl.so", "ld-linux")
    assert needed and all(name.startswith(allowed) for name in needed), needed
    symbols = subprocess.run(["readelf", "-Ws", PACKAGE / library], check=True, capture_output=True, text=True).stdout
    undefined = [line.split()[-1] for line in symbols.splitlines() if " UND " in line]
    assert not [name for name in undefined if re.match(r"(Py|_Py|cu[A-Z]|cuda|nvrtc|_ZN2at|_ZN3c10)", name)]


def test_imports_without_torch_and_home(tmp_path):
    code = """
import sys
sys.modules["torch"] = None  # as if it were not installed
import numpy as np
import fovea
q = np.ones((1, 3, 2, 8), np.float32)
assert np.array_equal(fovea.attention(q, q, q), q)
print(fovea.__version__)
"""
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    assert python(code, HOME=str(home)).strip() == fovea.__version__
    assert list(home.iterdir()) == []


def test_import_compiles_and_activates_nothing():
    code = """
import sys
import fovea
print([name for name in sys.modules if name.startswith(("fovea.compat", "fovea.integrations", "transformers"))])
"""
    assert python(code).strip() == "[]"


def test_version_is_that_of_the_metadata():
    import importlib.metadata

    assert importlib.metadata.version("fovea-attention") == fovea.__version__


def test_nvrtc_of_a_wheel_is_found(tmp_path):
    assert nvrtc.wheel_library([str(tmp_path)]) is None
    new, old = tmp_path / "nvidia/cu13/lib/libnvrtc.so.13", tmp_path / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
    for file in (old, new):
        file.parent.mkdir(parents=True)
        file.touch()
    assert nvrtc.wheel_library(["/nowhere", str(tmp_path)]) == new
    new.unlink()
    assert nvrtc.wheel_library([str(tmp_path)]) == old


def test_nvrtc_of_the_wheel_serves_without_an_activated_environment(tmp_path):
    if nvrtc.wheel_library() is None:
        pytest.skip("no NVRTC wheel in this environment")
    code = "import fovea.nvrtc, fovea.binding; fovea.nvrtc.open_wheel(); print(fovea.binding.warmup('sm_80', 0)[1])"
    bare = {"VIRTUAL_ENV": "", "CONDA_PREFIX": "", "CUDA_PATH": "", "CUDA_HOME": "", "FOVEA_CACHE_DIR": str(tmp_path)}
    assert int(python(code, **bare)) > 1000


def test_without_nvrtc_the_error_says_what_to_install(tmp_path):
    code = """
import fovea
try:
    fovea.warmup("sm_80")
except fovea.Error as error:
    print(error.code, error.hint)
"""
    said = python(code, FOVEA_NVRTC=str(tmp_path / "none.so"), FOVEA_CACHE_DIR=str(tmp_path))
    assert said.startswith("no_backend") and "pip install nvidia-cuda-nvrtc" in said
