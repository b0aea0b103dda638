"""The programs under check, run within a deadline and with all they print in one log."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request

from gtest_results import NAMES, NO_DEVICE, TAIL, judge_tests, last_begun, without
from report import Failed

# A test could do nothing in less.
LEAST_S = 3


def cublas_folders():
    """Where cuBLASLt may lie besides where a loader looks: a toolkit's folders, and those of NVIDIA's packages for Python."""
    roots = [*pathlib.Path("/usr/local").glob("cuda*/lib64"), *pathlib.Path("/usr/local").glob("cuda*/targets/x86_64-linux/lib")]
    for entry in sys.path:
        roots += pathlib.Path(entry or ".").glob("nvidia/*/lib")
    return [str(folder) for folder in roots if (folder / "libcublasLt.so.13").exists()]


class Programs:
    """Those in a folder; the libraries beside it, if there are any, come before the system's."""

    def __init__(self, folder, log_path, root):
        self.folder = pathlib.Path(folder).resolve()
        self.log_path = pathlib.Path(log_path)
        self.log_path.write_text("")
        self.root = root
        self.environment = dict(os.environ)
        libraries = self.folder.parent / "lib"
        own = [str(libraries)] if libraries.is_dir() else []
        self.environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [*own, os.environ.get("LD_LIBRARY_PATH"), *cublas_folders()]))

    def path(self, name):
        path = self.folder / name
        if not path.exists():
            raise Failed(f"{path} is not there")
        return path

    def log(self, text):
        with self.log_path.open("a") as log:
            log.write(text)

    def call(self, command, deadline, **more):
        """Exit code and output. A program that runs past the deadline fails the part, and is ended with all it has started."""
        command = [str(word) for word in command]
        self.log(f"\n$ {' '.join(command)}\n")
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=self.root,
                                       env=self.environment | more.pop("env", {}), start_new_session=True, **more)
        except OSError as error:
            raise Failed(f"{command[0]} can't be run: {error.strerror}") from None
        try:
            output, _ = process.communicate(timeout=max(1, deadline.left()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            self.log(output)
            raise Failed(f"{pathlib.Path(command[0]).name} was not done in time: {output[-TAIL:].strip()}") from None
        finally:  # this script may be ended itself
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        self.log(output + f"[exit code {process.returncode}]\n")
        return process.returncode, output

    def gtest(self, name, deadline, chosen="*", wrapper=(), env=None):
        """
        Runs those of a program's tests that GoogleTest's filter chooses; how many passed. Fails with the names of those that did not. One that ends its process
        is left out and the others are run anew. A fault on a device fails whatever its process does afterwards, so those that failed are run again, each by
        itself: `fail_alone` are at fault. All while there is time.
        """
        def run(tests):
            with tempfile.NamedTemporaryFile(suffix=".json") as results:
                code, output = self.call([*wrapper, self.path(name), f"--gtest_output=json:{results.name}", f"--gtest_filter={tests}"], deadline, env=env or {})
                text = pathlib.Path(results.name).read_text()
            return code, output, json.loads(text) if text else None

        def fails_alone(test):
            try:
                return run(test)[0] != 0
            except Failed:  # it hangs
                return True

        ended_in = []
        while True:
            code, output, results = run(chosen)
            test = last_begun(output)
            if results is not None or code == NO_DEVICE or test is None or test in ended_in or deadline.left() < LEAST_S:
                break
            ended_in.append(test)
            chosen = without(chosen, test)
        try:
            figures = judge_tests(code, output, results)
        except Failed as why:
            alone = [test for test in why.figures.get("failed", []) if deadline.left() >= LEAST_S and fails_alone(test)]
            reasons = [f"{', '.join(ended_in)} ended the process"] * bool(ended_in) + [str(why)] + [f"by themselves {', '.join(alone[:NAMES])}"] * bool(alone)
            raise Failed("; ".join(reasons), why.figures | {"ended_in": ended_in, "fail_alone": alone}) from None
        if ended_in:
            raise Failed(f"{', '.join(ended_in)} ended the process", figures | {"ended_in": ended_in})
        return figures


class Daemon:
    """A sluiced on free ports, from its start until the with block ends."""

    def __init__(self, programs, deadline, model, settings):
        self.programs = programs
        words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        command = [str(programs.path("sluiced")), "--model", model, "--device", "cuda:0", "--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0",
                   "--admin-listen", "127.0.0.1:0", *words]
        programs.log(f"\n$ {' '.join(command)}\n")
        self.log_begin = len(programs.log_path.read_text(errors="replace"))
        self.errors = programs.log_path.open("a")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, text=True, cwd=programs.root, env=programs.environment)
        try:
            self.addresses = self.await_ready(deadline)
        except BaseException:
            self.stop()
            raise

    def await_ready(self, deadline):
        """The line with its addresses, which it prints when it takes requests."""
        lines = []
        reader = threading.Thread(target=lambda: lines.append(self.process.stdout.readline()), daemon=True)
        reader.start()
        reader.join(deadline.left())
        if lines and lines[0].strip():
            return json.loads(lines[0])
        how = "was not ready in time"
        if lines:  # it closed its output, so it is about to end
            how = f"ended with {self.process.wait(10)}"
        said = self.programs.log_path.read_text(errors="replace")[self.log_begin:]
        raise Failed(f"sluiced {how}: {said[-TAIL:].strip()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.errors.close()

    def bench(self, deadline, *options):
        """Figures of `sluice-bench run`. Requests that failed fail the part."""
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            code, output = self.programs.call([self.programs.path("sluice-bench"), "run", "--address", self.addresses["grpc"], "--json", report.name, *options], deadline)
            text = pathlib.Path(report.name).read_text()
        if not text:
            raise Failed(f"sluice-bench ended with {code}: {output[-TAIL:].strip()}")
        run = json.loads(text)
        if run["errors"]:
            raise Failed(f"{run['errors']} of {run['requests']} requests failed: {run['errors_by_code']}")
        if run["short_answers"]:
            raise Failed(f"{run['short_answers']} answers were shorter than asked for")
        return run

    def metrics(self, deadline):
        with urllib.request.urlopen(f"http://{self.addresses['http']}/metrics", timeout=max(1, deadline.left())) as answer:
            return parse_metrics(answer.read().decode())


def parse_metrics(text):
    """Value by series."""
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))}
