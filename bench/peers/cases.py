"""The rows of the table: what is asked of every contender, in the same token counts."""

import dataclasses
import enum


class Figure(enum.Enum):
    """What a case is judged by."""

    PREFILL_RATE = "prompt tok/s"
    DECODE_RATE = "tok/s, all streams"
    OUTPUT_RATE = "output tok/s"
    TTFT = "ms, p50"

    @property
    def is_rate(self):
        """More is better."""
        return self is not Figure.TTFT


@dataclasses.dataclass(frozen=True)
class Case:
    """`requests` requests of random tokens, `streams` of them in flight at any moment, greedy, none ended early."""

    name: str
    title: str
    figure: Figure
    prompt_tokens: int
    output_tokens: int
    streams: int
    requests: int

    def warm_up(self):
        """One request of the same shape, sent before and not measured."""
        return dataclasses.replace(self, streams=1, requests=1)


CASES = (
    Case("prefill-512", "prefill, 512 tokens", Figure.PREFILL_RATE, prompt_tokens=512, output_tokens=1, streams=1, requests=9),
    Case("decode-1", "decode, 1 stream, short context", Figure.DECODE_RATE, prompt_tokens=8, output_tokens=128, streams=1, requests=3),
    Case("decode-1-4096", "decode, 1 stream, context 4096", Figure.DECODE_RATE, prompt_tokens=4096, output_tokens=64, streams=1, requests=1),
    Case("decode-16", "decode, 16 rows", Figure.DECODE_RATE, prompt_tokens=8, output_tokens=128, streams=16, requests=16),
    Case("decode-32", "decode, 32 rows", Figure.DECODE_RATE, prompt_tokens=8, output_tokens=128, streams=32, requests=32),
    Case("served-32", "served, 32 clients × (128 in + 64 out)", Figure.OUTPUT_RATE, prompt_tokens=128, output_tokens=64, streams=32,
         requests=64),
    Case("ttft-1", "TTFT, 1 client, 128 tokens in", Figure.TTFT, prompt_tokens=128, output_tokens=4, streams=1, requests=15),
)


def cases_by_name(names):
    """The cases of these names in the table's order. ValueError names the one that is none."""
    unknown = sorted(set(names) - {case.name for case in CASES})
    if unknown:
        raise ValueError(f"no row {', '.join(unknown)}; there are {', '.join(case.name for case in CASES)}")
    return tuple(case for case in CASES if case.name in names)
