#!/usr/bin/env python3
"""The instruction contract as data: reads the declarations of both sides, compares them and writes docs/isa.md.

isa_table.py writes docs/isa.md from device/isa_ptx; --check fails when that file is stale, when device/isa_ptx and
model/isa differ in a function, a parameter type or a result type, or when a function lacks its section comment.
Whether an instruction assembles for a target is tests/isa's business.
"""

import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PTX = pathlib.Path("device/isa_ptx/isa")
MODEL = pathlib.Path("model/isa")
DOCUMENT = pathlib.Path("docs/isa.md")

SECTION = re.compile(r"^// ([A-Z][\w\- ]+|mbarrier): (\S+), (sm_\d+a?\+?)\.", re.MULTILINE)
FUNCTION = re.compile(
    r"(?:template <(?P<template>[^>]*)>\s*)?(?:requires \w+<\w+>\s*)?"
    r"FOVEA_INLINE (?P<result>[\w<>, ]+?) (?P<name>\w+)\((?P<parameters>[^()]*)\) \{"
)
OPCODE = re.compile(r'(?:^|[;{"]\s*|0; |p; )([a-z]\w*(?:[.:]+[\w]+)+|trap)(?=[ ;])')
SCAFFOLD = ("setp.", "selp.", "cvta.", "cvt.u32.u64")
NO_INSTRUCTION = "-"


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    template: tuple  # kinds of the template parameters: int, class or a concept
    parameters: tuple
    result: str
    family: str = dataclasses.field(compare=False, default="")
    section: tuple | None = dataclasses.field(compare=False, default=None)  # (section, instruction, architecture)
    opcodes: tuple = dataclasses.field(compare=False, default=())

    def signature(self):
        template = f"<{', '.join(self.template)}>" if self.template else ""
        return f"{self.result} {self.name}{template}({', '.join(self.parameters)})"

    @property
    def architecture(self):
        """sm_NN: from there on; sm_NNa: there only; sm_NNa+: from there on, architecture-specific targets only."""
        return self.section[2]

    def legal_on(self, target):
        """Whether `target`, such as sm_90a, has the instruction."""
        if self.architecture.endswith("a"):
            return target == self.architecture
        if self.architecture.endswith("+") and not target.endswith("a"):
            return False
        return version(target) >= version(self.architecture)


def version(architecture):
    return int(re.search(r"\d+", architecture).group())


def read(root, directory):
    """All functions of one side, in the order of files and lines."""
    functions = []
    for path in sorted((root / directory).glob("*.h")):
        functions += parse(path.stem, path.read_text(encoding="utf-8"))
    return functions


def parse(family, text):
    text = drop_details(text)
    sections = [(match.start(), match.groups()) for match in SECTION.finditer(text)]
    matches = list(FUNCTION.finditer(text))
    for i, match in enumerate(matches):
        names = [parameter.split()[-1] for parameter in split(match["template"] or "")]
        section = next((groups for start, groups in reversed(sections) if start < match.start()), None)
        end = matches[i + 1].start() if i + 1 < len(matches) else len(text)
        yield Function(
            name=match["name"],
            template=tuple(parameter.split()[0] for parameter in split(match["template"] or "")),
            parameters=tuple(type_of(parameter, names) for parameter in split(match["parameters"])),
            result=numbered(match["result"], names),
            family=family,
            section=section,
            opcodes=opcodes(text[match.end() : end]),
        )


def drop_details(text):
    """Without the namespaces that a side keeps for itself."""
    return re.sub(r"namespace detail \{.*?\n\}  // namespace detail\n", "", text, flags=re.DOTALL)


def split(text):
    """At the commas that stand in no angle brackets."""
    text = re.sub(r"/\*.*?\*/", "", text)
    parts = [""]
    depth = 0
    for character in text:
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def type_of(parameter, template_names):
    """The parameter's type; its name, when it has one, is the last word after a complete type."""
    match = re.match(r"^((?:const )?\w+(?:<.*>)?[*&]*)\s*\w*$", parameter)
    return numbered(match.group(1), template_names)


def numbered(text, template_names):
    """Template parameters by position: both sides may name them as they like."""
    for i, name in enumerate(template_names):
        text = re.sub(rf"\b{name}\b", f"${i}", text)
    return " ".join(text.split())


def opcodes(body):
    """What the asm statements of a body execute, without the moves around it; shapes and types shown once."""
    found = []
    for statement in re.findall(r"asm(?: volatile)?\(\s*((?:\"[^\"]*\"|\s|FOVEA_\w+)+)", body):
        text = "".join(re.findall(r'"([^"]*)"', statement))
        for opcode in OPCODE.findall(f'"{text}'):
            if not opcode.startswith(SCAFFOLD) and opcode not in found:
                found.append(opcode)
    return tuple(found)


def differences(ptx, model):
    """What one side declares and the other does not."""
    problems = []
    for title, mine, theirs in ((PTX, ptx, model), (MODEL, model, ptx)):
        other = set(theirs)
        problems += [f"{title} alone declares {f.signature()}" for f in mine if f not in other]
        duplicates = {f.signature() for f in mine if mine.count(f) > 1}
        problems += [f"{title} declares {signature} twice" for signature in sorted(duplicates)]
    return problems


def untold(ptx):
    """Functions whose section comment is missing or names another instruction than the body executes."""
    for f in ptx:
        if f.section is None:
            yield f"{f.family}.h: {f.name} has no section comment"
            continue
        instruction = f.section[1]
        if instruction == NO_INSTRUCTION or instruction.startswith(("%", ".")):
            continue
        strange = [opcode for opcode in f.opcodes if not executes(opcode, instruction)]
        if strange:
            yield f"{f.family}.h: {f.name} stands below {instruction} but executes {strange[0]}"


def executes(opcode, instruction):
    words = opcode.replace("::", ".").split(".")
    wanted = instruction.split(".")
    if words[0] == "mbarrier" and wanted[0] == "mbarrier":
        return words[1] == wanted[1]
    return words[0] == wanted[0] and all(word in words for word in wanted)


def render(ptx):
    lines = [
        "# Instructions",
        "",
        "Written by `scripts/isa_table.py` from `device/isa_ptx/isa`. Every function of the contract is declared alike",
        "in `device/isa_ptx/isa` (PTX, for NVRTC) and `model/isa` (run on the host): `isa_table.py --check` compares.",
        "`tests/isa` compiles every function for every target from its minimum architecture on, and sees it refused",
        "below. `sm_90a` functions exist on that target only, `sm_90a+` ones on every target from there on whose name",
        "ends in `a`. `$0`, `$1` stand for template parameters.",
    ]
    for family in dict.fromkeys(f.family for f in ptx):
        lines += ["", f"## {family}", "", "| function | PTX | from | section |", "|---|---|---|---|"]
        for f in (f for f in ptx if f.family == family):
            section = "" if f.section[1] == NO_INSTRUCTION else f.section[0]
            lines.append(f"| `{f.signature()}` | {mnemonics(f)} | {f.architecture} | {section} |")
    return "\n".join(lines) + "\n"


def mnemonics(function):
    """One mnemonic, or the first and the last of a long list."""
    if not function.opcodes:
        return ""
    if len(function.opcodes) <= 2:
        return ", ".join(f"`{opcode}`" for opcode in function.opcodes)
    return f"`{function.opcodes[0]}` ... `{function.opcodes[-1]}`"


def main():
    ptx = read(ROOT, PTX)
    problems = list(untold(ptx))
    if "--check" not in sys.argv[1:] and not problems:
        (ROOT / DOCUMENT).write_text(render(ptx), encoding="utf-8")
        return 0
    problems += differences(ptx, read(ROOT, MODEL))
    if not problems and (ROOT / DOCUMENT).read_text(encoding="utf-8") != render(ptx):
        problems.append(f"{DOCUMENT} is stale: run scripts/isa_table.py")
    print("\n".join(problems) or f"isa: {len(ptx)} functions, both sides alike")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
