#!/usr/bin/env python3
"""Builds conformance_gpu: cubins by NVRTC, linked into one program that needs nothing but a CUDA driver.

build_gpu.py FOLDER [--arch sm_90a]. Run FOLDER/conformance_gpu OUTPUT_FOLDER on a machine with that GPU; copy its
golden.bin to tests/conformance/golden/<gpu>.bin. wide.bin is for study and is not committed; FOLDER/subnormal_rules
reads it.
"""

import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "isa"))

import nvrtc  # noqa: E402

COMMON = ("inputs.cpp", "vectors.cpp")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--arch", default="sm_90a")
    arguments = parser.parse_args()
    compiler, reason = nvrtc.find()
    if compiler is None:
        sys.exit(reason)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    headers = nvrtc.project_headers(ROOT)
    headers |= {path.name: path.read_text(encoding="utf-8") for path in HERE.glob("*.h")}
    embedded = arguments.folder / "cubins.cpp"
    kernels = '#include "kernels.h"\n'
    sweeps = (HERE / "sweep.cu").read_text(encoding="utf-8")
    embedded.write_text(
        array("fovea_conformance_cubin", cubin(compiler, kernels, arguments.arch, headers))
        + array("fovea_sweep_cubin", cubin(compiler, sweeps, arguments.arch, headers)),
        encoding="utf-8",
    )
    link(arguments.folder / "subnormal_rules", ["subnormal_rules.cpp", *COMMON])
    link(arguments.folder / "conformance_gpu", ["conformance_gpu.cpp", "cuda_driver.cpp", *COMMON], [embedded])


def link(program, sources, others=()):
    command = ["g++", "-std=c++20", "-O2", f"-I{ROOT / 'device'}", f"-I{ROOT / 'tests'}"]
    command += [str(HERE / source) for source in sources] + [str(other) for other in others]
    command += ["-o", str(program), "-static-libstdc++", "-static-libgcc", "-ldl"]
    subprocess.run(command, check=True)
    print(program)


def cubin(compiler, source, architecture, headers):
    image, log = compiler.compile(source, architecture, headers)
    if image is None:
        sys.exit(log)
    return image


def array(name, image):
    bytes_ = ",".join(str(byte) for byte in image)
    return f'extern "C" {{\nalignas(64) extern const unsigned char {name}[] = {{{bytes_}}};\n}}\n'


if __name__ == "__main__":
    main()
