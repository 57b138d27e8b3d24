"""What differs between array libraries outside of torch: how results are made and how read-only arrays are viewed."""

import ctypes
import sys

from .errors import Error


def is_torch(array):
    return type(array).__module__.partition(".")[0] == "torch" or _is_torch_subclass(array)


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


def empty(like, shape, dtype=None):
    """An uninitialised array of the library of `like`, which is not torch; dtype: that of `like`, or "float32"."""
    namespace = getattr(like, "__array_namespace__", None)
    if namespace is None or type(like).__module__.startswith("jax"):
        raise Error(
            "output",
            f"a result for {type(like).__module__}.{type(like).__name__}",
            "out= and lse= of the caller",
            "fovea writes results in place and makes them for torch, NumPy and CuPy alone",
            "pass out= (and lse=) that may be written",
        )
    library = namespace()
    return library.empty(shape, dtype=library.float32 if dtype else like.dtype)
