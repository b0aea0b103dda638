"""Whether others took CPU while we measured."""

import os
import time

from cpu_time import TICKS_PER_SECOND, take_sample


def foreign_share(before, after, cores):
    """The part of the machine's CPU time between two samples that went to others, 0 to 1: other processes, and the hypervisor's other guests."""
    capacity_ticks = (after.at_s - before.at_s) * TICKS_PER_SECOND * cores
    foreign_ticks = (after.busy_ticks - before.busy_ticks) - (after.own_ticks - before.own_ticks)
    return max(0.0, foreign_ticks / capacity_ticks)


class NoiseMeter:
    """Watches from `with` to its end; then `share` says what others took."""

    def __enter__(self):
        self._before = take_sample()
        return self

    def __exit__(self, *_):
        self.share = foreign_share(self._before, take_sample(), os.cpu_count())


def wait_until_quiet(share_max, limit_s, window_s=2.0):
    """Returns when a window of time was quiet, or at the limit: then the round will say that it was not."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        with NoiseMeter() as meter:
            time.sleep(window_s)
        if meter.share <= share_max:
            return
