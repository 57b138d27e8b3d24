"""A tensor of another library, as DLPack allows it: data behind a byte offset, strides left out."""

import ctypes

import torch

_OFFSET = 192  # bytes


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class OffsetTensor:
    """A copy of a contiguous fp32 CPU tensor, behind NaNs."""

    def __init__(self, tensor):
        padding = torch.full((_OFFSET // 4,), torch.nan)
        self.storage = torch.cat([padding, tensor.flatten()])
        self.shape = tuple(tensor.shape)
        self._extents = (ctypes.c_int64 * len(self.shape))(*self.shape)
        view = _DLTensor(self.storage.data_ptr(), (1, 0), len(self.shape), 2, 32, 1)
        view.shape, view.byte_offset = ctypes.addressof(self._extents), _OFFSET
        self._managed = _Managed(view)

    def __dlpack__(self, **options):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self._managed), b"dltensor", None)

    def __dlpack_device__(self):
        return 1, 0
