"""The order in which contenders are measured, and which measurements count."""

import dataclasses
import itertools

from noise import NoiseMeter, wait_until_quiet


@dataclasses.dataclass(frozen=True)
class Round:
    """One case, measured on every contender in turn within a minute or so: only such figures are compared with each other."""

    case: str
    values: dict  # contender -> figure
    foreign_share: float  # of the machine's CPU time, in the worst of the measurements
    is_noisy: bool


@dataclasses.dataclass(frozen=True)
class RoundRules:
    foreign_share_max: float = 0.05
    tries_max: int = 4  # of a round that others disturb
    quiet_wait_s: float = 60  # waited at most before each try
    keeps_noisy: bool = False  # the last try counts although it was disturbed


def turn_of(contenders, number):
    """Another one begins in every round, so that no one always follows the same other."""
    shift = number % len(contenders)
    return contenders[shift:] + contenders[:shift]


def measure_once(case, contenders, seed, rules, make_meter=NoiseMeter):
    values, shares = {}, []
    for contender in contenders:
        with make_meter() as meter:
            values[contender.name] = contender.measure(case, seed)
        shares.append(meter.share)
    return Round(case.name, values, max(shares), is_noisy=max(shares) > rules.foreign_share_max)


def run_round(case, contenders, seeds, rules, make_meter=NoiseMeter, wait=wait_until_quiet):
    """The first undisturbed try. When there is none: the last one if noise is allowed, otherwise None.

    Each try takes a seed of its own, so that no cache of prompts can know it.
    """
    for _ in range(rules.tries_max):
        wait(rules.foreign_share_max, rules.quiet_wait_s)
        result = measure_once(case, contenders, next(seeds), rules, make_meter)
        if not result.is_noisy:
            return result
    return result if rules.keeps_noisy else None


def run_all(cases, contenders, round_count, rules, report):
    """Rounds outside, cases inside: a slow drift of the machine meets every case alike. `report` is told of each."""
    kept, seeds = [], itertools.count()
    for number in range(round_count):
        for case in cases:
            result = run_round(case, turn_of(contenders, number), seeds, rules)
            report(number, case, result)
            if result:
                kept.append(result)
    return kept
