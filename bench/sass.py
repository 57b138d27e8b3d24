"""SASS of a kernel, by nvdisasm: which instructions one turn of its main loop executes.

The main loop is the smallest one with products of both kinds, Q K^T and P V. Its common path is found from branches: a
forward branch inside the loop is taken (it leaves out what is rarely due: hidden keys, raised maxima, a rescaled
output); one that leaves the loop is not (the slow side of a wait).
"""

import collections
import re
import subprocess

LABEL = re.compile(r"^(\.L_\w+):")
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+((?:@!?U?P\w+\s+)?[A-Z][\w.]*.*?);")
TARGET = re.compile(r"`\((\.L_\w+)\)")


def disassemble(nvdisasm, cubin_file):
    """(instructions as texts, label -> index) of the first function of a file."""
    text = subprocess.run([nvdisasm, "-c", str(cubin_file)], check=True, capture_output=True, text=True).stdout
    instructions, labels = [], {}
    for line in text.splitlines():
        if label := LABEL.match(line):
            labels[label[1]] = len(instructions)
        elif found := INSTRUCTION.search(line):
            instructions.append(found[1].strip())
    return instructions, labels


def mnemonic(instruction):
    """The operation without guard and modifiers."""
    words = instruction.split()
    return words[1 if words[0].startswith("@") else 0].split(".")[0]


def branch_target(instruction, labels):
    found = TARGET.search(instruction)
    return labels.get(found[1]) if mnemonic(instruction) == "BRA" and found else None


def main_loop(instructions, labels):
    """(first, last) index of the main loop."""
    loops = []
    for last, instruction in enumerate(instructions):
        first = branch_target(instruction, labels)
        if first is not None and first <= last:
            body = instructions[first : last + 1]
            if {"tnspB" in i for i in body if mnemonic(i) == "HGMMA"} == {True, False}:  # V is read transposed
                loops.append((last - first, first, last))
    if not loops:
        raise ValueError("no loop with both products")
    _, first, last = min(loops)
    return first, last


def common_path(instructions, labels, loop):
    """The instructions of one turn, as described above."""
    first, last = loop
    path, at = [], first
    while at <= last:
        path.append(instructions[at])
        target = branch_target(instructions[at], labels)
        at = target if target is not None and at < target <= last else at + 1
    return path


def reusing(path, operation):
    """How many instructions of a kind find an operand in the reuse cache, or leave it there."""
    return sum(".reuse" in instruction for instruction in path if mnemonic(instruction) == operation)


def summary(path):
    """{operation: count} of a path, most frequent first."""
    return dict(collections.Counter(map(mnemonic, path)).most_common())
