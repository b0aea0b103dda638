"""Clients that leave, come in crowds, send nonsense or send slowly; and how streams end."""

import json
import socket
import struct
import threading
import time

import pytest

from conftest import PATIENCE, in_parallel
from http_calls import (FORCE, Answer, assert_alive, assert_refused, complete, connect, events_of, good, joined, openai_client, post,
                        raw_connection, raw_events, request_bytes, send, streamed, text_of)

LONG = {"prompt": "Hi", "max_tokens": 4000, "logit_bias": FORCE}


def cancelled(daemon):
    return daemon.metrics()['sluice_requests_total{outcome="cancelled"}']


def wait_cancelled(daemon, count, seconds=3):
    """Until so many requests have been counted as cancelled, asking nothing but /metrics."""
    deadline = time.monotonic() + seconds * PATIENCE
    while True:
        metrics = daemon.metrics()
        idle = metrics["sluice_requests_running"] == metrics["sluice_requests_waiting"] == metrics['sluice_kv_blocks{state="used"}'] == 0
        if idle and metrics['sluice_requests_total{outcome="cancelled"}'] == count:
            return
        assert time.monotonic() < deadline, metrics
        time.sleep(0.05)


def wait_running(daemon, count=1):
    deadline = time.monotonic() + 20 * PATIENCE
    while daemon.load().running_sequences < count:
        assert time.monotonic() < deadline
        time.sleep(0.005)


# --- B21: clients that go away ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False])
def test_b21_a_b_a_client_that_closes_ends_its_request(daemon, stream):
    before = cancelled(daemon)
    with raw_connection(daemon) as client:
        client.sendall(request_bytes({**LONG, "stream": stream}))
        wait_running(daemon)
        if stream:
            assert b"200 OK" in client.recv(4096)
    wait_cancelled(daemon, before + 1, seconds=2)
    assert_alive(daemon)


def test_b21_b_a_client_that_resets_ends_its_request(daemon):
    before = cancelled(daemon)
    client = raw_connection(daemon)
    client.sendall(request_bytes(LONG))
    wait_running(daemon)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    wait_cancelled(daemon, before + 1, seconds=2)


def test_b21_d_a_hundred_close_at_once(start):
    daemon = start({"kv": {"memory": "512MiB"}})
    clients = [raw_connection(daemon) for _ in range(100)]
    for number, client in enumerate(clients):
        client.sendall(request_bytes({**LONG, "stream": number % 2 == 0}))
    wait_running(daemon)
    for client in clients:
        client.close()
    deadline = time.monotonic() + 4 * PATIENCE
    while (metrics := daemon.metrics())["sluice_requests_running"] + metrics["sluice_requests_waiting"] > 0:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert metrics['sluice_kv_blocks{state="used"}'] == 0 and metrics["sluice_preemptions_total"] == 0
    assert cancelled(daemon) <= 100
    assert_alive(daemon)


@pytest.mark.parametrize("max_tokens", [3, 400])
def test_b21_e_a_half_closed_connection_gets_its_answer(daemon, max_tokens):
    for stream in (False, True):
        with raw_connection(daemon) as client:
            client.sendall(request_bytes({**LONG, "max_tokens": max_tokens, "stream": stream}))
            client.shutdown(socket.SHUT_WR)
            data = b""
            while piece := client.recv(65536):
                data += piece
        assert b"HTTP/1.1 200 OK" in data
        assert data.replace(b"no-cache", b"").count(b" no") == max_tokens
        assert not stream or data.count(b"[DONE]") == 1


# --- B26: too many, too large -------------------------------------------------------------------------------------------------------------------


def test_b26_a_a_large_prompt_gets_a_clear_answer(daemon):
    connection = connect(daemon)
    assert_refused(post(daemon, "/v1/completions", {"prompt": "word " * (1 << 20), "max_tokens": 1}, connection=connection), 400, "8192")
    assert good(post(daemon, "/v1/completions", {"prompt": "Hi", "max_tokens": 1}, connection=connection))


def test_b26_b_a_full_queue_refuses_at_once(start):
    server = start({"kv": {"memory": "64MiB"}, "scheduler": {"max_running": 1, "max_queued_requests": 2}})
    running = raw_connection(server)
    running.sendall(request_bytes({"prompt": "Hi", "max_tokens": 2500, "logit_bias": FORCE, "stream": True}))
    wait_running(server)
    queued = [send(connect(server), "/v1/completions", {"prompt": "Hi", "max_tokens": 20, "logit_bias": FORCE}) for _ in range(2)]
    server.wait_waiting(2)
    for answer in in_parallel([lambda: complete(server, max_tokens=20)] * 7):
        assert_refused(answer, 429)
        assert int(answer.headers["retry-after"]) >= 1 and int(answer.headers["retry-after-ms"]) > 0
    load = server.load()
    assert (load.running_sequences, load.waiting_requests) == (1, 2), "nothing had to end for them to be refused"
    running.close()
    assert [good(Answer(connection.getresponse()))["usage"]["completion_tokens"] for connection in queued] == [20] * 2
    server.wait_counted(7, "refused")


def test_b26_b_the_openai_client_knows_a_full_queue(start):
    import openai
    server = start({"kv": {"memory": "64MiB"}, "scheduler": {"max_running": 1, "max_queued_requests": 1}})
    client = openai_client(server)
    streams = [client.completions.create(model="", prompt="Hi", max_tokens=2000, logit_bias=FORCE, stream=True)]
    waiting = threading.Thread(target=lambda: complete(server, max_tokens=1), daemon=True)
    waiting.start()
    server.wait_waiting(1)
    with pytest.raises(openai.RateLimitError) as refused:
        client.completions.create(model="", prompt="Hi", max_tokens=1)
    assert int(refused.value.response.headers["retry-after"]) >= 1
    streams[0].close()
    waiting.join()


def test_b26_c_an_unknown_model_is_not_found(daemon):
    assert_refused(complete(daemon, model="gpt-5"), 404, param="model")


# --- B27: bad bodies ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [
    b'{"prompt":"\xff\xfe"}', b'{"prompt":"\\ud83d"}', b"", b"[1]", b'{"prompt":"Hi"}x', b"[" * 100000, b"{:", b'{"prompt":"Hi","prompt":"Yo"}',
    '{"prompt":"你好"}'.encode("gbk"), b'{"prompt":"Hi","model":"\xc3\x28"}', b'{"prompt":"Hi","max_tokens":1e400}'],
    ids=["a", "b", "c", "d", "e", "f", "g", "i", "k", "l", "n"])
def test_b27_a_bad_body_is_a_bad_request(daemon, body):
    assert_refused(post(daemon, "/v1/completions", body), 400)
    assert_alive(daemon)


def test_b27_h_j_m_unusual_bodies_are_served(daemon):
    nul = good(complete(daemon, "\0", max_tokens=1, echo=True, logprobs=0))
    assert nul["usage"]["prompt_tokens"] == 1 and nul["choices"][0]["logprobs"]["token_ids"][0] == 190
    body = json.dumps({"prompt": "Hi", "max_tokens": 1}).encode()
    good(post(daemon, "/v1/completions", b"\xef\xbb\xbf" + body))
    good(post(daemon, "/v1/completions", body, {"Content-Type": "text/plain"}))


# --- B28: how streams begin and end --------------------------------------------------------------------------------------------------------------


def test_b28_a_b_a_refused_stream_is_an_ordinary_error(daemon):
    connection = connect(daemon)
    for options, status in ((dict(n=0), 400), (dict(model="gpt-5"), 404)):
        assert_refused(post(daemon, "/v1/completions", {"prompt": "Hi", "stream": True, **options}, connection=connection), status)
    good(post(daemon, "/v1/completions", {"prompt": "Hi", "max_tokens": 1}, connection=connection))


def test_b28_c_a_line_s_end_is_escaped(daemon):
    answer = complete(daemon, stream=True, max_tokens=3, logit_bias={"198": 100})
    assert joined(events_of(answer)) == "\n\n\n"


def test_b28_d_one_token_is_a_whole_stream(daemon):
    events = streamed(daemon, max_tokens=1, logit_bias=FORCE)
    assert [(e["choices"][0]["text"], e["choices"][0]["finish_reason"]) for e in events] == [(" no", None), ("", "length")]


def test_b28_e_a_run_that_fails_in_the_middle_says_so(start):
    server = start({"server": {"drain_timeout_ms": 300}, "kv": {"memory": "64MiB"}})
    connection = connect(server)
    response = send(connection, "/v1/completions", {**LONG, "max_tokens": 2000, "stream": True}).getresponse()
    assert b"data: " in response.read1(4096)
    server.signal()
    rest = response.read().decode()
    assert server.wait_exit(5) == 0
    last = rest[:-2].split("\n\n")[-1]
    assert json.loads(last.removeprefix("data: "))["error"]["type"] == "server_error" and "[DONE]" not in rest


def test_b28_f_two_streams_on_one_connection(daemon):
    connection = connect(daemon)
    for _ in range(2):
        answer = post(daemon, "/v1/completions", {"prompt": "Hi", "max_tokens": 3, "stream": True, "logit_bias": FORCE}, connection=connection)
        assert joined(events_of(answer)) == " no no no"


def test_b29_a_f_a_drain_finishes_what_there_is_and_refuses_what_comes(start):
    # So much of the first answer is left that the daemon still drains when the others look.
    server = start({"kv": {"memory": "64MiB"}, "scheduler": {"max_running": 1}, "server": {"drain_timeout_ms": 120000}})
    idle = connect(server)
    good(post(server, "/v1/completions", {"prompt": "Hi", "max_tokens": 1}, connection=idle))
    first = send(connect(server), "/v1/completions", {"prompt": "Hi", "max_tokens": 1500, "logit_bias": FORCE, "stream": True}).getresponse()
    first.read1(100)
    queued = send(connect(server), "/v1/completions", {"prompt": "Hi", "max_tokens": 5, "logit_bias": FORCE})
    server.wait_waiting(1)
    server.signal()
    while server.get("/readyz")[0] == 200:
        time.sleep(0.002)
    refused = post(server, "/v1/completions", {"prompt": "Hi"}, connection=idle)
    assert_refused(refused, 503)
    assert "[DONE]" in first.read().decode()
    assert good(Answer(queued.getresponse()))["choices"][0]["text"] == " no" * 5
    assert server.wait_exit(5) == 0


# --- crowds and slow clients -----------------------------------------------------------------------------------------------------------------------


def resident_mib(daemon):
    for line in open(f"/proc/{daemon.process.pid}/status", encoding="ascii"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def test_a_thousand_idle_and_two_hundred_slow_connections_leave_room(start):
    daemon = start({"kv": {"memory": "64MiB"}, "server": {"http_max_buffered_mib": 64, "http_max_body_mib": 8}})
    assert_alive(daemon)
    before = resident_mib(daemon)
    idle = [raw_connection(daemon) for _ in range(1000)]
    slow = [raw_connection(daemon) for _ in range(200)]
    head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n"
    turned_away = []

    def drip():
        for client in slow:
            try:
                client.sendall(head + b'{"prompt":"' + b"a" * 1_000_000)
            except OSError:  # as it should when all of them are too much
                turned_away.append(client)

    thread = threading.Thread(target=drip)
    thread.start()
    for _ in range(20):
        assert_alive(daemon)
        assert daemon.get("/metrics")[0] == 200
    thread.join()
    assert len(turned_away) < 200
    assert_alive(daemon)
    assert resident_mib(daemon) - before < 64 + 100
    for client in idle + slow:
        client.close()


def test_a_long_prompt_holds_up_neither_metrics_nor_small_requests(daemon):
    prompt = "".join(chr(0x4e00 + i % 5000) for i in range(340_000))  # a mebibyte that is slow to tokenise
    for _ in range(20):
        long = threading.Thread(target=complete, args=(daemon, prompt), kwargs={"max_tokens": 1})
        long.start()
        answered = 0
        while long.is_alive():
            assert daemon.get("/metrics")[0] == 200
            assert text_of(daemon, max_tokens=1, logit_bias=FORCE) == " no"
            answered += 1
        # Were they held up, there would be one before it and one behind it. A busy machine may be slow with all of them.
        if answered > 2:
            return
    raise AssertionError("small requests waited for the long one every time")


def test_a_reader_that_does_not_read_costs_only_itself(start):
    server = start({"kv": {"memory": "256MiB"}, "server": {"stream_buffer_tokens": 64, "http_write_timeout_ms": 60000}})
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    host, port = server.http_address.rsplit(":", 1)
    client.connect((host, int(port)))
    client.sendall(request_bytes({"prompt": "Hi", "max_tokens": 8000, "ignore_eos": True, "logprobs": 20, "stream": True}))
    wait_running(server)
    assert joined(streamed(server, max_tokens=32, logit_bias=FORCE)) == " no" * 32
    server.wait_idle(120)  # given up while nobody reads
    assert server.load().decode_tokens < 6000
    data = b""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)  # what waits may be megabytes: too many for small windows
    client.settimeout(20 * PATIENCE)
    while b"reader too slow" not in data[-5000:]:
        piece = client.recv(1 << 20)
        assert piece, "the stream ended without its error"
        data += piece
    client.close()


def test_what_can_not_be_served_has_a_body_that_says_so(daemon):
    connection = connect(daemon)
    assert_refused(post(daemon, "/v1/nothing", {}, connection=connection), 404)
    connection.request("GET", "/v1/completions")
    refused = Answer(connection.getresponse())
    assert_refused(refused, 405)
    assert refused.headers["allow"] == "POST"
    assert_refused(post(daemon, "/v1/completions", {}, {"X-Filler": "a" * 20000}), 431)
    with raw_connection(daemon) as client:
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        assert b"413 Payload Too Large" in client.recv(4096)
    assert raw_events(complete(daemon, stream=True, max_tokens=0))[-1] == "[DONE]"


@pytest.mark.parametrize("encoding", ["identity", "gzip", "xchunked", "chunked, identity", "gzip, chunked", '"chunked"'])
def test_a_transfer_encoding_that_nobody_can_read_ends_the_connection(daemon, encoding):
    with raw_connection(daemon) as client:
        client.sendall(f"POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: {encoding}\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        data = b""
        while piece := client.recv(65536):
            data += piece
    assert data.startswith((b"HTTP/1.1 501 ", b"HTTP/1.1 400 ")) and data.count(b"HTTP/1.1 ") == 1, data
    assert_alive(daemon)
