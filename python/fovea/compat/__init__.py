"""Drop-in functions with the names, argument orders, defaults and results of other attention libraries.

One module per dialect, each to be imported by name: `fa2` and `fa3` (FlashAttention 2 and 3), `dmattn` (flash-dmattn,
now flash-sparse-attn) and `sdpa` (torch.nn.functional.scaled_dot_product_attention). Every function is a thin
translation to fovea.attention: inputs are passed on as views, and what cannot be served is refused by name.

Every refusal is a fovea.Error with a code; of an argument that fovea does not serve also a NotImplementedError, of one
that contradicts the others also a ValueError. None of the functions has a backward pass.
"""
