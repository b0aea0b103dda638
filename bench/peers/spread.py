"""Ratios over rounds."""

import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Spread:
    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values):
        return cls(statistics.median(values), min(values), max(values))


def values_of(rounds, case, contender):
    return [r.values[contender] for r in rounds if r.case == case]


def ratios_of(rounds, case, ours, peer):
    """One ratio a round: machines drift, so figures are only compared with those measured beside them."""
    return [r.values[ours] / r.values[peer] for r in rounds if r.case == case]
