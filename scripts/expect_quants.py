#!/usr/bin/env python3
"""Writes tests/data/quants/TYPE.bin for each weight type: blocks of any bits, and the float32 numbers that the gguf package makes of them.

A file is the blocks one after the other, then their numbers. It needs the Python package gguf (0.19.0 wrote the files that are there).

usage: python scripts/expect_quants.py
"""

import pathlib

import numpy
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

DATA = pathlib.Path(__file__).resolve().parents[1] / "tests" / "data" / "quants"
SEED = 8
ELEMENTS = 1024  # or eight blocks, if those have more

# Where each type keeps the half floats that its blocks are scaled with; MXFP4 has an exponent instead, the last three only elements.
HALVES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2],
    "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": [], "F16": [0], "BF16": [], "F32": [],
}  # fmt: skip
# The smallest and largest subnormals, both zeros, the largest numbers, infinity, the smallest normal one, one.
ODD_HALVES = [0x0001, 0x83FF, 0x7BFF, 0x8000, 0x7C00, 0x03FF, 0x8001, 0x0400, 0x0000, 0x3C00, 0xFBFF, 0xBC00]
ODD_EXPONENTS = [0, 1, 2, 3, 126, 127, 128, 129, 252, 253, 254, 255]


def blocks_of(name: str, rng: numpy.random.Generator) -> numpy.ndarray:
    elements, size = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    count = max(ELEMENTS // elements, 8)
    blocks = rng.integers(0, 256, (count, size), dtype=numpy.uint8)
    blocks[count // 2 - 1, :] = 0xFF
    for which, at in enumerate(HALVES[name]):
        # Ordinary scales of both signs; every other one is odd, so that each odd one meets ordinary ones too.
        halves = rng.uniform(-0.2, 0.2, count).astype(numpy.float16).view(numpy.uint16)
        for i in range(which % 2, count, 2):
            halves[i] = ODD_HALVES[(i // 2 + 5 * which) % len(ODD_HALVES)]
        blocks[:, at : at + 2] = halves.reshape(count, 1).view(numpy.uint8)
    if name == "MXFP4":
        blocks[: len(ODD_EXPONENTS), 0] = ODD_EXPONENTS
    if name in ("BF16", "F32"):
        # What a NaN becomes is nobody's promise.
        top = blocks.view(numpy.uint16)[:, -1]
        top[(top & 0x7F80) == 0x7F80] ^= 0x0080
    return blocks


def main() -> None:
    DATA.mkdir(parents=True, exist_ok=True)
    rng = numpy.random.default_rng(SEED)
    for name in HALVES:
        blocks = blocks_of(name, rng)
        with numpy.errstate(all="ignore"):
            numbers = dequantize(blocks, GGMLQuantizationType[name]).astype("<f4").reshape(-1)
        (DATA / f"{name}.bin").write_bytes(blocks.tobytes() + numbers.tobytes())


main()
