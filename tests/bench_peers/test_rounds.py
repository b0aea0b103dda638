"""Disturbed rounds are measured again, within bounds."""

import itertools

import pytest
import rounds
from cases import CASES
from rounds import RoundRules, run_all, run_round, turn_of

CASE = CASES[0]
QUIET, LOUD = 0.01, 0.20


class Contender:
    """Counts how often it was measured, and gives that as its figure."""

    def __init__(self, name):
        self.name = name
        self.seeds = []

    def measure(self, case, seed):
        self.seeds.append(seed)
        return float(len(self.seeds))


def meters(shares):
    """A NoiseMeter that reads these shares, one for each measurement."""
    left = iter(shares)

    class Meter:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.share = next(left)

    return Meter


def run(contenders, shares, **rules):
    return run_round(CASE, contenders, itertools.count(), RoundRules(tries_max=3, **rules), meters(shares), wait=lambda *_: None)


def test_noise_beside_one_contender_repeats_the_round_for_all():
    one, other = Contender("one"), Contender("other")
    result = run([one, other], [QUIET, LOUD, QUIET, QUIET])
    assert (result.values, result.is_noisy) == ({"one": 2.0, "other": 2.0}, False)


def test_a_round_that_never_was_quiet_is_dropped_after_the_last_try():
    contender = Contender("one")
    assert run([contender], [LOUD] * 3) is None
    assert len(contender.seeds) == 3


def test_allowed_noise_keeps_the_last_try_and_says_so():
    result = run([Contender("one")], [LOUD, LOUD, 0.3], keeps_noisy=True)
    assert (result.values["one"], result.foreign_share, result.is_noisy) == (3.0, 0.3, True)


@pytest.mark.parametrize("share, is_noisy", [(0.05, False), (0.0501, True)])
def test_the_limit_itself_is_quiet(share, is_noisy):
    result = run([Contender("one")], [share] * 3, keeps_noisy=True, foreign_share_max=0.05)
    assert result.is_noisy == is_noisy


def test_no_try_sees_the_prompts_of_another():
    contender = Contender("one")
    run([contender], [LOUD, LOUD, QUIET])
    assert len(set(contender.seeds)) == 3


def test_every_round_begins_with_another_contender():
    assert [turn_of(["a", "b", "c"], number)[0] for number in range(4)] == ["a", "b", "c", "a"]


def test_rounds_interleave_the_cases(monkeypatch):
    monkeypatch.setattr(rounds, "run_round", lambda case, *_, **__: case.name)
    told = []
    assert run_all(CASES[:2], [Contender("one")], 2, RoundRules(), lambda *seen: told.append(seen[0])) == [
        CASES[0].name, CASES[1].name, CASES[0].name, CASES[1].name]
    assert told == [0, 0, 1, 1]
