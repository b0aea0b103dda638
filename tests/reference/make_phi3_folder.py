"""Writes a tiny llama folder as Phi-3 has it: usage make_phi3_folder.py FOLDER TARGET

Phi-3 keeps q, k and v in one tensor, and gate and up in another; with the same numbers in them it is the same model.
"""

import json
import shutil
import sys
from pathlib import Path

FUSED = {
    "self_attn.qkv_proj": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "mlp.gate_up_proj": ("mlp.gate_proj", "mlp.up_proj"),
}


def read(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (entry["shape"], data[8 + size:][slice(*entry["data_offsets"])]) for name, entry in header.items()}


def fuse(tensors):
    fused = {}
    for name, (shape, data) in tensors.items():
        whole = next((whole for whole, parts in FUSED.items() if any(f".{part}." in name for part in parts)), None)
        if whole is None:
            fused[name] = (shape, data)
            continue
        layer = name[:name.index(".", len("model.layers.")) + 1]
        parts = [tensors[f"{layer}{part}.weight"] for part in FUSED[whole]]
        rows = sum(part_shape[0] for part_shape, _ in parts)
        fused[f"{layer}{whole}.weight"] = ([rows, shape[1]], b"".join(part for _, part in parts))
    return fused


def write(path, tensors):
    header, offset = {}, 0
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(data for _, data in tensors.values()))


def main():
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.copytree(source, target, dirs_exist_ok=True)
    config = json.loads((source / "config.json").read_text())
    for key in ("attention_bias", "mlp_bias", "pretraining_tp"):
        config.pop(key, None)
    config |= {"model_type": "phi3", "architectures": ["Phi3ForCausalLM"], "sliding_window": None}
    (target / "config.json").write_text(json.dumps(config))
    write(target / "model.safetensors", fuse(read(source / "model.safetensors")))


if __name__ == "__main__":
    main()
