"""What differs between array libraries outside of torch: results, read-only arrays, streams."""

import contextlib
import ctypes
import sys

import tvm_ffi

from .errors import Error


def _package(array):
    return type(array).__module__.partition(".")[0]


def is_cupy(array):
    return _package(array) == "cupy"


def is_torch(array):
    return _package(array) == "torch" or _is_torch_subclass(array)


def _is_torch_subclass(array):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def viewable(array):
    """`array`, or a view of the same memory that DLPack may hand out: NumPy keeps read-only arrays to itself."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(array, numpy.ndarray) or array.flags.writeable or array.size == 0:
        return array
    low, high = getattr(numpy.lib, "array_utils", numpy).byte_bounds(array)  # NumPy 2, or 1
    memory = (ctypes.c_char * (high - low)).from_address(low)
    offset = array.__array_interface__["data"][0] - low
    return numpy.ndarray(array.shape, array.dtype, memory, offset, array.strides)


def on_current_stream(array):
    """A context in which calls run on the current stream of CuPy, when `array` is CuPy's.

    DLPack's exchange of streams orders a call after its inputs, on the legacy default stream; what CuPy does next with
    the result would not wait for that stream. torch's stream reaches the call without this.
    """
    if not is_cupy(array):
        return contextlib.nullcontext()
    cupy = sys.modules["cupy"]
    device = array.device.id
    return tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", device), cupy.cuda.get_current_stream(device).ptr)


def _library_of(array):
    """NumPy, CuPy or another library by the array API standard; None where arrays cannot be written, as in JAX."""
    if is_cupy(array):  # which is close to the standard without naming its namespace
        return sys.modules["cupy"]
    if _package(array).startswith("jax") or not hasattr(array, "__array_namespace__"):
        return None
    return array.__array_namespace__()


def empty(like, shape, dtype=None):
    """An uninitialised array of the library of `like`, which is not torch; dtype: that of `like`, or "float32"."""
    library = _library_of(like)
    if library is None:
        raise Error(
            "output",
            f"a result for {type(like).__module__}.{type(like).__name__}",
            "out= and lse= of the caller",
            "fovea writes results in place and makes them for torch, NumPy and CuPy alone",
            "pass out= (and lse=) that may be written",
        )
    return library.empty(shape, dtype=library.float32 if dtype else like.dtype)
