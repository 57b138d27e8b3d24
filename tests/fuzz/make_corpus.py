#!/usr/bin/env python3
"""Writes the seed inputs of the reader fuzzers: small valid files and small broken ones, one idea each.

The files are committed; run this again only to add seeds. Standard library only.
"""
import json
import struct
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"


def npy(descr, shape, data, order="False", version=1):
    text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def safetensors(header, data, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


NPY = {
    "f4": npy("<f4", "(2, 3)", bytes(24)),
    "f8_fortran_v2": npy("<f8", "(2, 2)", bytes(32), order="True", version=2),
    "i8_v3": npy("<i8", "(3,)", bytes(24), version=3),
    "bool_scalar": npy("|b1", "()", b"\x01"),
    "v2_bf16": npy("<V2", "(4,)", bytes(8)),
    "empty_extent": npy("<f2", "(0, 9223372036854775807)", b""),
    "overflow": npy("<f4", "(4294967296, 4294967296)", bytes(8)),
    "negative": npy("<f4", "(-1,)", bytes(4)),
    "truncated": npy("<f4", "(2, 3)", bytes(23)),
    "trailing": npy("<f4", "(1,)", bytes(5)),
    "structured": npy("<f4", "(1,)", b"").replace(b"'<f4'", b"[('a', '<f4')]"),
    "huge_header": b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
}

SAFETENSORS = {
    "two": safetensors({"a": entry("F32", [2], 0, 8), "b": entry("BF16", [1, 2], 8, 12),
                        "__metadata__": {"k": "v"}}, bytes(12)),
    "empty": safetensors(b"{}", b""),
    "scalar_bool": safetensors({"s": entry("BOOL", [], 0, 1)}, b"\x01"),
    "other_dtype": safetensors({"s": entry("F8_E4M3", [2], 0, 2)}, b"\x01\x02"),
    "overlap": safetensors({"a": entry("U8", [4], 0, 4), "b": entry("U8", [4], 2, 6)}, bytes(6)),
    "gap": safetensors({"a": entry("U8", [2], 2, 4)}, bytes(4)),
    "overflow": safetensors({"a": entry("F64", [1 << 62, 1 << 62], 0, 0)}, b""),
    "negative": safetensors({"a": entry("F64", [-1], 0, 8)}, bytes(8)),
    "duplicate": safetensors(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
                             b'"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"\x00"),
    "deep": safetensors(b'{"a":' + b"[" * 64 + b"]" * 64 + b"}", b""),
    "huge_header": safetensors(b"{}", b"", length=(1 << 64) - 1),
}


def main():
    for folder, files in (("npy", NPY), ("safetensors", SAFETENSORS)):
        (CORPUS / folder).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (CORPUS / folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
