#!/usr/bin/env python3
"""Makes a Hugging Face folder of a Qwen2-shaped model with random weights in bfloat16.

usage: scripts/make_synthetic_model.py OUT [--layers N] [--shard-mb N] [--seed N] [--small]

The shapes are those of Qwen2.5-1.5B (1.54 billion parameters, 3.1 GB), so that loading, memory and tokens per second can
be looked at without the model itself. What it says means nothing. The tokenizer has a token for each byte and one to end
with; the rest of the vocabulary is padding. Needs numpy, which build/venv has.
"""

import argparse
import json
import struct
from pathlib import Path

import numpy as np

QWEN2_1_5B = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "vocab_size": 151936,
    "hidden_size": 1536,
    "intermediate_size": 8960,
    "num_hidden_layers": 28,
    "num_attention_heads": 12,
    "num_key_value_heads": 2,
    "hidden_act": "silu",
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
    "sliding_window": 32768,
    "max_window_layers": 28,
    "use_sliding_window": False,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "eos_token_id": 256,
}
SMALL = {"vocab_size": 512, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512}


def tensor_shapes(config):
    """Names and shapes in the order in which they are written; a scale of None means ones."""
    width, ffn = config["hidden_size"], config["intermediate_size"]
    kv = width // config["num_attention_heads"] * config["num_key_value_heads"]
    yield "model.embed_tokens.weight", (config["vocab_size"], width), 0.02
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}."
        yield name + "input_layernorm.weight", (width,), None
        for part, rows in (("q", width), ("k", kv), ("v", kv)):
            yield f"{name}self_attn.{part}_proj.weight", (rows, width), width**-0.5
            yield f"{name}self_attn.{part}_proj.bias", (rows,), 0.02
        yield name + "self_attn.o_proj.weight", (width, width), width**-0.5
        yield name + "post_attention_layernorm.weight", (width,), None
        yield name + "mlp.gate_proj.weight", (ffn, width), width**-0.5
        yield name + "mlp.up_proj.weight", (ffn, width), width**-0.5
        yield name + "mlp.down_proj.weight", (width, ffn), ffn**-0.5
    yield "model.norm.weight", (width,), None


def bf16_bytes(values):
    """The upper halves of float32, rounded to nearest even."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()


def make_tensor(random, shape, scale):
    if scale is None:
        return bf16_bytes(np.ones(shape, np.float32))
    return bf16_bytes(random.standard_normal(shape, np.float32) * np.float32(scale))


def write_shard(path, shard, random):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape, _ in shard:
        size = 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    with path.open("wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, shape, scale in shard:
            out.write(make_tensor(random, shape, scale))
    return offset


def split(tensors, shard_bytes):
    """Runs of tensors of at most so many bytes each, or of one tensor."""
    shards, room = [], 0
    for tensor in tensors:
        size = 2 * int(np.prod(tensor[1]))
        if size > room:
            shards.append([])
            room = shard_bytes
        shards[-1].append(tensor)
        room -= size
    return shards


def write_weights(folder, config, shard_bytes, seed):
    random = np.random.default_rng(seed)
    shards = split(tensor_shapes(config), shard_bytes)
    weight_map, total = {}, 0
    for number, shard in enumerate(shards, 1):
        name = f"model-{number:05}-of-{len(shards):05}.safetensors"
        total += write_shard(folder / name, shard, random)
        weight_map.update({tensor: name for tensor, _, _ in shard})
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1))
    return total


def byte_alphabet():
    """The character that byte-level BPE writes for each byte: itself where it can be seen, else one from U+0100 on."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters, others = {byte: chr(byte) for byte in seen}, 0
    for byte in range(256):
        if byte not in letters:
            letters[byte] = chr(0x100 + others)
            others += 1
    return letters


def write_tokenizer(folder):
    letters = byte_alphabet()
    end = {"id": 256, "content": "<|endoftext|>", "single_word": False, "lstrip": False, "rstrip": False,
           "normalized": False, "special": True}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [end], "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "vocab": {letters[byte]: byte for byte in range(256)}, "merges": []},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>", "bos_token": None,
                "chat_template": "{% for m in messages %}{{ m.content }}<|endoftext|>{% endfor %}"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder to make")
    parser.add_argument("--layers", type=int, help="instead of the model's 28")
    parser.add_argument("--shard-mb", type=int, default=1000, help="most megabytes of a file (1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--small", action="store_true", help="a model of a few hundred kilobytes, for tests")
    arguments = parser.parse_args()
    config = QWEN2_1_5B | (SMALL if arguments.small else {})
    if arguments.layers is not None:
        config["num_hidden_layers"] = arguments.layers
    arguments.out.mkdir(parents=True, exist_ok=True)
    total = write_weights(arguments.out, config, arguments.shard_mb * 1_000_000, arguments.seed)
    (arguments.out / "config.json").write_text(json.dumps(config, indent=1))
    (arguments.out / "generation_config.json").write_text(json.dumps({"eos_token_id": [256]}))
    write_tokenizer(arguments.out)
    print(f"{arguments.out}: {total} bytes of weights, {total // 2} parameters")


if __name__ == "__main__":
    main()
