"""Makes a GGUF file from a tiny Hugging Face folder: usage make_tiny_gguf.py FOLDER FILE

What the usual converters do with a model of these families, for checkpoints small enough to be tests: tensors under
GGUF's names, q and k rows of llama models reordered for pairwise rotation, Gemma's norms plus one, experts stacked.
"""

import json
import math
import sys
from pathlib import Path

import gguf
import numpy as np

ARCHITECTURES = {
    "llama": "llama", "mistral": "llama", "mixtral": "llama", "qwen2": "qwen2", "qwen3": "qwen3",
    "qwen3_moe": "qwen3moe", "gemma3_text": "gemma3", "phi3": "phi3",
}

NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up",
    "mlp.gate": "ffn_gate_inp", "block_sparse_moe.gate": "ffn_gate_inp",
}
GEMMA_NAMES = {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
EXPERT_NAMES = {
    "w1": "ffn_gate_exps", "w3": "ffn_up_exps", "w2": "ffn_down_exps",
    "gate_proj": "ffn_gate_exps", "up_proj": "ffn_up_exps", "down_proj": "ffn_down_exps",
}
ENDS = {
    "model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}


def read_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "BF16", name
        begin, end = entry["data_offsets"]
        bits = np.frombuffer(data[8 + size + begin:8 + size + end], dtype=np.uint16).astype(np.uint32) << 16
        tensors[name] = bits.view(np.float32).reshape(entry["shape"])
    return tensors


def for_pairs(matrix, heads):
    """Rows (i, i + half) of each head become neighbours."""
    half = matrix.shape[0] // heads // 2
    return matrix.reshape(heads, 2, half, *matrix.shape[1:]).swapaxes(1, 2).reshape(matrix.shape)


def gguf_tensors(config, tensors):
    architecture = ARCHITECTURES[config["model_type"]]
    names = NAMES | (GEMMA_NAMES if architecture == "gemma3" else {})
    experts = {}
    for name, values in tensors.items():
        if name in ENDS:
            target = ENDS[name]
        else:
            _, _, layer, rest = name.split(".", 3)
            stem, kind = rest.rsplit(".", 1)
            if ".experts." in stem:
                _, expert, part = stem.rsplit(".", 2)
                experts.setdefault(f"blk.{layer}.{EXPERT_NAMES[part]}.weight", {})[int(expert)] = values
                continue
            target = f"blk.{layer}.{names[stem]}.{kind}"
            if architecture == "llama" and names[stem] in ("attn_q", "attn_k"):
                heads = "num_attention_heads" if names[stem] == "attn_q" else "num_key_value_heads"
                values = for_pairs(values, config[heads])
        if architecture == "gemma3" and target.endswith("norm.weight"):
            values = values + 1
        yield target, values
    for target, parts in experts.items():
        yield target, np.stack([parts[expert] for expert in range(len(parts))])


def llama3_divisors(rope, head_dim):
    for i in range(head_dim // 2):
        frequency = rope["rope_theta"] ** (-2 * i / head_dim)
        turns = rope["original_max_position_embeddings"] * frequency / (2 * math.pi)
        low, high, factor = rope["low_freq_factor"], rope["high_freq_factor"], rope["factor"]
        if turns < low:
            yield factor
        elif turns > high:
            yield 1.0
        else:
            kept = (turns - low) / (high - low)
            yield 1 / ((1 - kept) / factor + kept)


def write_shape(writer, config):
    head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    rope = config["rope_parameters"]
    if "full_attention" in rope:
        rope = rope["full_attention"]
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_rope_dimension_count(head_dim)
    if rope["rope_type"] == "llama3":
        divisors = np.array(list(llama3_divisors(rope, head_dim)), dtype=np.float32)
        writer.add_tensor("rope_freqs.weight", divisors)
    if config.get("sliding_window") and config.get("use_sliding_window", True):
        writer.add_sliding_window(config["sliding_window"])
    if "num_local_experts" in config:
        writer.add_expert_count(config["num_local_experts"])
        writer.add_expert_used_count(config["num_experts_per_tok"])
    if "moe_intermediate_size" in config:
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])


def write_tokenizer(writer, folder, config):
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    model = tokenizer["model"]
    added = {token["id"]: token for token in tokenizer["added_tokens"]}
    ids = dict(model["vocab"]) | {token["content"]: token["id"] for token in added.values()}
    tokens = sorted(ids, key=ids.get)
    assert len(tokens) == config["vocab_size"] and [ids[token] for token in tokens] == list(range(len(tokens)))
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    is_bytes = model["byte_fallback"]
    types = []
    for token in tokens:
        is_byte = is_bytes and len(token) == 6 and token.startswith("<0x")
        special = ids[token] in added and added[ids[token]]["special"]
        types.append(gguf.TokenType.BYTE if is_byte else gguf.TokenType.UNKNOWN if token == "<unk>" else
                     gguf.TokenType.CONTROL if special else gguf.TokenType.NORMAL)
    if is_bytes:
        # The best score merges first, so that scores give the order of the merges.
        ranks = {merge.replace(" ", ""): rank for rank, merge in enumerate(merges)}
        writer.add_tokenizer_model("llama")
        writer.add_tokenizer_pre("default")
        writer.add_token_scores([-float(ranks.get(token, 1000)) for token in tokens])
        writer.add_add_space_prefix(tokenizer["pre_tokenizer"]["type"] == "Metaspace")
    else:
        pattern = json.dumps(tokenizer["pre_tokenizer"])
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("llama-bpe" if "{1,3}" in pattern else "qwen2")
        writer.add_token_merges(merges)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    for name, add in (("bos_token", writer.add_bos_token_id), ("eos_token", writer.add_eos_token_id)):
        if settings.get(name):
            add(ids[settings[name]])
    first = tokenizer["post_processor"]["single"][0]
    writer.add_add_bos_token("SpecialToken" in first)
    writer.add_chat_template((folder / "chat_template.jinja").read_text())


def main():
    folder, target = Path(sys.argv[1]), sys.argv[2]
    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(target, ARCHITECTURES[config["model_type"]])
    writer.add_name(folder.name)
    write_shape(writer, config)
    write_tokenizer(writer, folder, config)
    for name, values in gguf_tensors(config, read_safetensors(folder / "model.safetensors")):
        if values.ndim == 1 or name.endswith("ffn_gate_inp.weight"):
            writer.add_tensor(name, np.ascontiguousarray(values, dtype=np.float32))
            continue
        bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32) >> 16
        writer.add_tensor(name, bits.astype(np.uint16).view(np.uint8).reshape(*values.shape[:-1], -1),
                          raw_dtype=gguf.GGMLQuantizationType.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
