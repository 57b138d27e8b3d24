"""Layers: every include respects scripts/lint/layers.toml, and every quoted include names a file of the tree."""

import pathlib
import re
import tomllib

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def check(root):
    rules = tomllib.loads((root / "scripts" / "lint" / "layers.toml").read_text(encoding="utf-8"))
    problems = list(check_rules(rules))
    for path in tree.files(root, tree.CPP):
        for number, line in enumerate(tree.read(root, path).splitlines(), start=1):
            match = INCLUDE.match(line)
            if match:
                message = judge(root, rules, path, *match.groups())
                if message:
                    problems.append(tree.Problem(path, number, message))
    return problems


def check_rules(rules):
    """A directory may only be allowed what stands on a lower level: then no cycle can be written down."""
    directories = rules["directories"]
    rules_path = pathlib.Path("scripts/lint/layers.toml")
    for name, rule in directories.items():
        for other in rule["may_include"]:
            if other != "*" and directories.get(other, {"level": 99})["level"] >= rule["level"]:
                yield tree.Problem(rules_path, 1, f"{name} may not be allowed {other}: it is not on a lower level")


def judge(root, rules, includer, bracket, target):
    """What is wrong with one include, or None."""
    for pattern in rules["forbidden_headers"]:
        if re.search(pattern, target):
            return f"{target} is of a library that fovea does not build against"
    owner = directory_of(rules, includer)
    if owner is None:
        return "this directory is not in scripts/lint/layers.toml"
    library = bracket == "<" and not target.startswith("fovea/")
    if library or target.startswith(tuple(rules["quoted_libraries"])):
        if any(includer.is_relative_to(directory) for directory in rules["freestanding"]):
            return f"<{target}>: the device tree is freestanding, it includes its own headers only"
        return None
    included = resolve(root, rules, includer, target)
    if included is None:
        return f'"{target}" is not in the tree; system headers are written <{target}>'
    other = directory_of(rules, included)
    allowed = rules["directories"][owner]["may_include"]
    if other == owner or "*" in allowed or other in allowed:
        return None
    return f"{owner} may not include {other or included.parent} ({target})"


def resolve(root, rules, includer, target):
    for base in (includer.parent, *rules["roots"]):
        candidate = (root / base / target).resolve()
        if candidate.is_file() and candidate.is_relative_to(root.resolve()):
            return candidate.relative_to(root.resolve())
    return None


def directory_of(rules, path):
    owners = [name for name in rules["directories"] if path.is_relative_to(name)]
    return max(owners, key=len, default=None)
