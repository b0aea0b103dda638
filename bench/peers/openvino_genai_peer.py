"""OpenVINO GenAI: its continuous batching, offline. No server stands in front of it, so its figures are what a server could reach at best."""

import dataclasses
import json
import pathlib
import subprocess

from child import Child
from timings import Timings, figure_of

REQUIREMENT = "openvino-genai==2026.4.1.0"
WORKER = pathlib.Path(__file__).with_name("openvino_genai_worker.py")


class OpenVinoGenAi:
    name = "openvino"
    _worker = None

    def __init__(self, environment, model, threads):
        self._environment = environment
        self._settings = {"model": str(model), "tokens_per_step": 4096,
                          "properties": {"INFERENCE_NUM_THREADS": threads}}
        self.version = f"OpenVINO GenAI {REQUIREMENT.split('==')[1]}"

    def install(self):
        self._environment.require(REQUIREMENT)

    def start(self):
        self._worker = Child([self._environment.python, WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._ask(self._settings)

    def measure(self, case, seed):
        self._run(case.warm_up(), f"{seed}, warm-up")
        return figure_of(case, self._run(case, seed))

    def stop(self):
        if self._worker:
            self._worker.stop()

    def _run(self, case, seed):
        return Timings(**self._ask({"case": {**dataclasses.asdict(case), "figure": None}, "seed": seed}))

    def _ask(self, question):
        self._worker.process.stdin.write(json.dumps(question) + "\n")
        return json.loads(self._worker.read_line())
