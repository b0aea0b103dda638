"""Runs OpenVINO GenAI's continuous batching in the peers' environment. A JSON object a line in, one a line out."""

import json
import os
import sys
import time

import numpy
import openvino
import openvino_genai as genai

from prompts import random_prompt
from timings import Timings


def greedy(tokens):
    config = genai.GenerationConfig()
    config.max_new_tokens = config.min_new_tokens = tokens
    config.ignore_eos = True
    config.do_sample = False
    return config


class Flight:
    """One request on its way."""

    def __init__(self, handle):
        self._handle = handle
        self.sent = time.perf_counter()
        self.first = self.last = None
        self.tokens = 0

    def collect(self, now):
        """Takes the tokens of the last step. True when there were the last ones."""
        while self._handle.can_read():
            self.tokens += sum(len(output.generated_ids) for output in self._handle.read().values())
            self.first, self.last = self.first or now, now
        return self._handle.get_status() != genai.GenerationStatus.RUNNING


class Engine:
    def __init__(self, settings):
        scheduler = genai.SchedulerConfig()
        scheduler.enable_prefix_caching = False
        scheduler.max_num_batched_tokens = settings["tokens_per_step"]
        self._pipeline = genai.ContinuousBatchingPipeline(settings["model"], scheduler_config=scheduler, device="CPU",
                                                          properties=settings["properties"])
        self._next_id = 0

    def run(self, case, seed):
        """A closed loop, as sluice-bench runs one."""
        in_flight, done = [], []
        start = time.perf_counter()
        while len(done) < case["requests"]:
            while len(in_flight) < case["streams"] and len(in_flight) + len(done) < case["requests"]:
                in_flight.append(self._send(case, seed, len(in_flight) + len(done)))
            self._pipeline.step()
            now = time.perf_counter()
            ended = [flight for flight in in_flight if flight.collect(now)]
            in_flight = [flight for flight in in_flight if flight not in ended]
            done += ended
        duration_s = time.perf_counter() - start
        return Timings.of_requests(((f.sent, f.first, f.last, f.tokens) for f in done), duration_s)

    def _send(self, case, seed, index):
        prompt = numpy.array([random_prompt(case["prompt_tokens"], seed, index)], dtype=numpy.int64)
        self._next_id += 1
        return Flight(self._pipeline.add_request(self._next_id, openvino.Tensor(prompt), greedy(case["output_tokens"])))


def main():
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the libraries print is no answer
    engine = Engine(json.loads(sys.stdin.readline()))
    print(json.dumps({"version": genai.__version__}), file=answers)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(vars(engine.run(asked["case"], asked["seed"]))), file=answers)


if __name__ == "__main__":
    main()
