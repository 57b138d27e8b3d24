#!/usr/bin/env python3
"""Ring attention: a sequence that is spread over processes, with fovea.attention per block and fovea.merge_states.

Each rank holds one contiguous shard of q, k and v along the sequence. The k and v shards travel round the ring while
the block at hand is computed; partial results are merged by their logsumexp. Shards of different ranks have the same
size. Causal blocks that lie entirely above the diagonal are skipped, so the last ranks compute the most.
Forward only. Runs with gloo on CPUs and with NCCL on GPUs, one per rank.

    python examples/ring_attention.py --processes 2 --causal
    torchrun --nproc-per-node 2 examples/ring_attention.py --causal
"""

import argparse
import os
import pathlib
import tempfile

import torch
import torch.distributed as dist

import fovea


def ring_attention(q, k, v, *, causal=False, scale=None, sink=None, group=None):
    """Attention of this rank's queries over the keys of all ranks.

    Args:
      q: [B, S, Hq, Dqk]; k: [B, Sk, Hkv, Dqk]; v: [B, Sk, Hkv, Dv]: shards number `rank` of the sequence, fp32, bf16 or
        fp16. S and Sk are the same on every rank; causal needs S == Sk.
      scale: default 1/sqrt(Dqk). sink: fp32 [Hq], one more score per head, counted once.
      group: the process group; default: all processes.

    Returns:
      (out [B, S, Hq, Dv] in the dtype of q, lse fp32 [B, Hq, S]).
    """
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    block = [k.contiguous(), v.contiguous()]
    spare = [torch.empty_like(tensor) for tensor in block]
    # Partial results stay in fp32; (0, -inf) is the result over no keys.
    out = q.new_zeros((*q.shape[:3], v.shape[3]), dtype=torch.float32)
    lse = q.new_full((q.shape[0], q.shape[2], q.shape[1]), -torch.inf, dtype=torch.float32)
    part, part_lse = torch.empty_like(out), torch.empty_like(lse)
    for step in range(ranks):
        owner = (rank - step) % ranks
        pending = _pass_on(block, spare, rank, ranks, group) if step < ranks - 1 else []
        if not (causal and owner > rank):
            fovea.attention(
                q,
                *block,
                causal=causal,
                scale=scale,
                q_offset=rank * q.shape[1],
                kv_offset=owner * k.shape[1],
                out=part,
                lse=part_lse,
                return_lse=True,
            )
            fovea.merge_states([out, part], [lse, part_lse], out=out, lse=lse)
        for transfer in pending:
            transfer.wait()
        block, spare = spare, block
    return fovea.merge_states([out], [lse], sink=sink, out=torch.empty_like(out, dtype=q.dtype), lse=lse)


def _pass_on(block, spare, rank, ranks, group):
    """Starts sending the block to the next rank and receiving that of the previous one; returns the transfers."""
    transfers = [dist.P2POp(dist.isend, tensor, group=group, group_peer=(rank + 1) % ranks) for tensor in block]
    transfers += [dist.P2POp(dist.irecv, tensor, group=group, group_peer=(rank - 1) % ranks) for tensor in spare]
    return dist.batch_isend_irecv(transfers)


def compare(options, device):
    """Every rank makes the same whole sequence, computes its shard, and compares with the unsplit call."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    random = torch.Generator().manual_seed(options.seed)
    dtype = getattr(torch, options.dtype)

    def whole(heads):
        shape = (options.batch, options.seqlen, heads, options.head_dim)
        return torch.randn(shape, generator=random).to(device, dtype)

    q, k, v = whole(options.heads), whole(options.heads_kv), whole(options.heads_kv)
    shards = (tensor.chunk(ranks, dim=1)[rank] for tensor in (q, k, v))
    out, lse = ring_attention(*shards, causal=options.causal)
    expected, expected_lse = fovea.attention(q, k, v, causal=options.causal, return_lse=True)
    errors = torch.stack(
        [
            (out.float() - expected.chunk(ranks, dim=1)[rank].float()).abs().max(),
            (lse - expected_lse.chunk(ranks, dim=2)[rank]).abs().max(),
        ]
    )
    dist.all_reduce(errors, dist.ReduceOp.MAX)
    if rank == 0:
        print(f"{ranks} ranks, causal {options.causal}: largest error of out {errors[0]:.2e}, of lse {errors[1]:.2e}")
    limit = {"float32": 1e-5, "bfloat16": 2e-2, "float16": 2e-3}[options.dtype]
    if not bool((errors <= limit).all()):
        raise SystemExit(f"rank {rank}: the error is above {limit}")


def run_rank(rank, options, store):
    """One process that main() started: gloo on the CPU."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=options.processes)
    compare(options, torch.device("cpu"))
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, help="start so many processes here, with gloo; else use torchrun")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--seqlen", type=int, default=384, help="of the whole sequence; a multiple of the processes")
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--heads-kv", type=int, default=2)
    parser.add_argument("--head-dim", type=int, default=64)
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "float16"), default="float32")
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    ranks = options.processes or int(os.environ.get("WORLD_SIZE", 0))
    if ranks < 1 or options.seqlen % ranks:
        parser.error("give --processes or start with torchrun, and a --seqlen that the processes divide")
    if options.processes:
        with tempfile.TemporaryDirectory() as folder:
            store = pathlib.Path(folder) / "store"
            torch.multiprocessing.spawn(run_rank, (options, store), nprocs=options.processes)
        return
    gpu = torch.cuda.is_available()
    if gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if gpu else "gloo")
    compare(options, torch.device("cuda" if gpu else "cpu"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
