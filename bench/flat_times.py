"""flat_loop.cu on this GPU: the kernel through the driver, and its times beside those of fovea. For flat_loop.py."""

import ctypes
import json
import math

import bench_gpu
import fovea_abi
import torch

SMEM_BYTES = 230400
THREADS = 384


class Params(ctypes.Structure):
    """As in flat_loop.cu."""

    _fields_ = [
        ("maps", (ctypes.c_ubyte * 128) * 4),
        ("lse", ctypes.c_void_p),
        ("counter", ctypes.c_void_p),
        *((name, ctypes.c_float) for name in ("scale", "scale_log2")),
        *((name, ctypes.c_int) for name in ("seqlen", "heads", "batch", "causal")),
        *((name, ctypes.c_uint) for name in ("heads_in_flight", "head_groups", "tiles")),
    ]


class FlatKernel:
    """The flat kernel in the current context."""

    def __init__(self, cubin):
        self.driver = ctypes.CDLL("libcuda.so.1")
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        self.call("cuModuleGetFunction", ctypes.byref(self.function), module, b"fwd_flat")
        self.call("cuFuncSetAttribute", self.function, 8, SMEM_BYTES)  # MAX_DYNAMIC_SHARED_SIZE_BYTES

    def call(self, name, *arguments):
        status = getattr(self.driver, name)(*arguments)
        if status != 0:
            raise SystemExit(f"{name}: driver error {status}")

    def map_rows(self, to, tensor, box_rows):
        """A map of [B, S, H, 128] bf16 with boxes of 64 columns, 128-byte swizzle."""
        batch, rows, heads, dim = tensor.shape
        dims = (ctypes.c_uint64 * 4)(dim, rows, heads, batch)
        strides = (ctypes.c_uint64 * 3)(*(2 * tensor.stride(i) for i in (1, 2, 0)))
        box, steps = (ctypes.c_uint32 * 4)(64, box_rows, 1, 1), (ctypes.c_uint32 * 4)(1, 1, 1, 1)
        aligned = (ctypes.c_ubyte * 192)()
        place = ctypes.addressof(aligned) + -ctypes.addressof(aligned) % 64
        # BFLOAT16, no interleave, 128-byte swizzle, 256-byte promotion, zeros outside.
        self.call("cuTensorMapEncodeTiled", ctypes.c_void_p(place), 9, 4, ctypes.c_void_p(tensor.data_ptr()), dims,
                  strides, box, steps, 0, 3, 3, 0)  # fmt: skip
        ctypes.memmove(to, place, 128)

    def prepared(self, q, k, v, out, lse, counter, causal, order, stream):
        batch, seqlen, heads, dim = q.shape
        params = Params(lse=lse.data_ptr(), counter=counter.data_ptr(), scale=dim**-0.5, seqlen=seqlen, heads=heads)
        params.batch, params.causal = batch, causal
        params.heads_in_flight, params.head_groups = order["heads_in_flight"], order["head_groups"]
        params.scale_log2, params.tiles = params.scale / math.log(2), batch * heads * (seqlen // 128)
        for to, tensor, rows in zip(params.maps, (q, k, v, out), (128, 128, 128, 16)):
            self.map_rows(to, tensor, rows)
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(params))
        grid = min(torch.cuda.get_device_properties(0).multi_processor_count, params.tiles)

        def launch(params=params):  # which `pointers` point to
            self.call("cuLaunchKernel", self.function, grid, 1, 1, THREADS, 1, 1, SMEM_BYTES, ctypes.c_void_p(stream),
                      pointers, None)  # fmt: skip

        return launch


def measure(kernel, context, seqlen, causal, rounds):
    """TFLOP/s by contestant."""
    batch, heads = bench_gpu.TOKENS // seqlen, bench_gpu.HIDDEN // 128
    q, k, v = (torch.randn(batch, seqlen, heads, 128, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    outs = [torch.full_like(q, math.nan) for _ in range(2)]
    lses = [torch.full((batch, heads, seqlen), math.nan, device="cuda") for _ in range(2)]
    counter = torch.zeros(2, dtype=torch.int32, device="cuda")
    stream = torch.cuda.current_stream().cuda_stream
    call = {"q": q, "k": k, "v": v, "out": outs[0], "lse": lses[0], "causal": causal, "backend": "cuda"}
    plan = json.loads(context.explain(fovea_abi.JSON, **call))["plan"]
    calls = {
        "fovea": context.prepared(**call, stream=stream),
        "flat": kernel.prepared(q, k, v, outs[1], lses[1], counter, causal, plan, stream),
    }
    if calls["fovea"]() != 0:
        raise SystemExit(f"fovea refused seqlen={seqlen}")
    calls["flat"]()
    bench_gpu.require_close(outs[1], outs[0], f"seqlen={seqlen} causal={causal}")
    bench_gpu.require_close(lses[1], lses[0], f"lse, seqlen={seqlen} causal={causal}")
    return bench_gpu.teraflops(bench_gpu.best_ms(calls, rounds), seqlen, causal)


def print_times(cubin, rounds):
    if torch.cuda.get_device_capability()[0] != 9:
        print(f"not timed: {torch.cuda.get_device_name()} is no Hopper GPU, which both kernels are for")
        return
    print(f"\n{torch.cuda.get_device_name()}: head dim 128, bf16, 16384 tokens, TFLOP/s")
    print("| seqlen | causal | fovea | flat | fovea/flat |", "|" + "---:|" * 5, sep="\n")
    torch.zeros(1, device="cuda")
    ratios = []
    with fovea_abi.Library().context() as context:
        kernel = FlatKernel(cubin)
        for causal in (False, True):
            for seqlen in bench_gpu.LENGTHS:
                rate = measure(kernel, context, seqlen, causal, rounds)
                ratios.append(rate["fovea"] / rate["flat"])
                cells = [seqlen, "yes" if causal else "no", *(f"{rate[n]:.0f}" for n in ("fovea", "flat"))]
                print("| " + " | ".join(map(str, cells)) + f" | {ratios[-1]:.3f} |", flush=True)
    print(f"geometric mean of fovea/flat {bench_gpu.geometric_mean(ratios):.3f}, lowest {min(ratios):.3f}")
