"""Where and when a result was measured."""

import datetime
import os
import pathlib
import platform
import re
import subprocess

# Those that the kernels of a contender may choose between, as /proc/cpuinfo spells them.
INSTRUCTION_SETS = ("avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512vbmi", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8",
                    "amx_bf16")


def parse_cpu(text):
    """(model name, instruction sets of interest) of a /proc/cpuinfo."""
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    flags = set(re.search(r"^flags\s*:\s*(.*)$", text, re.MULTILINE)[1].split())
    return model[1] if model else "unknown", [name for name in INSTRUCTION_SETS if name in flags]


def commit_of(root):
    def git(*arguments):
        return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True).stdout.strip()

    commit = git("rev-parse", "--short", "HEAD") or "unknown"
    return commit + (" with local changes" if git("status", "--porcelain", "--untracked-files=no") else "")


def describe(root, threads):
    model, instruction_sets = parse_cpu(pathlib.Path("/proc/cpuinfo").read_text())
    return {"date": datetime.date.today().isoformat(), "commit": commit_of(root), "cpu": model, "cores": os.cpu_count(), "threads": threads,
            "instruction_sets": instruction_sets, "kernel": platform.release()}
