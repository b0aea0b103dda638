"""Spans of requests at a collector, over OTLP/HTTP in JSON, and the same requests in the daemon's log."""

import http.server
import json
import threading
import time
import urllib.request

import pytest

from conftest import FORCE_NO, PATIENCE, make_request, refusal, complete

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


class Collector:
    """Takes what is posted to it; answers 503 while told to refuse."""

    def __init__(self):
        self.spans, self.refuses, self.paths = [], False, set()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                collector.paths.add((self.path, self.headers["content-type"]))
                if not collector.refuses:
                    for resource in body["resourceSpans"]:
                        assert {"key": "service.name", "value": {"stringValue": "inference"}} in resource["resource"]["attributes"]
                        collector.spans += [span for scope in resource["scopeSpans"] for span in scope["spans"]]
                self.send_response(503 if collector.refuses else 200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def roots(self, count):
        """Server spans, once there are so many."""
        deadline = time.monotonic() + 10 * PATIENCE
        while len(found := [span for span in self.spans if span["kind"] == 2]) < count:
            assert time.monotonic() < deadline, self.spans
            time.sleep(0.02)
        return found

    def children(self, root):
        return {span["name"]: span for span in self.spans if span.get("parentSpanId") == root["spanId"]}


@pytest.fixture
def collector():
    made = Collector()
    yield made
    made.server.shutdown()


@pytest.fixture
def server(start, collector):
    return start({"kv": {"memory": "64MiB"}, "log": {"format": "json", "requests": True},
                  "tracing": {"otlp_url": collector.url, "service_name": "inference"}})


def attributes(span):
    return {entry["key"]: next(iter(entry["value"].values())) for entry in span["attributes"]}


def post(server, path, body, **headers):
    request = urllib.request.Request(f"http://{server.http_address}{path}", json.dumps(body).encode(),
                                     {"content-type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=60 * PATIENCE) as answer:
        return answer.read()


def test_a_grpc_call_continues_its_callers_trace(server, collector):
    before = time.time_ns()
    list(server.stub.StreamComplete(make_request("Hi", max_tokens=5, bias=FORCE_NO), timeout=60 * PATIENCE, metadata=(
        ("traceparent", f"00-{TRACE}-{PARENT}-01"), ("x-request-id", "mine-7"), ("x-tenant", "red"))))
    root, = collector.roots(1)
    assert root["traceId"] == TRACE and root["parentSpanId"] == PARENT
    assert root["name"].startswith("text_completion ")
    said = attributes(root)
    assert said["gen_ai.usage.output_tokens"] == "5" and said["sluice.tenant"] == "red" and said["sluice.outcome"] == "length"
    assert said["sluice.client_request.id"] == "mine-7"
    parts = collector.children(root)
    assert set(parts) == {"queue", "prefill", "decode", "delivery"}
    # They follow one another, from the request's arrival to its end, today.
    moments = [root["startTimeUnixNano"]]
    for name in ("queue", "prefill", "decode", "delivery"):
        assert parts[name]["startTimeUnixNano"] == moments[-1]
        moments.append(parts[name]["endTimeUnixNano"])
    assert moments[-1] == root["endTimeUnixNano"]
    assert [int(moment) for moment in moments] == sorted(int(moment) for moment in moments)
    assert before - 10**9 <= int(moments[0]) <= int(moments[-1]) <= time.time_ns() + 10**9
    assert collector.paths == {("/v1/traces", "application/json")}


def test_http_headers_say_the_same(server, collector):
    post(server, "/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2},
         traceparent=f"00-{TRACE}-{PARENT}-01")
    root, = collector.roots(1)
    assert root["traceId"] == TRACE and root["parentSpanId"] == PARENT
    assert root["name"].startswith("chat ") and attributes(root)["gen_ai.operation.name"] == "chat"


def test_who_asks_for_no_trace_gets_none_and_a_broken_header_harms_nobody(server, collector):
    post(server, "/v1/completions", {"prompt": "Hi", "max_tokens": 1}, traceparent=f"00-{TRACE}-{PARENT}-00")
    post(server, "/v1/completions", {"prompt": "Hi", "max_tokens": 1}, traceparent="00-broken")
    post(server, "/v1/completions", {"prompt": "Hi", "max_tokens": 1})
    first, second = collector.roots(2)
    assert len({first["traceId"], second["traceId"], TRACE}) == 3
    assert "parentSpanId" not in first and "parentSpanId" not in second


def test_a_collector_that_takes_nothing_stops_nothing(server, collector):
    collector.refuses = True
    complete(server.stub, "Hi", max_tokens=2)
    deadline = time.monotonic() + 20 * PATIENCE
    while server.metrics()["sluice_traces_dropped_total"] < 1:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    collector.refuses = False
    complete(server.stub, "Hi", max_tokens=2)
    collector.roots(1)
    assert server.metrics()["sluice_traces_dropped_total"] == 1
    assert any(line["message"].startswith("traces are dropped") and "503" in line["why"] for line in server.log_lines())


def test_the_log_names_requests_and_never_what_was_said(server, collector):
    secret = "xylophone"
    post(server, "/v1/completions", {"prompt": secret * 3, "max_tokens": 3, "logit_bias": {"787": 100}}, **{
        "x-request-id": "mine-8", "traceparent": f"00-{TRACE}-{PARENT}-01"})
    refusal(complete, server.stub, "Hi", top_p=1.5)
    ended, = [line for line in server.ended_requests(1) if line["outcome"] != "invalid"]
    assert ended["client_request"] == "mine-8" and ended["trace"] == TRACE and ended["outcome"] == "length"
    assert ended["output_tokens"] == "3" and float(ended["end_to_end_ms"]) >= float(ended["ttft_ms"]) > 0
    assert secret not in server.stderr() and " no no" not in server.stderr()
    assert all({"time", "level", "message"} <= set(line) for line in server.log_lines())


def test_spans_that_wait_are_sent_before_the_daemon_ends(server, collector):
    complete(server.stub, "Hi", max_tokens=1)
    assert server.stop() == 0
    assert len(collector.roots(1)) == 1
