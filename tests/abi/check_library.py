#!/usr/bin/env python3
"""Looks at a built libfovea.so: check_library.py symbols|dependencies LIBRARY HEADER.

symbols: what the library exports is exactly what fovea.h declares. dependencies: neither the libraries that it needs
nor the symbols that it imports belong to CUDA, torch or Python.
"""

import re
import subprocess
import sys

FOREIGN_LIBRARY = re.compile(r"cuda|nvrtc|nvidia|cublas|cudnn|torch|c10|python", re.IGNORECASE)
FOREIGN_SYMBOL = re.compile(r"^(cu[A-Z]|cuda[A-Z]|nvrtc[A-Z]|_?Py[A-Z_]|_ZN?K?2at|_ZN?K?3c10|_ZN?K?5torch|THP)")


def declared(header_text):
    """Names of the functions that the header declares as exported."""
    text = re.sub(r"/\*.*?\*/", "", header_text, flags=re.DOTALL)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    return set(re.findall(r"\bFOVEA_API\b[^;]*?\b(fovea_\w+)\s*\(", text))


def symbols(library, which):
    """Names in the dynamic symbol table; `which` is --defined-only or --undefined-only."""
    command = ["nm", "-D", which, "--format=posix", library]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line.split()[0].split("@")[0] for line in output.splitlines() if line.strip()}


def needed(library):
    output = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", output))


def check_symbols(library, header):
    with open(header, encoding="utf-8") as file:
        wanted = declared(file.read())
    found = symbols(library, "--defined-only")
    problems = [f"declared, not exported: {name}" for name in sorted(wanted - found)]
    problems += [f"exported, not declared: {name}" for name in sorted(found - wanted)]
    if not wanted:
        problems.append(f"{header} declares no function")
    return problems


def check_dependencies(library, _header):
    problems = [f"needs the library {name}" for name in sorted(needed(library)) if FOREIGN_LIBRARY.search(name)]
    imported = symbols(library, "--undefined-only")
    return problems + [f"imports the symbol {name}" for name in sorted(imported) if FOREIGN_SYMBOL.search(name)]


def main():
    check = {"symbols": check_symbols, "dependencies": check_dependencies}[sys.argv[1]]
    problems = check(sys.argv[2], sys.argv[3])
    print("\n".join(problems) or f"{sys.argv[1]}: as they should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
