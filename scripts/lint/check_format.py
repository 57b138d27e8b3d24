"""Format: clang-format would change nothing. Fix with: clang-format -i FILE."""

import re
import subprocess

import tree

MESSAGE = re.compile(r"^(.*?):(\d+):\d+: (?:error|warning): (.*)$")


def check(root):
    paths = tree.files(root, tree.CPP)
    if not paths:
        return []
    command = ["clang-format", "--dry-run", "-Werror", "--style=file", *map(str, paths)]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True)
    first = {}
    for line in result.stderr.splitlines():
        match = MESSAGE.match(line)
        if match:
            first.setdefault(match.group(1), tree.Problem(match.group(1), int(match.group(2)), "not clang-formatted"))
    if result.returncode != 0 and not first:
        return [tree.Problem(".clang-format", 1, result.stderr.strip())]
    return list(first.values())
