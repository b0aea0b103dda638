"""Checks and measures Sluice on a machine with a GPU. bench/README.md tells of the parts."""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile

import shapes
from programs import Daemon, Programs
from report import Failed, Report, Skipped

ROOT = pathlib.Path(__file__).resolve().parents[2]
# All parts together: whoever waits for ten minutes has some left.
WHOLE_S = 470
BATCHES = (1, 8, 32, 128, 256)
# Rows for which a GPU reads weights as they are stored, and a number for which it makes bf16 of them.
STORED_BATCHES = (1, 4, 8, 32)
PROMPT_TOKENS = 512
OUTPUT_TOKENS = 128
# A few tests of each kernel: the tools run them a hundred times slower.
SANITIZED = ":".join(["DecodeAttention.MatchesReferenceByMatrixProducts", "DecodeAttention.TakesRowsOfAFewTokensAndOfNone", "PrefillAttention.MatchesReferenceForEveryGroup",
                      "RopeCacheKernel.CachesInEveryTypeAndBlockSize", "AddRmsNormKernel.AddsAlone", "GemvKernel.AddsToItsOwnOutput",
                      "DequantizeKernel.GivesWhatTheFormatDefinesBitForBit", "SamplingKernels.DrawTheFirstTokenWhereAGrammarAllowsNone", "SamplingKernels.DrawAsOftenAsLikely"])


class Check:
    """The parts, in the order of main(). Each takes its deadline and gives its figures."""

    def __init__(self, options, report, programs):
        self.options = options
        self.report = report
        self.programs = programs

    def needs_device(self):
        if not self.report.figures("machine"):
            raise Skipped("no device")

    def machine(self, deadline):
        program = shutil.which("nvidia-smi", path=os.environ.get("PATH", "") + ":/usr/local/nvidia/bin")  # as containers have the driver
        if program is None:
            raise Failed("no device: nvidia-smi, which comes with NVIDIA's driver, is not there")
        code, output = self.programs.call([program, "--query-gpu=name,driver_version,memory.total,compute_cap,clocks.max.sm", "--format=csv,noheader"], deadline)
        if code != 0:
            raise Failed(f"no device: {output.strip()}")
        return {"gpus": output.strip().splitlines(), "cores": len(os.sched_getaffinity(0)), "commit": commit()}

    def build(self, deadline):
        if self.options.no_build:
            raise Skipped("--no-build")
        if self.programs.folder != BUILT.resolve():
            raise Skipped(f"the programs of {self.programs.folder} are taken")
        generation = re.search(r", (\d+)\.(\d+),", self.report.figures("machine").get("gpus", [""])[0])
        number = "".join(generation.groups()) if generation else "90"
        for command in (["cmake", "--preset", "cuda", f"-DSLUICE_CUDA_GENERATIONS={number}-real"],
                        ["cmake", "--build", "--preset", "cuda", "--target", "sluiced", "sluice", "sluice-bench", "sluice_cuda", "cuda_device_tests",
                         "cuda_reference_tests", "cuda_ceilings"]):
            code, output = self.programs.call(command, deadline)
            if code != 0:
                raise Failed(f"{' '.join(command[:3])}: {output[-600:].strip()}")
        return {"generation": number}

    def kernels(self, deadline):
        self.needs_device()
        return self.programs.gtest("cuda_device_tests", deadline)

    def sanitizer(self, tool):
        def part(deadline):
            self.needs_device()
            program = shutil.which("compute-sanitizer", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")
            if program is None:
                raise Skipped("compute-sanitizer is not there")
            return self.programs.gtest("cuda_device_tests", deadline, SANITIZED, [program, "--tool", tool, "--error-exitcode", "9"])

        return part

    def references(self, deadline):
        """Of the tiny models, and of the default model where its file is."""
        self.needs_device()
        return self.programs.gtest("cuda_reference_tests", deadline, "*_gpu:-DefaultModel*")

    def default_model(self, deadline):
        self.needs_device()
        folder = pathlib.Path(os.environ.get("SLUICE_MODELS") or pathlib.Path.home() / ".cache/sluice/models")
        if not list(folder.glob("SmolLM2-135M-Instruct.Q4_1.gguf")):
            raise Skipped(f"no SmolLM2-135M-Instruct.Q4_1.gguf in {folder}; SLUICE_MODELS names another folder")
        return self.programs.gtest("cuda_reference_tests", deadline, "DefaultModelOnGpu.*", env={"SLUICE_MODELS": str(folder)})

    def ceilings(self, deadline):
        self.needs_device()
        code, output = self.programs.call([self.programs.path("cuda_ceilings")], deadline)
        if code != 0:
            raise Failed(output.strip()[-600:])
        return json.loads(output.strip().splitlines()[-1])

    def speed(self, model, batches=BATCHES, stored=None):
        """One daemon, and for each batch one wave of as many requests. `stored` is a quantised type that the weights have and are kept in."""

        def part(deadline):
            self.needs_device()
            settings = {"scheduler.max_running": max(BATCHES), "scheduler.tokens_per_step": 8192, "kv.memory": "50%", "kv.prefix_cache": "false"}
            if stored:
                settings["engine.cuda_weights"] = "stored"
            runs = []
            with Daemon(self.programs, deadline, f"synthetic:{model}" + (f":{stored}" if stored else ""), settings) as daemon:
                daemon.bench(deadline, "--concurrency", 2, "--requests", 4, "--prompt-tokens", PROMPT_TOKENS, "--output-tokens", 8)
                for rows in batches:
                    try:
                        runs.append(self.measured(daemon, deadline, model, rows, stored or "bf16"))
                    except Failed as why:
                        raise Failed(f"{rows} rows: {why}", {"batches": runs}) from None
            return {"batches": runs}

        return part

    def measured(self, daemon, deadline, model, rows, weights):
        requests = max(rows, 3)
        run = daemon.bench(deadline, "--concurrency", rows, "--requests", requests, "--warmup", 0, "--prompt-tokens", PROMPT_TOKENS, "--output-tokens", OUTPUT_TOKENS)
        load = {"rows": rows, "prompt_tokens": PROMPT_TOKENS, "output_tokens": OUTPUT_TOKENS}
        return shapes.shares(shapes.SHAPES[model], load, run, self.report.figures("ceilings"), shapes.WEIGHT_BYTES[weights])

    def kv_pressure(self, deadline):
        """Four times what the cache holds at a time, and answers that all run to their last token."""
        self.needs_device()
        model = "llama-3.2-1b"
        settings = {"scheduler.max_running": 256, "scheduler.tokens_per_step": 4096, "kv.prefix_cache": "false",
                    "kv.memory": 64 * (PROMPT_TOKENS + 256) * shapes.kv_bytes_per_token(shapes.SHAPES[model])}
        with Daemon(self.programs, deadline, f"synthetic:{model}", settings) as daemon:
            run = daemon.bench(deadline, "--concurrency", 256, "--requests", 768, "--prompt-tokens", f"64..{PROMPT_TOKENS}", "--output-tokens", "32..256")
            metrics = daemon.metrics(deadline)
        figures = {"requests": run["requests"], "output_tokens_per_second": run["output_tokens_per_second"], "ttft_ms_p99": run["ttft_ms"]["p99"],
                   "itl_ms_p99": run["itl_ms"]["p99"], "kv_blocks_capacity": metrics.get("sluice_kv_blocks_capacity"),
                   "preemptions": metrics.get("sluice_preemptions_total"), "pauses": metrics.get("sluice_pauses_total")}
        if figures["preemptions"] != 0:
            raise Failed(f"{figures['preemptions']} preemptions", figures)
        return figures


def commit():
    """None outside of a repository, such as in a copy of its files."""
    try:
        done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


BUILT = ROOT / "build/cuda/bin"
PACKED = ROOT / "build/device_check/programs.tar.xz"


def unpacked(archive, folder):
    """The folder of the programs in an archive that pack.py made."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    return pathlib.Path(folder) / "bin"


def run_parts(report, check):
    # First what tells whether anything works, then the figures that others are shares of, the largest model before the rest.
    for name, timeout_s, part in [
        ("machine", 20, check.machine),
        ("build", 200, check.build),
        ("kernels", 90, check.kernels),
        ("ceilings", 40, check.ceilings),
        ("references", 60, check.references),
        ("default_model", 30, check.default_model),
        ("speed_8b", 150, check.speed("llama-3.1-8b")),
        ("speed_1b", 90, check.speed("llama-3.2-1b")),
        ("speed_8b_stored", 60, check.speed("llama-3.1-8b", STORED_BATCHES, "q4_0")),
        ("kv_pressure", 60, check.kv_pressure),
        ("memcheck", 60, check.sanitizer("memcheck")),
        ("racecheck", 60, check.sanitizer("racecheck")),
    ]:
        report.run(name, timeout_s, part)


def main():
    parser = argparse.ArgumentParser(prog="bench/device_check.sh", description="Checks and measures Sluice on a machine with a GPU.")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for device_check.json and device_check.log ($OUT)")
    parser.add_argument("--no-build", action="store_true", help="take the programs as they are")
    parser.add_argument("--programs", type=pathlib.Path, default=PACKED if PACKED.exists() else BUILT,
                        help="a folder of programs, or what bench/device_check/pack.py made of one [%(default)s]")
    options = parser.parse_args()
    # As an exception, so that what was started is ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        programs = options.programs if options.programs.suffix != ".xz" else unpacked(options.programs, folder)
        report = Report(options.out, WHOLE_S)
        run_parts(report, Check(options, report, Programs(programs, options.out / "device_check.log", ROOT)))
    print(f"{report.path}: {'failed' if report.failed() else 'passed'}")
    sys.exit(1 if report.failed() else 0)


if __name__ == "__main__":
    main()
