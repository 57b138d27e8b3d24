"""The C ABI of fovea for Python through ctypes: what bench/ and tests/python/ call.

Structs, enums and flags are read from include/fovea/fovea.h when the module is imported. NumPy arrays and torch
tensors (torch, numpy and neither may be installed) are passed as views: nothing is copied or made contiguous.
This is a tool for the project's own checks, not the Python package.
"""

import ctypes
import os
import pathlib

from c_header import Header

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = Header((ROOT / "include" / "fovea" / "fovea.h").read_text())

ErrorStruct = HEADER.structs["fovea_error"]
Tensor = HEADER.structs["fovea_tensor"]
ContextArgs = HEADER.structs["fovea_context_args"]
ForwardArgs = HEADER.structs["fovea_forward_args"]
MergeArgs = HEADER.structs["fovea_merge_args"]
MAX_RANK = HEADER.constants["FOVEA_MAX_RANK"]
OK = HEADER.constants["FOVEA_OK"]
BUFFER_TOO_SMALL = HEADER.constants["FOVEA_BUFFER_TOO_SMALL"]
TEXT = HEADER.constants["FOVEA_TEXT"]
JSON = HEADER.constants["FOVEA_JSON"]

# "f32" -> FOVEA_F32, "cpu" -> FOVEA_BACKEND_CPU, "causal" -> FOVEA_FLAG_CAUSAL, ...
DTYPES = {name.removeprefix("FOVEA_").lower(): value for name, value in HEADER.enums["fovea_dtype"].items()}
BACKENDS = {name.removeprefix("FOVEA_BACKEND_").lower(): v for name, v in HEADER.enums["fovea_backend"].items()}
FLAGS = {
    name.removeprefix("FOVEA_FLAG_").lower(): value
    for name, value in HEADER.constants.items()
    if name.startswith("FOVEA_FLAG_")
}
ELEMENT_TYPES = {
    "float32": "f32",
    "bfloat16": "bf16",
    "float16": "f16",
    "float64": "f64",
    "bool": "bool",
    "uint8": "bool",
    "int32": "i32",
}
OPERANDS = ("q", "k", "v", "out", "lse", "mask", "bias", "sink")
OPERANDS += ("cu_seqlens_q", "cu_seqlens_kv", "seqused_q", "seqused_kv", "page_table")


class Error(Exception):
    """A refusal: `code` is the stable name, `status` its number; then what was asked, allowed, why, and a hint."""

    def __init__(self, raw):
        self.status = raw.status
        texts = (getattr(raw, name).decode() for name in ("code", "asked", "allowed", "why", "hint"))
        self.code, self.asked, self.allowed, self.why, self.hint = texts
        super().__init__(f"{self.code}: asked {self.asked}; allowed {self.allowed}; {self.why}; {self.hint}")


def tensor(obj, dtype=None):
    """The fovea_tensor view of a NumPy array or torch tensor; None gives an absent one.

    `dtype` overrides the element type where the object has no word for it, e.g. "bf16" for a uint16 array.
    The caller keeps `obj` alive.
    """
    if obj is None:
        return Tensor()
    if isinstance(obj, Tensor):
        return obj
    name = dtype or ELEMENT_TYPES[str(obj.dtype).removeprefix("torch.")]
    if len(obj.shape) > MAX_RANK:
        raise ValueError(f"rank {len(obj.shape)} is more than {MAX_RANK}")
    view = Tensor(dtype=DTYPES[name], rank=len(obj.shape))
    if hasattr(obj, "data_ptr"):
        view.data = obj.data_ptr()
        strides = obj.stride()
        if obj.device.type == "cuda":
            view.device_type = HEADER.constants["FOVEA_DEVICE_CUDA"]
            view.device_id = obj.device.index or 0
    else:
        view.data = obj.__array_interface__["data"][0]
        strides = [step // obj.itemsize for step in obj.strides]
    view.shape[: view.rank] = list(obj.shape)
    view.strides[: view.rank] = list(strides)
    return view


def find_library(name="fovea"):
    """lib<name>.so in FOVEA_LIB_DIR, or else in build/."""
    directory = pathlib.Path(os.environ.get("FOVEA_LIB_DIR", ROOT / "build"))
    found = sorted(directory.rglob(f"lib{name}.so"))
    if not found:
        raise FileNotFoundError(f"lib{name}.so is not under {directory}: build first, or set FOVEA_LIB_DIR")
    return found[0]


def forward_args(backend="auto", flags=(), num_splits=0, window=(None, None), stream=None, **features):
    """A filled fovea_forward_args that also keeps its operands alive.

    Tensor operands go by their field names (q=, k=, v=, out=, lse=, mask=, ...). `window` is (left, right), None =
    unlimited. Scalars softmax_scale, q_offset, kv_offset set their flag when given; softcap counts as it is;
    causal, batch_invariant and forbid_slow are booleans.
    """
    args = ForwardArgs(struct_size=ctypes.sizeof(ForwardArgs), backend=BACKENDS[backend], num_splits=num_splits)
    args.stream = stream
    names = set(flags)
    args.operands = {name: features.pop(name, None) for name in OPERANDS}
    for name, operand in args.operands.items():
        setattr(args, name, tensor(operand))
    for side, bound in zip(("window_left", "window_right"), window):
        features[side] = bound
    args.softcap = features.pop("softcap", None) or 0.0
    for name, value in features.items():
        if name not in FLAGS:
            raise TypeError(f"unknown feature {name!r}")
        if value is None or value is False:
            continue
        names.add(name)
        if hasattr(args, name):
            setattr(args, name, value)
    for name in names:
        args.flags |= FLAGS[name]
    return args


def merge_args(outs, lses, out, lse=None, sink=None):
    args = MergeArgs(struct_size=ctypes.sizeof(MergeArgs), count=len(outs))
    args.outs = (Tensor * len(outs))(*map(tensor, outs))
    args.lses = (Tensor * len(lses))(*map(tensor, lses))
    args.out, args.lse, args.sink = tensor(out), tensor(lse), tensor(sink)
    return args


class Library:
    """libfovea.so. `context()` gives something to work with; `c` is the raw library."""

    def __init__(self, path=None):
        self.path = pathlib.Path(path) if path else find_library()
        self.c = ctypes.CDLL(str(self.path))
        self.c.fovea_version.restype = ctypes.c_char_p
        self.c.fovea_status_name.restype = ctypes.c_char_p
        self.c.fovea_dtype_name.restype = ctypes.c_char_p
        self.c.fovea_dtype_size.restype = ctypes.c_size_t
        self.c.fovea_context_workspace_bytes.restype = ctypes.c_uint64
        self.c.fovea_context_workspace_bytes.argtypes = [ctypes.c_void_p]
        self.c.fovea_context_num_threads.argtypes = [ctypes.c_void_p]
        self.c.fovea_context_destroy.argtypes = [ctypes.c_void_p]
        self.c.fovea_context_destroy.restype = None
        for name in ("fovea_forward", "fovea_supports", "fovea_merge"):
            getattr(self.c, name).argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]

    def version(self):
        return self.c.fovea_version().decode()

    def context(self, num_threads=0):
        return Context(self, num_threads)


class Context:
    """A fovea_context. Use as a context manager, or call close()."""

    def __init__(self, library, num_threads=0):
        self.c = library.c
        self.handle = ctypes.c_void_p()
        args = ContextArgs(struct_size=ctypes.sizeof(ContextArgs), num_threads=num_threads)
        error = _new_error()
        status = self.c.fovea_context_create(ctypes.byref(args), ctypes.byref(self.handle), ctypes.byref(error))
        _check(status, error)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        if self.handle:
            self.c.fovea_context_destroy(self.handle)
            self.handle = ctypes.c_void_p()

    @property
    def num_threads(self):
        return self.c.fovea_context_num_threads(self.handle)

    @property
    def workspace_bytes(self):
        return self.c.fovea_context_workspace_bytes(self.handle)

    def _call(self, function, args):
        error = _new_error()
        _check(function(self.handle, ctypes.byref(args), ctypes.byref(error)), error)

    def forward(self, q, k, v, out, **features):
        """Attention into `out` (and lse=); raises Error on a refusal."""
        self._call(self.c.fovea_forward, forward_args(q=q, k=k, v=v, out=out, **features))
        return out

    def prepared(self, **features):
        """A callable without Python work in it: every argument is built here, once. Returns the raw status."""
        args = forward_args(**features)
        self._call(self.c.fovea_supports, args)
        function, handle, reference = self.c.fovea_forward, self.handle, ctypes.byref(args)
        return lambda: function(handle, reference, None)

    def supports(self, **features):
        """None when the call would be served, otherwise the Error that forward() would raise."""
        try:
            self._call(self.c.fovea_supports, forward_args(**features))
        except Error as refusal:
            return refusal
        return None

    def merge(self, outs, lses, out, lse=None, sink=None):
        """Merges partial results over disjoint key sets into `out` (and `lse`)."""
        self._call(self.c.fovea_merge, merge_args(outs, lses, out, lse, sink))
        return out

    def explain(self, output_format=TEXT, **features):
        return self._text(self.c.fovea_explain, ctypes.byref(forward_args(**features)), output_format)

    def doctor(self, output_format=TEXT):
        return self._text(self.c.fovea_doctor, output_format)

    def _text(self, function, *arguments):
        size = ctypes.c_size_t(0)
        error = _new_error()
        status = function(self.handle, *arguments, None, ctypes.byref(size), ctypes.byref(error))
        if status != BUFFER_TOO_SMALL:
            _check(status, error)
        buffer = ctypes.create_string_buffer(size.value)
        error = _new_error()
        _check(function(self.handle, *arguments, buffer, ctypes.byref(size), ctypes.byref(error)), error)
        return buffer.value.decode()


class Reference:
    """libfovea_reference.so: the fp64 judge, and `plain`, the same-precision yardstick of tolerances."""

    def __init__(self, path=None):
        self.c = ctypes.CDLL(str(path or find_library("fovea_reference")))

    def _call(self, function, args):
        error = _new_error()
        _check(function(ctypes.byref(args), ctypes.byref(error)), error)

    def forward(self, q, k, v, out, **features):
        self._call(self.c.fovea_reference_forward, forward_args(q=q, k=k, v=v, out=out, **features))
        return out

    def plain(self, q, k, v, out, **features):
        self._call(self.c.fovea_plain_forward, forward_args(q=q, k=k, v=v, out=out, **features))
        return out

    def merge(self, outs, lses, out, lse=None, sink=None):
        self._call(self.c.fovea_reference_merge, merge_args(outs, lses, out, lse, sink))
        return out


def _new_error():
    return ErrorStruct(struct_size=ctypes.sizeof(ErrorStruct))


def _check(status, error):
    if status != OK:
        raise Error(error)
