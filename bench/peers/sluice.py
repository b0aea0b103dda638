"""Sluice as a user meets it: `sluiced` over gRPC, loaded by `sluice-bench` on the same cores."""

import json
import pathlib
import subprocess
import tempfile

from child import Child, run_to_end
from timings import Timings, figure_of


class Sluice:
    name = "sluice"
    _daemon = None

    def __init__(self, programs, model, threads, settings=()):
        """`settings` are section.key=value of the daemon's configuration."""
        self._programs = programs
        self._command = [programs / "sluiced", "--model", model, "--threads", threads, "--grpc-listen", "127.0.0.1:0",
                         "--http-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--set", "kv.prefix_cache=false"]
        for setting in settings:
            self._command += ["--set", setting]

    def install(self):
        if not (self._programs / "sluiced").exists():
            raise RuntimeError(f"no sluiced in {self._programs}: ./quickstart --once builds it, --programs names another folder")
        self.version = run_to_end([self._programs / "sluiced", "--version"]).strip()

    def start(self):
        self._daemon = Child(self._command, stdout=subprocess.PIPE)
        self._address = json.loads(self._daemon.read_line())["grpc"]

    def measure(self, case, seed):
        return figure_of(case, self._load(case, seed))

    def stop(self):
        if self._daemon:
            self._daemon.stop()

    def _load(self, case, seed):
        with tempfile.TemporaryDirectory(prefix="sluice-peers-") as folder:
            report = pathlib.Path(folder) / "report.json"
            run_to_end([self._programs / "sluice-bench", "run", "--address", self._address, "--concurrency", case.streams,
                        "--requests", case.requests, "--prompt-tokens", case.prompt_tokens, "--output-tokens", case.output_tokens,
                        "--warmup", 1, "--seed", seed, "--json", report])
            return parse_report(json.loads(report.read_text()))


def parse_report(report):
    if report["errors"]:
        raise RuntimeError(f"sluice-bench: {report['errors']} of {report['requests']} requests failed: {report['errors_by_code']}")
    tpot_ms = report["tpot_ms"]["p50"]
    return Timings(ttft_p50_s=report["ttft_ms"]["p50"] / 1000, tpot_p50_s=None if tpot_ms is None else tpot_ms / 1000,
                   duration_s=report["duration_s"], output_tokens=report["output_tokens"])
