"""What /metrics says about requests whose course is known (case B25), and health."""

import time

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from conftest import FORCE_NO, complete, make_request, refusal, stream

TTFT = "sluice_time_to_first_token_seconds"
TPOT = "sluice_time_per_output_token_seconds"
ITL = "sluice_inter_token_latency_seconds"


@pytest.fixture
def server(start):
    return start({"kv": {"memory": "64MiB"}, "scheduler": {"max_running": 1}})


def until_tokens(call, count):
    """Reads a stream until so many more tokens have come."""
    text = ""
    while text.count(" no") < count:
        text += next(call).tokens.text


def counts(server, requests):
    """Once so many requests have ended."""
    server.wait_counted(requests)
    metrics = server.metrics()
    return {name: metrics.get(name + "_count", 0) for name in (TTFT, TPOT, ITL)}


def test_b25_a_one_token_has_a_ttft_and_no_tpot(server):
    complete(server.stub, "Hi", max_tokens=1)
    assert counts(server, 1) == {TTFT: 1, TPOT: 0, ITL: 0}


def test_b25_b_an_end_token_first_has_no_tpot(server):
    complete(server.stub, "Hi", max_tokens=5, bias={2: 100.0})
    assert counts(server, 1) == {TTFT: 1, TPOT: 0, ITL: 0}


def test_b25_c_one_tpot_per_request_and_one_itl_per_gap(server):
    ledger = stream(server.stub, "Hi", max_tokens=11, bias=FORCE_NO).events[-1].finished.ledger
    assert counts(server, 1) == {TTFT: 1, TPOT: 1, ITL: 10}
    metrics = server.metrics()
    assert metrics[TPOT + "_sum"] == pytest.approx(metrics[ITL + "_sum"] / 10, rel=1e-3)
    assert metrics[TPOT + "_sum"] * 1000 == pytest.approx(ledger.tpot_ms, rel=1e-3)


def test_b25_d_ttft_includes_the_wait(server):
    running = server.stub.StreamComplete(make_request("Hi", max_tokens=2500, bias=FORCE_NO))
    until_tokens(running, 1)
    before = server.metrics()[TTFT + "_sum"]
    sent = time.monotonic()
    second = server.stub.StreamComplete(make_request("Hi", max_tokens=2, bias=FORCE_NO))
    server.wait_waiting(1)
    waits = time.monotonic()
    until_tokens(running, 50)
    let_go = time.monotonic()
    running.cancel()
    until_tokens(second, 1)
    got = time.monotonic()
    list(second)
    server.wait_counted(2)
    # The daemon has the request no sooner than it was sent and no later than it was seen to wait.
    assert let_go - waits < server.metrics()[TTFT + "_sum"] - before < got - sent


def test_b25_e_a_refused_request_has_no_ttft(server):
    refusal(complete, server.stub, "Hi", top_p=1.5)
    assert counts(server, 1)[TTFT] == 0
    assert server.metrics()['sluice_requests_total{outcome="invalid"}'] == 1


def test_metrics_never_hold_nan_and_stay_right_when_idle(server):
    for _ in range(2):
        text = server.get("/metrics")[1]
        assert "NaN" not in text and "nan" not in text.split("# ")[0]
        assert all("Inf" not in line or 'le="+Inf"' in line for line in text.splitlines())
        complete(server.stub, "Hi", max_tokens=4, bias=FORCE_NO)
    server.wait_counted(2)
    server.wait_idle()
    metrics = server.metrics()
    assert metrics["sluice_requests_running"] == metrics["sluice_requests_waiting"] == 0
    assert metrics["sluice_preemptions_total"] == 0
    assert metrics["sluice_prompt_tokens_total"] == 2 and metrics["sluice_generated_tokens_total"] == 8


def test_health_over_http_and_grpc(server):
    assert server.get("/healthz")[0] == 200 and server.get("/readyz")[0] == 200
    assert server.get("/nowhere")[0] == 404
    health = health_pb2_grpc.HealthStub(server.channel)
    for service in ("", "sluice.v1.Inference"):
        assert health.Check(health_pb2.HealthCheckRequest(service=service)).status == health_pb2.HealthCheckResponse.SERVING
    assert refusal(health.Check, health_pb2.HealthCheckRequest(service="nobody")).code() == grpc.StatusCode.NOT_FOUND


def test_reflection_lists_the_service(server):
    requests = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
    answer = next(reflection_pb2_grpc.ServerReflectionStub(server.channel).ServerReflectionInfo(requests))
    assert "sluice.v1.Inference" in [service.name for service in answer.list_services_response.service]
