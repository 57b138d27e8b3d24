"""A rough reading of C++: which functions a file defines, how long they are, and which statics can change.

Works on text without comments and literals (tree.blank_out). It follows braces, it does not parse: enough for code
that clang-format has laid out, and it errs towards silence.
"""

import bisect
import re
from typing import NamedTuple

SCOPE = re.compile(r"^(?:inline\s+)?(?:namespace\b|extern\s*$|(?:template\s*<.*>\s*)?(?:class|struct|union|enum)\b)",
                   re.DOTALL)
CONTROL = re.compile(r"^(?:if|for|while|switch|catch|else|do|try|return|case|default)\b")
NOT_A_VARIABLE = re.compile(r"^(?:using|typedef|friend|template|static_assert|namespace|class|struct|union|enum|extern|"
                            r"public|private|protected|requires|concept|return|goto|break|HWY_\w+\s*\(|[A-Z_]+\s*\()")
CONSTANT = re.compile(r"\b(?:const|constexpr|constinit\s+const)\b")
STATIC = re.compile(r"\b(?:static|thread_local)\b")


class Function(NamedTuple):
    name: str
    first_line: int
    lines: int


class Scopes(NamedTuple):
    functions: list
    mutable_statics: list  # (line, declaration)


def parse(code):
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group(0).count("\n"), code, flags=re.MULTILINE)
    starts = [0] + [m.end() for m in re.finditer("\n", code)]
    result = Scopes([], [])
    stack = []  # (kind, start) of the open braces; kind: scope, function or other
    begin = 0  # where the current statement began
    parentheses = 0
    for i, c in enumerate(code):
        if c in "()":
            parentheses += 1 if c == "(" else -1
        elif parentheses > 0 and c in "{};":
            parentheses = _inside_parentheses(stack, c, parentheses)
        elif c == "{":
            head = code[begin:i].strip()
            stack.append((_kind(head, stack), begin + len(code[begin:i]) - len(code[begin:i].lstrip())))
            begin = i + 1 if stack[-1][0] != "other" else begin
        elif c == "}" and stack:
            kind, start = stack.pop()
            if kind == "function":
                result.functions.append(_function(code, starts, start, i))
            if kind == "function" or (kind == "scope" and not _is_type(code, start)):
                begin = i + 1
            elif kind == "scope":
                begin = i
        elif c == ";":
            _judge_statement(code, starts, begin, i, stack, result)
            begin = i + 1
    return result


def _inside_parentheses(stack, c, parentheses):
    """A lambda or initialiser inside a call is followed only as far as its braces balance."""
    if c == "{":
        stack.append(("argument", 0))
    elif c == "}" and stack and stack[-1][0] == "argument":
        stack.pop()
    return parentheses


def _kind(head, stack):
    if SCOPE.search(head) and not head.endswith(")") or not head:
        return "scope"
    if any(kind == "function" for kind, _ in stack) or head.endswith(("=", ",", "return")) or CONTROL.search(head):
        return "other"
    return "function" if ")" in head else "other"


def _line(starts, position):
    return bisect.bisect_right(starts, position)


def _function(code, starts, start, end):
    head = code[start : code.index("{", start)]
    name = re.search(r"([\w:~]+|operator\S+)\s*\(", head)
    first = _line(starts, start)
    return Function(name.group(1) if name else "function", first, _line(starts, end) - first + 1)


def _judge_statement(code, starts, begin, end, stack, result):
    """A variable that can change: at namespace scope any, elsewhere one that is static or thread_local."""
    statement = " ".join(code[begin:end].split())
    if not statement or statement[0] in "}," or NOT_A_VARIABLE.search(statement) or CONSTANT.search(statement):
        return  # a leading brace or comma is the tail of a type or of an initialiser
    declarator = re.split(r"[={]", statement, maxsplit=1)[0]
    if "(" in declarator or len(declarator.split()) < 2:
        return
    at_namespace_scope = all(kind == "scope" for kind, _ in stack) and not _in_class(code, stack)
    if STATIC.search(declarator) or at_namespace_scope:
        line = _line(starts, begin + len(code[begin:end]) - len(code[begin:end].lstrip()))
        result.mutable_statics.append((line, statement[:60]))


def _in_class(code, stack):
    return any(_is_type(code, start) for kind, start in stack if kind == "scope")


def _is_type(code, start):
    return bool(re.search(r"\b(?:class|struct|union|enum)\b", code[start : code.find("{", start)]))
