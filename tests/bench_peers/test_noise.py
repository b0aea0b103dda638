"""Other processes' CPU time is found, and ours is never taken for it."""

import os
import subprocess
import sys

import pytest
from cpu_time import CpuSample, parse_busy_ticks, parse_process, take_sample, tree_ticks
from noise import foreign_share

SPIN = "import time\nwhile time.process_time() < {}: pass"


def sample(at_s, busy_ticks, own_ticks):
    return CpuSample(at_s, busy_ticks, own_ticks)


def ticks(seconds):
    return round(seconds * os.sysconf("SC_CLK_TCK"))


def test_our_own_work_is_no_noise():
    before, after = sample(10, 1000, 50), sample(20, 1000 + ticks(18), 50 + ticks(18))
    assert foreign_share(before, after, cores=2) == 0


def test_what_others_took_is_a_share_of_all_cores():
    before, after = sample(10, 1000, 50), sample(20, 1000 + ticks(15), 50 + ticks(14))
    assert foreign_share(before, after, cores=2) == pytest.approx(1 / 20)


def test_a_tick_counted_late_gives_no_negative_share():
    before, after = sample(10, 1000, 50), sample(20, 1000, 51)
    assert foreign_share(before, after, cores=2) == 0


def test_stolen_time_counts_as_busy_and_idle_time_does_not():
    assert parse_busy_ticks("cpu  1 20 300 4000 50000 600000 7000000 80000000 0 0\ncpu0 ...") == 1 + 20 + 300 + 80000000


def test_a_process_name_may_hold_spaces_and_brackets():
    line = "77 (a (b) c d) S 5 77 77 0 -1 4194560 1 2 3 4 100 20 3000 40000 20 0 1 0 9 0 0"
    assert parse_process(line) == (5, 100 + 20 + 3000 + 40000)


def test_the_tree_holds_grandchildren_and_no_strangers():
    processes = {1: (0, 1), 10: (1, 10), 11: (10, 100), 12: (11, 1000), 20: (1, 10000)}
    assert tree_ticks(processes, 10) == 10 + 100 + 1000


def test_a_tree_whose_root_has_ended_is_empty():
    assert tree_ticks({1: (0, 1)}, 10) == 0


def test_a_child_counts_as_ours_after_it_ended():
    before = take_sample()
    subprocess.run([sys.executable, "-c", SPIN.format(0.2)], check=True)
    assert take_sample().own_ticks - before.own_ticks >= ticks(0.2) - 1
