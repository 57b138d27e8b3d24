"""Kernels that call functions of the contract, generated from their declarations, so that no function is forgotten.

A template without an entry in TEMPLATE_ARGUMENTS, or a parameter type without a value, is an error: whoever adds a
function says here how to call it.
"""

import itertools
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import isa_table  # noqa: E402
import isa_wgmma  # noqa: E402

TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a")

WORDS = [("u8",), ("u16",), ("u32",), ("u64",), ("f32",), ("U32x2",), ("U32x4",)]
WIDTHS = [str(n) for n in isa_wgmma.SHAPES]
TRANSPOSES = ("0", "1")
TEMPLATE_ARGUMENTS = {
    "undefined": [("u32",), ("f32",), ("fovea::Array<f32, 4>",)],
    **dict.fromkeys(("ld_global", "ld_global_nc", "st_global", "ld_shared", "st_shared"), WORDS),
    "cp_async_ca": [("4",), ("8",), ("16",)],
    **dict.fromkeys(("cp_async_wait_group", "bulk_wait_group", "bulk_wait_group_read"), [("0",), ("3",)]),
    "wgmma_wait_group": [("0",), ("1",)],
    "lop3": [("0x96",), ("0xff",)],
    "setmaxnreg_inc": [("240",)],
    "setmaxnreg_dec": [("24",)],
    **dict.fromkeys(
        ("wgmma_m64k16_f32_bf16_ss", "wgmma_m64k16_f32_f16_ss"), [*itertools.product(WIDTHS, TRANSPOSES, TRANSPOSES)]
    ),
    **dict.fromkeys(("wgmma_m64k16_f32_bf16_rs", "wgmma_m64k16_f32_f16_rs"), [*itertools.product(WIDTHS, TRANSPOSES)]),
    **dict.fromkeys(("wgmma_m64k32_f32_e4m3_ss", "wgmma_m64k32_f32_e4m3_rs"), [(width,) for width in WIDTHS]),
}

VALUES = {
    "u16": "static_cast<u16>(word)",
    "u32": "word",
    "i32": "static_cast<i32>(word)",
    "u64": "wide",
    "f32": "fovea::f32_from_bits(word)",
    "bool": "(word & 1U) != 0",
    "SmemPtr": "fovea::SmemPtr{word}",
    "void*": "out",
    "const void*": "in",
    "u32*": "out",
    "const u32*": "in",
    "f32*": "reinterpret_cast<f32*>(out)",
    "const TensorMap*": "map",
    "const char*": '"role"',
}
# Barrier ids and thread counts are checked by the assembler when it sees them.
CONSTANTS = {"bar_sync": ("1U", "128U"), "bar_arrive": ("1U", "128U")}

HEAD = """\
#include "isa/isa.h"
using namespace fovea;

template <class T>
FOVEA_INLINE void keep(u32* out, const T& value) {
  if constexpr (sizeof(T) == 1) isa::st_global<u8>(out, __builtin_bit_cast(u8, value));
  else if constexpr (sizeof(T) == 2) isa::st_global<u16>(out, __builtin_bit_cast(u16, value));
  else {
    struct Words { u32 w[sizeof(T) / 4]; };
    const Words words = __builtin_bit_cast(Words, value);
    for (u32 w : words.w) isa::st_global<u32>(out, w);
  }
}

FOVEA_ENTRY(128, 1) probe(const u32* in, u32* out, const TensorMap* map) {
  const u32 word = isa::ld_global<u32>(in);
  const u64 wide = isa::ld_global<u64>(in);
"""


def functions():
    return isa_table.read(ROOT, isa_table.PTX)


def kernel(calls):
    return HEAD + "".join(f"  {{ {call} }}\n" for call in calls) + "}\n"


def calls(function):
    """One statement per entry of TEMPLATE_ARGUMENTS."""
    choices = TEMPLATE_ARGUMENTS[function.name] if function.template else [()]
    return [call(function, choice) for choice in choices]


def call(function, template):
    setup = []
    arguments = []
    for i, parameter in enumerate(function.parameters):
        parameter = substituted(parameter, template)
        if parameter.endswith("&"):
            setup.append(f"{parameter[:-1]} ref{i}{{}};")
            arguments.append(f"ref{i}")
        else:
            arguments.append(value(parameter))
    arguments = CONSTANTS.get(function.name, arguments)
    invocation = f"isa::{function.name}"
    invocation += f"<{', '.join(template)}>" if template else ""
    invocation += f"({', '.join(arguments)})"
    references = "".join(f" keep(out, {name});" for name in arguments if name.startswith("ref"))
    statement = f"{invocation};" if function.result == "void" else f"keep(out, {invocation});"
    return " ".join([*setup, statement]) + references


def substituted(text, template):
    for i, argument in enumerate(template):
        text = text.replace(f"${i}", argument)
    return text


def value(parameter):
    if parameter in VALUES:
        return VALUES[parameter]
    if parameter.startswith("Array<") or parameter in ("U32x2", "U32x4"):
        count = {"U32x2": 2, "U32x4": 4}.get(parameter) or int(parameter.rstrip(">").split(",")[1])
        element = VALUES["f32"] if "f32" in parameter else VALUES["u32"]
        return f"{parameter}{{{', '.join([element] * count)}}}"
    if parameter == "u8":
        return "static_cast<u8>(word)"
    raise KeyError(f"no value for a parameter of type {parameter}")


def families(target):
    """family -> kernel that calls every function legal on the target."""
    legal = {}
    for function in functions():
        if function.legal_on(target):
            legal.setdefault(function.family, []).extend(calls(function))
    return {family: kernel(statements) for family, statements in legal.items()}


def refusals():
    """(function, the nearest target that lacks it, kernel with one call of it)."""
    for function in functions():
        below = [target for target in TARGETS if not function.legal_on(target)]
        if below:
            # A function of one target only is refused by later ones too: the last is the sharper question.
            yield function, below[-1], kernel(calls(function)[:1])
