"""NVRTC by ctypes: finds the library, compiles one source with headers from memory. No toolkit needed.

Looked for in this order: the pip package nvidia-cuda-nvrtc (13.0), the loader's search path, CUDA_HOME and CUDA_PATH.
"""

import ctypes
import importlib.util
import os
import pathlib
import shutil

VERSION = 13
PROJECT_OPTIONS = ("-default-device", "--std=c++20")


class Nvrtc:
    """One loaded NVRTC. compile() gives (cubin or None, log)."""

    def __init__(self, directory, library):
        self.builtins = load_builtins(directory)
        self.library = library

    def compile(self, source, architecture, headers, options=PROJECT_OPTIONS):
        names = (ctypes.c_char_p * len(headers))(*(name.encode() for name in headers))
        texts = (ctypes.c_char_p * len(headers))(*(text.encode() for text in headers.values()))
        flags = [*options, f"--gpu-architecture={architecture}"]
        flags = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
        program = ctypes.c_void_p()
        create = self.library.nvrtcCreateProgram
        if create(ctypes.byref(program), source.encode(), b"probe.cu", len(headers), texts, names) != 0:
            raise RuntimeError("nvrtcCreateProgram failed")
        try:
            failed = self.library.nvrtcCompileProgram(program, len(flags), flags) != 0
            log = self.fetch("ProgramLog", program).rstrip(b"\0").decode(errors="replace")
            return (None if failed else self.fetch("CUBIN", program)), log
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))

    def fetch(self, what, program):
        size = ctypes.c_size_t()
        getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(self.library, f"nvrtcGet{what}")(program, buffer)
        return buffer.raw


def find():
    """(Nvrtc, "") or (None, why not)."""
    tried = []
    for directory in directories():
        name = f"libnvrtc.so.{VERSION}"
        path = str(directory / name) if directory else name
        try:
            return Nvrtc(directory, ctypes.CDLL(path)), ""
        except OSError:
            tried.append(path)
    return None, "no NVRTC: install nvidia-cuda-nvrtc 13.0; looked for " + ", ".join(tried)


def package_places():
    """Folders of NVIDIA's pip packages."""
    for package in ("nvidia.cu13", "nvidia.cuda_nvrtc"):
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        for place in (spec.submodule_search_locations or []) if spec else []:
            yield pathlib.Path(place)


def toolkit_places():
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if variable in os.environ:
            yield pathlib.Path(os.environ[variable])


def directories():
    for place in package_places():
        yield place / "lib"
    yield None
    for place in toolkit_places():
        yield place / "lib64"


def find_nvdisasm():
    """Path of nvdisasm, or None: of the pip package nvidia-cuda-nvdisasm, on PATH, or of a CUDA toolkit."""
    places = [*(place / "bin" for place in package_places()), os.environ.get("PATH", "")]
    places += [*(place / "bin" for place in toolkit_places()), "/usr/local/cuda/bin"]
    return shutil.which("nvdisasm", path=os.pathsep.join(map(str, places)))


def load_builtins(directory):
    """NVRTC opens its builtins by name: loading them first spares the loader's search path."""
    if directory is None:
        return None
    for path in sorted(directory.glob(f"libnvrtc-builtins.so.{VERSION}*")):
        return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    return None


def project_headers(root):
    """What kernels may include, by the name they include it with."""
    headers = {}
    for base in (root / "device", root / "device" / "isa_ptx"):
        for path in base.rglob("*.h"):
            headers[path.relative_to(base).as_posix()] = path.read_text(encoding="utf-8")
    return headers
