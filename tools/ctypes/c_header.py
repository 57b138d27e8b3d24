"""Reads the enums and structs of a plain C99 header, so that a Python mirror has no second copy of them.

It understands exactly what include/fovea/fovea.h is written in: enums with explicit or counted values, and structs of
scalars, pointers, earlier structs and one-dimensional arrays. Anything else is an error, never a guess.
"""

import ctypes
import re

SCALARS = {
    "char": ctypes.c_char,
    "int": ctypes.c_int,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "size_t": ctypes.c_size_t,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
}


class Header:
    """constants: name -> int (enumerators and integer #defines); structs: name -> ctypes.Structure subclass."""

    def __init__(self, text):
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        self.constants = {}
        self.enums = {}
        self.structs = {}
        for name, value in re.findall(r"^#define\s+(\w+)\s+(\d+)\s*$", text, flags=re.M):
            self.constants[name] = int(value)
        pattern = r"(?:typedef\s+)?(enum|struct)\s*(\w*)\s*\{(.*?)\}\s*(\w*)\s*;"
        for kind, tag, body, alias in re.findall(pattern, text, flags=re.S):
            if kind == "enum":
                self._read_enum(tag or alias, body)
            else:
                self._read_struct(alias or tag, body)

    def _read_enum(self, name, body):
        following = 0
        members = {}
        for item in filter(None, (part.strip() for part in body.split(","))):
            label, _, expression = (part.strip() for part in item.partition("="))
            value = self._integer(expression) if expression else following
            members[label] = value
            following = value + 1
        self.constants.update(members)
        if name:
            self.enums[name] = members

    def _integer(self, expression):
        match = re.fullmatch(r"(\d+)u?(?:\s*<<\s*(\d+))?", expression)
        if not match:
            raise ValueError(f"cannot read the enumerator value {expression!r}")
        return int(match[1]) << int(match[2] or 0)

    def _read_struct(self, name, body):
        fields = []
        for declaration in filter(None, (part.strip() for part in body.split(";"))):
            match = re.fullmatch(r"(?:const\s+)?(\w+)\s*((?:\*\s*)?\w.*)", declaration, flags=re.S)
            if not match:
                raise ValueError(f"cannot read the declaration {declaration!r} of {name}")
            for declarator in match[2].split(","):
                fields.append(self._field(match[1], declarator.strip()))
        self.structs[name] = type(name, (ctypes.Structure,), {"_fields_": fields})

    def _field(self, type_name, declarator):
        match = re.fullmatch(r"(\*?)\s*(\w+)\s*(?:\[(\w+)\])?", declarator)
        if not match:
            raise ValueError(f"cannot read the declarator {declarator!r}")
        pointer, field, extent = match.groups()
        if pointer:
            kind = ctypes.POINTER(self.structs[type_name]) if type_name in self.structs else ctypes.c_void_p
        else:
            kind = SCALARS.get(type_name) or self.structs[type_name]
        if extent:
            kind = kind * (int(extent) if extent.isdigit() else self.constants[extent])
        return field, kind
