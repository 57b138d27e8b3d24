"""Headers: each one compiles alone, with the project's warnings; fovea.h also as C99."""

import concurrent.futures
import os
import pathlib
import platform
import subprocess

import tree

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
C_HEADER = pathlib.Path("include/fovea/fovea.h")
INCLUDES = ["-Iinclude", "-Isrc", "-I.", "-Itools", "-Itests"]


def check(root):
    headers = tree.files(root, {".h", ".hpp"})
    commands = [(header, ["g++", "-std=c++20", "-x", "c++", *target_flags(header)]) for header in headers]
    if C_HEADER in headers:
        commands.append((C_HEADER, ["gcc", "-std=c99", "-x", "c"]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = pool.map(lambda item: compile_alone(root, *item), commands)
        return [problem for problem in results if problem]


def target_flags(header):
    """Files named *-inl.h are compiled once per vector target by the library; here, for one that has 256-bit vectors."""
    vector_code = header.name.endswith("-inl.h") and platform.machine() == "x86_64"
    return ["-march=x86-64-v3"] if vector_code else []


def compile_alone(root, header, compiler):
    command = [*compiler, *WARNINGS, *INCLUDES, "-fsyntax-only", "-include", str(header), os.devnull]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if result.returncode == 0:
        return None
    first = next((line for line in result.stderr.splitlines() if "error" in line), result.stderr.strip())
    return tree.Problem(header, 1, f"does not compile alone as {compiler[1][5:]}: {first}")
