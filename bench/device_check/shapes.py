"""What a step of a model cannot do without: bytes to read and products to add, from the model's shape."""

from typing import NamedTuple


class Shape(NamedTuple):
    """As in the model's config.json; keys and values take two bytes an element."""

    layers: int
    width: int
    ffn_width: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int


# engine/synthetic_presets.cpp
SHAPES = {
    "llama-3.2-1b": Shape(16, 2048, 8192, 32, 8, 64, 128256),
    "llama-3.1-8b": Shape(32, 4096, 14336, 32, 8, 128, 128256),
}
ELEMENT_BYTES = 2
# Of an element of a matrix, by the type that it is kept in; 32 elements of Q4_0 share a half.
WEIGHT_BYTES = {"bf16": 2, "q4_0": 18 / 32}


def layer_weights(shape):
    """Of all layers, in elements. Norms are not worth counting."""
    attention = 2 * shape.heads * shape.head_dim + 2 * shape.kv_heads * shape.head_dim
    return shape.layers * shape.width * (attention + 3 * shape.ffn_width)


def head_weights(shape):
    return shape.width * shape.vocabulary


def kv_bytes_per_token(shape):
    return shape.layers * 2 * shape.kv_heads * shape.head_dim * ELEMENT_BYTES


def decode_bytes(shape, rows, context, weight_bytes=ELEMENT_BYTES):
    """A step of `rows` sequences of `context` tokens each reads the weights once, but for the embedding, and all keys and values."""
    weights = (layer_weights(shape) + head_weights(shape)) * weight_bytes
    return weights + rows * context * kv_bytes_per_token(shape)


def decode_flops(shape, rows, context):
    products = 2 * (layer_weights(shape) + head_weights(shape))
    attention = 4 * shape.layers * shape.heads * shape.head_dim * context
    return rows * (products + attention)


def prefill_flops(shape, tokens):
    """Of a prompt: each token through the layers, attention over those before it, the head for the last alone."""
    attention = 4 * shape.layers * shape.heads * shape.head_dim * tokens * tokens / 2
    return 2 * layer_weights(shape) * tokens + attention + 2 * head_weights(shape)


def shares(shape, load, run, ceilings, weight_bytes=ELEMENT_BYTES):
    """What a measured run comes to. `load` has rows, prompt and output tokens; `run` is sluice-bench's JSON; of the ceilings some may be missing.

    A step's time is the median gap between tokens: once all prompts are computed every step has all rows.
    """
    context = load["prompt_tokens"] + load["output_tokens"] // 2
    step_s = (run["itl_ms"]["p50"] or 0) / 1e3
    figures = {
        "rows": load["rows"],
        "ttft_ms_p50": run["ttft_ms"]["p50"],
        "ttft_ms_p99": run["ttft_ms"]["p99"],
        "tpot_ms_p50": run["tpot_ms"]["p50"],
        "itl_ms_p50": run["itl_ms"]["p50"],
        "output_tokens_per_second": run["output_tokens_per_second"],
        "bytes_per_step": decode_bytes(shape, load["rows"], context, weight_bytes),
        "flops_per_step": decode_flops(shape, load["rows"], context),
        "bandwidth_share": None,
        "decode_flops_share": None,
        "prefill_flops_share": None,
        "client_limit": run["client"]["because"],
    }
    if not step_s:
        return figures
    if ceilings.get("read_bytes_per_second"):
        figures["bandwidth_share"] = round(figures["bytes_per_step"] / step_s / ceilings["read_bytes_per_second"], 4)
    if ceilings.get("bf16_flops_per_second"):
        figures["decode_flops_share"] = round(figures["flops_per_step"] / step_s / ceilings["bf16_flops_per_second"], 4)
        if load["rows"] == 1:  # alone, a prompt's time is its own
            flops = prefill_flops(shape, load["prompt_tokens"])
            figures["prefill_flops_share"] = round(flops / (run["ttft_ms"]["p50"] / 1e3) / ceilings["bf16_flops_per_second"], 4)
    return figures
