"""Start, refusal to start, and shutdown (cases B12, B29, B30)."""

import signal
import socket
import subprocess
import time

import grpc
import pytest

from conftest import BIN, FORCE_NO, FREE_PORTS, MODEL, PATIENCE, ROOT, complete, make_request


def run_sluiced(*options, seconds=2):
    """(exit code, stderr lines, seconds) of a sluiced that ends by itself."""
    begin = time.monotonic()
    done = subprocess.run([BIN / "sluiced", *map(str, options)], capture_output=True, timeout=60 * PATIENCE, text=True)
    took = time.monotonic() - begin
    assert took < seconds * PATIENCE
    assert "Sanitizer" not in done.stderr, done.stderr
    return done.returncode, done.stderr.strip().splitlines(), done.stdout


def assert_one_line(lines, *words):
    assert len(lines) == 1, lines
    for word in words:
        assert str(word) in lines[0], lines


# --- refusing to start --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted((ROOT / "tests/data/gguf").glob("B12_*.gguf")), ids=lambda path: path.stem)
def test_b12_hostile_model_files_are_refused(path):
    code, lines, _ = run_sluiced("--model", path, "--device", "cpu", *FREE_PORTS)
    assert code == 1
    assert_one_line(lines, path.name)


def test_a_missing_model_is_named():
    code, lines, _ = run_sluiced("--model", "/nowhere/model.gguf", *FREE_PORTS)
    assert code == 1
    assert_one_line(lines, "/nowhere/model.gguf")


def test_no_model_at_all_says_how_to_give_one():
    code, lines, _ = run_sluiced()
    assert code == 2
    assert "--model" in " ".join(lines)


@pytest.mark.parametrize("option", ["--grpc-listen", "--http-listen", "--admin-listen"])
def test_a_busy_port_is_named(option):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        address = "127.0.0.1:%d" % busy.getsockname()[1]
        code, lines, _ = run_sluiced("--model", MODEL, "--device", "cpu", *FREE_PORTS, option, address)
    assert code == 1
    assert_one_line(lines, address, option, option.replace("--", "server.").replace("-listen", "_listen"))


@pytest.mark.parametrize("memory", ["400000", "100000GiB"], ids=["one_block", "more_than_there_is"])
def test_a_pool_that_cannot_be_is_refused_with_the_numbers(memory):
    code, lines, _ = run_sluiced("--model", MODEL, "--device", "cpu", "--set", f"kv.memory={memory}", *FREE_PORTS)
    assert code == 1
    assert_one_line([line for line in lines if "loaded the model" not in line], "kv.memory")


def test_verify_model_tells_what_a_model_is_and_serves_nothing():
    code, _, text = run_sluiced("--model", MODEL, "--verify-model")
    assert code == 0
    for part in ("architecture   llama", "parameters     134515008", "210 of Q4_1", "chat template  yes", "verified"):
        assert part in text


def test_verify_model_names_a_damaged_file(tmp_path):
    path = tmp_path / "cut.gguf"
    path.write_bytes(MODEL.read_bytes()[:1_000_000])
    code, lines, text = run_sluiced("--model", path, "--verify-model")
    assert code == 1 and text == ""
    assert_one_line(lines, "cut.gguf")


# --- B30: configuration -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text,words", [
    ("schedular:\n  max_running: 1\n", [":1", "schedular", "scheduler"]),
    ("kv:\n  block_sise: 16\n", [":2", "block_sise", "block_size"]),
    ("kv:\n  block-size: 16\n", [":2", "block-size", "block_size"]),
    ("kv:\n  block_size: 16\n  block_size: 32\n", [":3", "block_size"]),
    ("kv: {}\nkv: {}\n", [":2", "kv"]),
    ("scheduler:\n  max_running: [1, 2]\n", [":2", "scheduler.max_running"]),
    ("scheduler:\n  max_running: many\n", [":2", "scheduler.max_running"]),
    ("scheduler:\n  max_running: 99999999999\n", [":2", "scheduler.max_running"]),
    ("scheduler:\n  admission: hope\n", ["scheduler.admission", "reserve"]),
    ("kv:\n\tblock_size: 16\n", [":2"]),
], ids=["a", "b", "c", "d", "d_section", "e", "e_text", "e_overflow", "value", "h"])
def test_b30_a_bad_file_names_file_line_and_key(tmp_path, text, words):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    code, lines, _ = run_sluiced("--config", path, "--check-config")
    assert code == 2
    assert_one_line(lines, "bad.yaml", *words)


def test_b30_f_g_an_empty_file_is_the_defaults_and_a_missing_one_an_error(tmp_path):
    (tmp_path / "empty.yaml").write_text("")
    empty = run_sluiced("--config", tmp_path / "empty.yaml", "--check-config")
    default = run_sluiced("--config", ROOT / "configs/default.yaml", "--check-config")
    assert empty[0] == default[0] == 0 and empty[2] == default[2]
    code, lines, _ = run_sluiced("--config", tmp_path / "missing.yaml", "--check-config")
    assert code == 2
    assert_one_line(lines, "missing.yaml")


def test_b30_i_flags_override_the_file(tmp_path):
    (tmp_path / "c.yaml").write_text("scheduler:\n  max_running: 3\n")
    assert "max_running: 3" in run_sluiced("--config", tmp_path / "c.yaml", "--check-config")[2]
    overridden = run_sluiced("--config", tmp_path / "c.yaml", "--set", "scheduler.max_running=5", "--check-config")[2]
    assert "max_running: 5" in overridden
    code, lines, _ = run_sluiced("--set", "scheduler.max_runing=5", "--check-config")
    assert code == 2
    assert_one_line(lines, "scheduler.max_runing", "max_running")


# --- B29: shutdown ------------------------------------------------------------------------------------------------------------------------------


def begin_stream(server, max_tokens, tokens_to_read):
    """A running stream of which some tokens have been read."""
    call = server.stub.StreamComplete(make_request("Hi", max_tokens=max_tokens, bias=FORCE_NO))
    text = ""
    while text.count(" no") < tokens_to_read:
        text += next(call).tokens.text
    return call, text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_b29_a_g_running_requests_end_before_the_daemon_does(start, number):
    server = start({"kv": {"memory": "64MiB"}, "server": {"drain_timeout_ms": 120000}})
    call, text = begin_stream(server, 400, 10)
    server.signal(number)
    deadline = time.monotonic() + 2 * PATIENCE
    while True:
        # New requests are turned away while the old one runs on.
        try:
            complete(server.stub, "Hi", max_tokens=1)
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNAVAILABLE
            break
        assert time.monotonic() < deadline
    events = list(call)
    text += "".join(event.tokens.text for event in events)
    assert text == " no" * 400
    assert events[-1].WhichOneof("event") == "finished"
    assert server.wait_exit(2) == 0


def test_b29_health_says_no_while_draining(start):
    server = start({"kv": {"memory": "64MiB"}})
    call, _ = begin_stream(server, 2000, 1)
    assert server.get("/readyz")[0] == 200
    server.signal()
    deadline = time.monotonic() + 2 * PATIENCE
    while server.get("/readyz")[0] != 503:
        assert time.monotonic() < deadline
    call.cancel()
    assert server.wait_exit(2) == 0


def test_b29_b_what_outlasts_the_drain_time_gets_an_error(start):
    server = start({"kv": {"memory": "256MiB"}, "server": {"drain_timeout_ms": 1000}})
    call, _ = begin_stream(server, 6000, 1)
    server.signal()
    events = list(call)
    assert events[-1].WhichOneof("event") == "error"
    assert events[-1].error.code == grpc.StatusCode.UNAVAILABLE.value[0]
    assert server.wait_exit(2) == 0


def test_b29_c_idle_connections_do_not_hold_the_daemon(start):
    server = start({"kv": {"memory": "64MiB"}})
    host, port = server.http_address.rsplit(":", 1)
    sockets = [socket.create_connection((host, int(port))) for _ in range(5)]
    for connection in sockets:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
    server.signal()
    assert server.wait_exit(1) == 0
    for connection in sockets:
        connection.close()


def test_b29_d_a_signal_during_the_start_ends_it(start):
    server = start(wait=False)
    server.signal()
    assert server.wait_exit(2) in (0, 1, -signal.SIGTERM)


def test_b29_e_a_second_signal_ends_at_once(start):
    server = start({"kv": {"memory": "256MiB"}})
    call, _ = begin_stream(server, 6000, 1)
    server.signal()
    while server.get("/readyz")[0] != 503:
        pass
    server.signal()
    assert server.wait_exit(1) == 1
    with pytest.raises(grpc.RpcError):
        list(call)


def test_b29_f_queued_requests_get_an_answer(start):
    server = start({"kv": {"memory": "64MiB"}, "scheduler": {"max_running": 1}})
    running, _ = begin_stream(server, 2500, 1)
    queued = [server.stub.Complete.future(make_request("Hi", max_tokens=3, bias=FORCE_NO)) for _ in range(3)]
    server.wait_waiting(3)
    server.signal()
    while server.get("/readyz")[0] != 503:
        pass
    running.cancel()
    assert [call.result().choices[0].text for call in queued] == [" no no no"] * 3
    assert server.wait_exit(2) == 0


def test_the_effective_configuration_is_logged_once(start):
    server = start({"kv": {"memory": "64MiB"}})
    assert server.stderr().count("max_queued_requests") == 1
