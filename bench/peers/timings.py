"""When the tokens of one run came, and the figure a case makes of it. Used on both sides of a worker's pipe."""

import dataclasses
import statistics

from cases import Figure


@dataclasses.dataclass(frozen=True)
class Timings:
    """One closed-loop run of a case. A TPOT is (last - first) / (n - 1) of one request."""

    ttft_p50_s: float
    tpot_p50_s: float | None  # None when answers have one token
    duration_s: float
    output_tokens: int

    @classmethod
    def of_requests(cls, requests, duration_s):
        """From (sent, first token, last token, token count) of each request, in seconds of one clock."""
        requests = list(requests)
        tpots = [(last - first) / (count - 1) for _, first, last, count in requests if count > 1]
        return cls(ttft_p50_s=statistics.median(first - sent for sent, first, _, _ in requests),
                   tpot_p50_s=statistics.median(tpots) if tpots else None,
                   duration_s=duration_s, output_tokens=sum(count for *_, count in requests))


def figure_of(case, timings):
    """Refuses a run that gave fewer tokens than asked: a short answer is never a fast one."""
    asked = case.requests * case.output_tokens
    if timings.output_tokens != asked:
        raise RuntimeError(f"{case.name}: {timings.output_tokens} output tokens instead of {asked}")
    match case.figure:
        case Figure.PREFILL_RATE:
            return case.prompt_tokens / timings.ttft_p50_s
        case Figure.DECODE_RATE:
            return case.streams / timings.tpot_p50_s
        case Figure.OUTPUT_RATE:
            return timings.output_tokens / timings.duration_s
        case Figure.TTFT:
            return timings.ttft_p50_s * 1000
