#!/usr/bin/env python3
"""fwd_wgmma against a flat loop written by hand (flat_loop.cu): what typed layouts and role functions cost.

Compiles both for sm_90a with the same NVRTC and prints registers, spills, instructions of the kernel, and instructions
that one step of the main loop executes where nothing is hidden and no maximum grows. That needs no GPU. On Hopper it
also runs both in turns of random order on the shapes of bench_gpu.py (head dim 128), after a comparison of results.

flat_loop.py [--cli build/fovea] [--rounds N] [--max-loop R] [--static]
--max-loop: exit code 1 when fwd_wgmma's step takes more than R times the flat one's instructions.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import sass

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "isa"))

import nvrtc  # noqa: E402

SPEC = ("bf16, .head_dim_qk = 128", "head_dim_v = 128", "ScoreForm::scaled", "Loads::vector", "Family::wgmma")


def kernels(cli, *arguments):
    command = [str(cli), "kernels", *arguments, "--arch", "sm_90a"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def compiled(compiler, source, headers):
    """(cubin, the compiler's report)."""
    options = (*nvrtc.PROJECT_OPTIONS, "--ptxas-options=-v")
    cubin, report = compiler.compile(source, "sm_90a", headers, options)
    if cubin is None:
        raise SystemExit(report)
    return cubin, report


def fwd_wgmma(compiler, cli, words=SPEC):
    """(cubin, report) of the first of the library's kernels whose spec has all these words."""
    listed = json.loads(kernels(cli, "list", "--format", "json"))["kernels"]
    index = next(i for i, k in enumerate(listed) if all(word in k["spec"] for word in words))
    stub = kernels(cli, "dump", "--index", str(index), "--form", "stub")
    return compiled(compiler, stub, nvrtc.project_headers(ROOT))


def flat(compiler):
    return compiled(compiler, (ROOT / "bench" / "flat_loop.cu").read_text(), {})


def describe(nvdisasm, cubin, report):
    """{column: value} of one kernel."""
    spills = sum(int(n) for n in re.findall(r"(\d+) bytes spill", report))
    found = {"registers": re.search(r"Used (\d+) registers", report)[1], "spills, bytes": spills}
    found["ptxas serialises"] = "yes" if "C75" in report else "no"
    if nvdisasm is None:
        return found
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        instructions, labels = sass.disassemble(nvdisasm, file.name)
    path = sass.common_path(instructions, labels, sass.main_loop(instructions, labels))
    counts = sass.summary(path)
    found |= {"instructions": len(instructions), "of a step": len(path)}
    found["FFMA that reuse an operand"] = sass.reusing(path, "FFMA")
    found["LDL and STL of a step"] = counts.get("LDL", 0) + counts.get("STL", 0)
    return found | {f"of these {name}": counts.get(name, 0) for name in ("MUFU", "FMNMX", "FADD", "FFMA", "R2UR")}


def print_code(columns):
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    print("| | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns), sep="\n")
    for name in names:
        print(f"| {name} | " + " | ".join(str(column.get(name, "")) for column in columns.values()) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cli", type=pathlib.Path, default=ROOT / "build" / "fovea")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--max-loop", type=float)
    parser.add_argument("--static", action="store_true", help="no GPU: the code alone")
    options = parser.parse_args()
    compiler, why = nvrtc.find()
    if compiler is None:
        raise SystemExit(why)
    nvdisasm = nvrtc.find_nvdisasm()
    if nvdisasm is None:
        print("no nvdisasm (pip install nvidia-cuda-nvdisasm, or the CUDA toolkit): instructions are not counted")
    made = {"fwd_wgmma": fwd_wgmma(compiler, options.cli), "flat": flat(compiler)}
    columns = {name: describe(nvdisasm, *code) for name, code in made.items()}
    print_code(columns)
    if not options.static:
        import flat_times  # torch, with a GPU

        flat_times.print_times(made["flat"][0], options.rounds)
    if options.max_loop and nvdisasm:
        ratio = columns["fwd_wgmma"]["of a step"] / columns["flat"]["of a step"]
        if ratio > options.max_loop:
            raise SystemExit(f"a step takes {ratio:.3f} times the flat loop's instructions, above {options.max_loop}")


if __name__ == "__main__":
    main()
