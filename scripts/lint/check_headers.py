"""Headers: each one compiles alone, with the project's warnings; fovea.h also as C99.

A header that some source file includes first has been compiled alone by the build; only the others are compiled here.
"""

import concurrent.futures
import os
import pathlib
import platform
import re
import subprocess

import tree

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
C_HEADER = pathlib.Path("include/fovea/fovea.h")
INCLUDES = ["-Iinclude", "-Isrc", "-I.", "-Itools", "-Itests", "-Idevice"]
# Kernel sources see one of two isa/ directories; host compilers know the words of CUDA C++ in neither.
MODEL = ["-Imodel"]
PTX = ["-Idevice/isa_ptx", "-D__shared__="]


def check(root):
    headers = tree.files(root, {".h", ".hpp"})
    first = first_includes(root)
    headers = [header for header in headers if header == C_HEADER or not f"/{header.as_posix()}".endswith(first)]
    commands = [(header, ["g++", "-std=c++20", "-x", "c++", *target_flags(header)]) for header in headers]
    if C_HEADER in headers:
        commands.append((C_HEADER, ["gcc", "-std=c99", "-x", "c"]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = pool.map(lambda item: compile_alone(root, *item), commands)
        return [problem for problem in results if problem]


def first_includes(root):
    """What the source files include first, as ends of paths."""
    found = set()
    for path in tree.files(root, {".cpp"}):
        match = INCLUDE.search(tree.read(root, path))
        if match:
            found.add("/" + match.group(1))
    return tuple(found)


def target_flags(header):
    """Files named *-inl.h are compiled by the library once per vector target; here, for one with 256-bit vectors."""
    vector_code = header.name.endswith("-inl.h") and platform.machine() == "x86_64"
    isa = PTX if header.as_posix().startswith("device/isa_ptx/") else MODEL
    return isa + (["-march=x86-64-v3"] if vector_code else [])


def compile_alone(root, header, compiler):
    command = [*compiler, *WARNINGS, *INCLUDES, "-fsyntax-only", "-include", str(header), os.devnull]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if result.returncode == 0:
        return None
    first = next((line for line in result.stderr.splitlines() if "error" in line), result.stderr.strip())
    return tree.Problem(header, 1, f"does not compile alone as {compiler[1][5:]}: {first}")
