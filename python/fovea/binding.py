"""The compiled binding, its calls as Python functions. One file for every version of Python and torch."""

import pathlib

import tvm_ffi

from .errors import from_fields

_module = tvm_ffi.load_module(str(pathlib.Path(__file__).parent / "libfovea_python.so"))

_forward = _module.get_function("forward")
supports = _module.get_function("supports")
_explain = _module.get_function("explain")
_merge = _module.get_function("merge")
_doctor = _module.get_function("doctor")
_kernels = _module.get_function("kernels")
_warmup = _module.get_function("warmup")
_version = _module.get_function("version")

TEXT, JSON = 0, 1


def _result(value):
    """A list as it is; a refusal, which is a string, raised."""
    if isinstance(value, str):
        raise from_fields(value)
    return list(value)


def run(arguments):
    """The call; `arguments` in the order of read() in python/binding/binding.cpp."""
    refused = _forward(*arguments)
    if refused is not None:
        raise from_fields(refused)


def explain(output_format, *arguments):
    return _result(_explain(output_format, *arguments))[0]


def merge(outs, lses, out, lse, sink):
    refused = _merge(len(outs), *outs, *lses, out, lse, sink)
    if refused is not None:
        raise from_fields(refused)


def doctor(output_format):
    return _result(_doctor(output_format))[0]


def kernels(target, output_format):
    return _result(_kernels(target, output_format))[0]


def warmup(target, index):
    """(origin, bytes, seconds) of one entry of the target's standard list."""
    return _result(_warmup(target, index))


def version():
    return _result(_version())[0]
