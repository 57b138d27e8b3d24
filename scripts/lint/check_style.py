"""Style that no compiler checks: opening comments, sizes, phrases that hide a duplicate, state and environment.

Layout within a line is clang-format's business (check_format.py).
"""

import re

import cpp_scopes
import tree

MAX_COLUMNS = 120
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_DEVICE_FUNCTION_LINES = 80
TEXT = tree.CODE | {".md", ".txt", ".json", ".toml", ".in", ".map"}

# A table or a switch over an enum may be long, when the comment above the function gives the reason in one line.
EXPLAINED = re.compile(r"Long on purpose: \S")

# The lints and their tests spell out what they forbid.
SPELLS_OUT = ("scripts/lint", "tests/lint")
PHRASES = re.compile(r"(?i:must match|keep in sync)|\bTODO\b|\bFIXME\b")
MACHINE_PATH = re.compile(r"""(?:^|[\s"'`(=:])(/(?:work|home|root|opt|tmp|mnt|Users)/\S*)""")
ENVIRONMENT = re.compile(r"\b(?:secure_)?getenv\b")
MAY_READ_ENVIRONMENT = ("src/core/config.cpp", "tools/fovea", "tests")
MAY_HOLD_STATE = ("tests", "python/binding/context.cpp")


def check(root):
    problems = []
    for path in tree.files(root, TEXT):
        text = tree.read(root, path)
        problems += text_problems(path, text)
        if path.suffix in tree.CODE or path.name == "CMakeLists.txt":
            problems += code_problems(path, text)
        if path.suffix in tree.CPP:
            problems += cpp_problems(path, text)
    return problems


def under(path, places):
    return any(path.is_relative_to(place) for place in places)


def text_problems(path, text):
    """For every kind of text, documents included."""
    if under(path, SPELLS_OUT):
        return
    for number, line in enumerate(text.splitlines(), start=1):
        found = MACHINE_PATH.search(line)
        if found:
            yield tree.Problem(path, number, f"a path of one machine: {found.group(1)}")


def code_problems(path, text):
    lines = text.splitlines()
    if not opens_with_comment(path, lines):
        yield tree.Problem(path, 1, "does not open with a comment that says what it is")
    if len(lines) > MAX_FILE_LINES:
        yield tree.Problem(path, len(lines), f"{len(lines)} lines; {MAX_FILE_LINES} at most: one idea per file")
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_COLUMNS:
            yield tree.Problem(path, number, f"{len(line)} columns; {MAX_COLUMNS} at most")
        found = PHRASES.search(line)
        if found and not under(path, SPELLS_OUT):
            yield tree.Problem(path, number, f'"{found.group(0)}": make it one place, or an issue')


def explained(text, first_line):
    """Whether the comment right above says why the function is long."""
    lines = text.splitlines()[: first_line - 1]
    while lines and lines[-1].lstrip().startswith("//"):
        if EXPLAINED.search(lines.pop()):
            return True
    return False


def opens_with_comment(path, lines):
    lines = [line for line in lines if line.strip() and not line.startswith("#!")]
    if not lines:
        return path.name == "__init__.py"
    if path.suffix in tree.CPP:
        return lines[0].startswith(("//", "/*"))
    return lines[0].startswith(("#", '"""', 'r"""'))


def cpp_problems(path, text):
    code = tree.blank_out(text)
    if ENVIRONMENT.search(code) and not under(path, MAY_READ_ENVIRONMENT):
        number = code[: ENVIRONMENT.search(code).start()].count("\n") + 1
        yield tree.Problem(path, number, "reads the environment; src/core/config.cpp is the one place that does")
    scopes = cpp_scopes.parse(code)
    limit = MAX_DEVICE_FUNCTION_LINES if under(path, ["device"]) else MAX_FUNCTION_LINES
    for function in scopes.functions:
        if function.lines > limit and not explained(text, function.first_line):
            message = f"{function.name} has {function.lines} lines; {limit} at most"
            yield tree.Problem(path, function.first_line, message)
    if not under(path, MAY_HOLD_STATE):
        for number, declaration in scopes.mutable_statics:
            yield tree.Problem(path, number, f"mutable static state: {declaration}")


