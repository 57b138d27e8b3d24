"""The files that lints look at, and the shape of what they report. What is right or wrong is each lint's business."""

import os
import pathlib
from typing import NamedTuple

SKIPPED_DIRECTORIES = {".git", ".venv", ".cache", "__pycache__", ".pytest_cache"}
CPP = {".h", ".hpp", ".c", ".cpp"}
CODE = CPP | {".py", ".sh", ".cmake"}


class Problem(NamedTuple):
    path: pathlib.Path
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


def files(root, suffixes):
    """Paths below `root` with one of `suffixes`, relative to it, sorted; build directories are left out."""
    found = []
    for directory, names, entries in os.walk(root):
        names[:] = sorted(name for name in names if name not in SKIPPED_DIRECTORIES and not name.startswith("build"))
        for entry in entries:
            path = pathlib.Path(directory, entry)
            if path.suffix in suffixes or (entry == "CMakeLists.txt" and ".cmake" in suffixes):
                found.append(path.relative_to(root))
    return sorted(found)


def read(root, path):
    return (root / path).read_text(encoding="utf-8")


def blank_out(text):
    """C++ text with comments and the insides of literals replaced by spaces; line numbers stay."""
    out = []
    i = 0
    while i < len(text):
        end = _end_of_opaque(text, i)
        if end == i:
            out.append(text[i])
            i += 1
        else:
            out.append("".join("\n" if c == "\n" else " " for c in text[i:end]))
            i = end
    return "".join(out)


def _end_of_opaque(text, i):
    """The end of the comment or literal that starts at `i`; `i` itself when none does."""
    if text.startswith("//", i):
        end = text.find("\n", i)
        return len(text) if end < 0 else end
    if text.startswith("/*", i):
        end = text.find("*/", i + 2)
        return len(text) if end < 0 else end + 2
    if text.startswith('R"', i):
        delimiter = text[i + 2 : text.find("(", i)]
        end = text.find(")" + delimiter + '"', i)
        return len(text) if end < 0 else end + len(delimiter) + 2
    if text[i] == '"' or (text[i] == "'" and not (i > 0 and text[i - 1].isalnum())):
        quote, i = text[i], i + 1
        while i < len(text) and text[i] not in (quote, "\n"):
            i += 2 if text[i] == "\\" else 1
        return min(i + 1, len(text))
    return i
