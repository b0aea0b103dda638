"""Starts real daemons on free loopback ports and gives tests a Python client made from the proto."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import grpc
import pytest
from grpc_tools import protoc

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("SLUICE_BIN", ROOT / "build/release/bin"))
MODELS = pathlib.Path(os.environ.get("SLUICE_MODELS") or pathlib.Path.home() / ".cache/sluice/models")
MODEL = MODELS / "SmolLM2-135M-Instruct.Q4_1.gguf"

# Bounds on time only end what hangs: a machine may be slow, and others may have its cores. In a sanitizer build, which computes many times slower, they
# are stretched more. What is fast or slow is judged by what the same run did meanwhile, never by the clock.
IS_SLOW_BUILD = bool(os.environ.get("SLUICE_SLOW_BUILD"))
PATIENCE = 60 if IS_SLOW_BUILD else 30

_generated = tempfile.TemporaryDirectory(prefix="sluice-proto-")
if protoc.main(["protoc", f"-I{ROOT / 'proto'}", f"--python_out={_generated.name}", f"--grpc_python_out={_generated.name}",
                "sluice/v1/inference.proto", "sluice/v1/control.proto"]) != 0:
    raise RuntimeError("the proto does not compile for Python")
sys.path.insert(0, _generated.name)

from sluice.v1 import control_pb2 as control_pb  # noqa: E402
from sluice.v1 import control_pb2_grpc as control_grpc  # noqa: E402
from sluice.v1 import inference_pb2 as pb  # noqa: E402
from sluice.v1 import inference_pb2_grpc as pb_grpc  # noqa: E402

NO = 787  # " no" in the default model's vocabulary
FORCE_NO = {NO: 100.0}


FREE_PORTS = ("--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")


class Daemon:
    """One sluiced process. `config` is a dict of sections, written as YAML; `options` are further flags."""

    def __init__(self, config=None, options=(), model=MODEL, wait=True):
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-e2e-")
        path = pathlib.Path(self.folder.name) / "config.yaml"
        path.write_text(json.dumps(config or {}))  # JSON is YAML
        self.stderr_path = pathlib.Path(self.folder.name) / "stderr"
        self._stderr = open(self.stderr_path, "wb")
        self.process = subprocess.Popen(
            [BIN / "sluiced", "--config", path, "--model", model, *FREE_PORTS, *map(str, options)], stdout=subprocess.PIPE, stderr=self._stderr)
        self.grpc_address = self.http_address = self.admin_address = self.channel = self.stub = None
        if wait:
            self.wait_ready()

    def wait_ready(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"sluiced did not start: {self.stderr()}")
        ready = json.loads(line)
        self.grpc_address, self.http_address, self.admin_address = ready["grpc"], ready["http"], ready["admin"]
        self.channel = self.new_channel()
        self.stub = pb_grpc.InferenceStub(self.channel)
        self.control = control_grpc.ControlStub(grpc.insecure_channel(self.admin_address))

    def new_channel(self, *options):
        """A connection of its own."""
        return grpc.insecure_channel(self.grpc_address, options=[
            ("grpc.max_send_message_length", 64 << 20), ("grpc.max_receive_message_length", 64 << 20),
            ("grpc.use_local_subchannel_pool", 1), *options])

    def stderr(self):
        return self.stderr_path.read_text(errors="replace")

    def get(self, path):
        """(status, body) of an HTTP GET."""
        try:
            with urllib.request.urlopen(f"http://{self.http_address}{path}", timeout=10 * PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metrics(self):
        """{'name{labels}': value} of /metrics."""
        values = {}
        for line in self.get("/metrics")[1].splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        return values

    def load(self):
        return self.stub.GetLoad(pb.GetLoadRequest(), timeout=10 * PATIENCE)

    def wait_idle(self, seconds=5):
        """Until nothing runs or waits and no block is used, without sending anything that could refresh a gauge."""
        deadline = time.monotonic() + seconds * PATIENCE
        while True:
            load = self.load()
            if (load.running_sequences, load.waiting_requests, load.blocks_used, load.blocks_reserved) == (0, 0, 0, 0):
                return load
            assert time.monotonic() < deadline, f"not idle: {load}"
            time.sleep(0.01)

    def wait_counted(self, requests, outcome="", seconds=5):
        """Until so many requests have ended in the metrics, of all outcomes or one: a client has its answer a moment before that."""
        deadline = time.monotonic() + seconds * PATIENCE
        series = f'sluice_requests_total{{outcome="{outcome}"' if outcome else "sluice_requests_total{"
        while (counted := sum(value for name, value in self.metrics().items() if name.startswith(series))) < requests:
            assert time.monotonic() < deadline, f"{counted} of {requests} requests were counted"
            time.sleep(0.01)

    def wait_waiting(self, requests, seconds=20):
        """Until so many requests wait."""
        deadline = time.monotonic() + seconds * PATIENCE
        while (waiting := self.load().waiting_requests) < requests:
            assert time.monotonic() < deadline, f"{waiting} of {requests} requests wait"
            time.sleep(0.005)

    def wait_line(self, text, seconds=15):
        """Until the log has it."""
        deadline = time.monotonic() + seconds * PATIENCE
        while text not in self.stderr():
            assert time.monotonic() < deadline, self.stderr()
            time.sleep(0.02)

    def log_lines(self):
        """Those that are whole, of a log that is JSON."""
        return [json.loads(line) for line in self.stderr().splitlines(keepends=True) if line.endswith("\n")]

    def ended_requests(self, count):
        """What the log says of each request, in the order in which they ended, once there are so many. It takes a log that is JSON and has requests."""
        deadline = time.monotonic() + 15 * PATIENCE
        while True:
            ended = [line for line in self.log_lines() if line["message"] == "request ended"]
            if len(ended) >= count:
                return ended
            assert time.monotonic() < deadline, ended
            time.sleep(0.02)

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait_exit(self, seconds):
        return self.process.wait(timeout=seconds * PATIENCE)

    def stop(self):
        """SIGTERM, and a clean exit: this is where a sanitizer's report becomes a failure."""
        if self.process.poll() is None:
            self.signal()
        code = self.wait_exit(40)
        if self.channel is not None:
            self.channel.close()
        self.process.stdout.close()
        self._stderr.close()
        text = self.stderr()
        self.folder.cleanup()
        assert "Sanitizer" not in text and "broken invariant" not in text, text
        return code

    def kill(self):
        self.process.kill()
        self.process.wait()


def make_request(prompt=None, *, ids=None, max_tokens=None, temperature=0.0, stop=(), stop_token_ids=(), ignore_eos=None, logprobs=None,
                 echo=None, n=None, bias=None, model=None, priority=None, cache_salt=None, **sampling):
    """A CompleteRequest; what is None stays unset. Further keywords are SamplingOptions."""
    request = pb.CompleteRequest()
    if prompt is not None:
        request.text = prompt
    if ids is not None:
        request.token_ids.SetInParent()
        request.token_ids.ids.extend(ids)
    if model is not None:
        request.model = model
    if n is not None:
        request.n = n
    if priority is not None:
        request.priority = priority
    if cache_salt is not None:
        request.cache_salt = cache_salt
    if temperature is not None:
        request.sampling.temperature = temperature
    for name, value in sampling.items():
        setattr(request.sampling, name, value)
    for token, value in (bias or {}).items():
        request.sampling.logit_bias[token] = value
    if max_tokens is not None:
        request.stopping.max_tokens = max_tokens
    request.stopping.stop.extend(stop)
    request.stopping.stop_token_ids.extend(stop_token_ids)
    if ignore_eos is not None:
        request.stopping.ignore_eos = ignore_eos
    if logprobs is not None:
        request.response.logprobs = logprobs
    if echo is not None:
        request.response.echo = echo
    return request


class Streamed:
    """A StreamComplete read to its end, put together per choice."""

    def __init__(self, events):
        self.events = list(events)
        self.info = self.events[0].prompt_info if self.events else None
        self.errors = [e.error for e in self.events if e.WhichOneof("event") == "error"]
        self.finished = {e.finished.index: e.finished for e in self.events if e.WhichOneof("event") == "finished"}
        self.pieces, self.tokens, self.prompt_tokens = {}, {}, []
        for event in self.events:
            if event.WhichOneof("event") == "tokens":
                self.pieces.setdefault(event.tokens.index, []).append(event.tokens.text)
                self.tokens.setdefault(event.tokens.index, []).extend(event.tokens.tokens)
            elif event.WhichOneof("event") == "prompt_tokens":
                self.prompt_tokens.extend(event.prompt_tokens.tokens)

    def text(self, index=0):
        return "".join(self.pieces.get(index, []))

    def ids(self, index=0):
        return [token.id for token in self.tokens.get(index, [])]


def metadata_of(tenant):
    return None if tenant is None else (("x-tenant", tenant),)


def stream(stub, *args, timeout=120, tenant=None, **options):
    return Streamed(stub.StreamComplete(make_request(*args, **options), timeout=timeout * PATIENCE, metadata=metadata_of(tenant)))


def complete(stub, *args, timeout=120, tenant=None, **options):
    return stub.Complete(make_request(*args, **options), timeout=timeout * PATIENCE, metadata=metadata_of(tenant))


def refusal(call, *args, **options):
    """The RpcError of a call that must be refused."""
    with pytest.raises(grpc.RpcError) as caught:
        call(*args, **options)
    return caught.value


def in_parallel(jobs):
    """Runs callables at once, each in a thread; their results in order. The first exception is raised."""
    results, failures = [None] * len(jobs), []

    def run(index):
        try:
            results[index] = jobs[index]()
        except BaseException as failure:  # noqa: BLE001 - handed to the caller below
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return results


@pytest.fixture(scope="session")
def daemon():
    """The default model on default settings but for a small cache, shared by tests that leave it idle."""
    server = Daemon({"kv": {"memory": "512MiB"}})
    yield server
    assert server.stop() == 0


@pytest.fixture
def start():
    """start(config=…, options=…, model=…): a daemon for this test alone, stopped at its end if it still runs."""
    daemons = []

    def starter(*args, **options):
        daemons.append(Daemon(*args, **options))
        return daemons[-1]

    yield starter
    for server in daemons:
        if server.process.poll() is None:
            server.stop()
