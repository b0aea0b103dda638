"""How much CPU time the machine spent, and how much of it was ours. Linux only: reads /proc."""

import dataclasses
import os
import pathlib
import time

PROC = pathlib.Path("/proc")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def parse_busy_ticks(stat_text):
    """Ticks of the first line of /proc/stat that somebody used: user, nice, system and steal.

    Interrupts are left out: they are ours as often as not, and belong to no process.
    """
    user, nice, system, _idle, _iowait, _irq, _softirq, steal = map(int, stat_text.splitlines()[0].split()[1:9])
    return user + nice + system + steal


def parse_process(stat_text):
    """(parent, ticks) of a /proc/PID/stat. The ticks include those of children that have ended and were waited for."""
    fields = stat_text[stat_text.rindex(")") + 1:].split()  # the name before it may hold spaces
    return int(fields[1]), sum(map(int, fields[11:15]))


def tree_ticks(processes, root):
    """Ticks of `root` and all below it, from {pid: (parent, ticks)}."""
    children = {}
    for pid, (parent, _) in processes.items():
        children.setdefault(parent, []).append(pid)
    total, left = 0, [root]
    while left:
        pid = left.pop()
        total += processes[pid][1] if pid in processes else 0
        left += children.get(pid, [])
    return total


def read_processes():
    processes = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                processes[int(folder.name)] = parse_process((folder / "stat").read_text())
            except (FileNotFoundError, ProcessLookupError):  # ended since
                pass
    return processes


@dataclasses.dataclass(frozen=True)
class CpuSample:
    """Counters at one moment; only the difference of two says something."""

    at_s: float
    busy_ticks: int
    own_ticks: int


def take_sample():
    # A child that is reaped between the two reads would count for the machine and not for us, or the other way round; ticks, not seconds.
    own_ticks = tree_ticks(read_processes(), os.getpid())
    return CpuSample(time.monotonic(), parse_busy_ticks((PROC / "stat").read_text()), own_ticks)
