"""Requests that leave early, come too many, or can never fit: the rest goes on and every block comes back."""

import time

import grpc
import pytest

from conftest import FORCE_NO, PATIENCE, complete, in_parallel, make_request, pb, pb_grpc, refusal, stream

LONG = dict(max_tokens=4000, bias=FORCE_NO)


def first_tokens(call):
    """Reads a stream until its first token."""
    for event in call:
        if event.WhichOneof("event") == "tokens":
            return event
    raise AssertionError("the stream ended before its first token")


def cancelled(daemon):
    return daemon.metrics()['sluice_requests_total{outcome="cancelled"}']


# --- B21: clients that go away -----------------------------------------------------------------------------------------------------------------


def test_b21_a_stream_cancelled_after_its_first_token(daemon):
    before = cancelled(daemon)
    call = daemon.stub.StreamComplete(make_request("Hi", **LONG))
    first_tokens(call)
    call.cancel()
    daemon.wait_idle(2)
    daemon.wait_counted(before + 1, "cancelled")


def test_b21_b_c_a_unary_call_cancelled_while_it_runs(daemon):
    before = cancelled(daemon)
    call = daemon.stub.Complete.future(make_request("Hi", **LONG))
    while daemon.load().running_sequences == 0:
        pass
    call.cancel()
    daemon.wait_idle(2)
    daemon.wait_counted(before + 1, "cancelled")


def test_b21_a_connection_that_dies_ends_its_requests(daemon):
    before = cancelled(daemon)
    channel = daemon.new_channel()
    call = pb_grpc.InferenceStub(channel).StreamComplete(make_request("Hi", **LONG))
    first_tokens(call)
    channel.close()
    daemon.wait_idle(2)
    daemon.wait_counted(before + 1, "cancelled")


def test_b21_d_a_hundred_cancelled_at_once(daemon):
    before = cancelled(daemon)
    calls = [daemon.stub.StreamComplete(make_request("Hi", **LONG)) for _ in range(50)]
    calls += [daemon.stub.Complete.future(make_request("Hi", **LONG)) for _ in range(50)]
    while daemon.load().running_sequences == 0:
        pass
    for call in calls:
        call.cancel()
    load = daemon.wait_idle(3)
    assert load.preemptions == 0
    deadline = time.monotonic() + 2 * PATIENCE
    while (metrics := daemon.metrics())["sluice_requests_waiting"] != 0 or metrics["sluice_requests_running"] != 0:
        assert time.monotonic() < deadline
    assert metrics['sluice_kv_blocks{state="used"}'] == 0
    assert cancelled(daemon) <= before + 100
    assert complete(daemon.stub, "Hi", max_tokens=3, bias=FORCE_NO).choices[0].text == " no no no"


def test_a_deadline_ends_a_running_request(daemon):
    error = refusal(complete, daemon.stub, "Hi", timeout=0.5, **LONG)
    assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    daemon.wait_idle(2)


# --- B22: never fits ----------------------------------------------------------------------------------------------------------------------------

# 64 tokens in 4 blocks of 16: the default model's block is 30 layers x 3 heads x 64 x 2 (K and V) x 16 tokens x 2 bytes.
FOUR_BLOCKS = str(4 * 30 * 3 * 64 * 2 * 16 * 2)


def small_pool(start, **scheduler):
    return start({"kv": {"memory": FOUR_BLOCKS}, "model": {"max_context": 256}, "scheduler": scheduler})


def test_b22_a_what_can_never_fit_is_refused_and_blocks_nobody(start):
    server = small_pool(start)
    jobs = [lambda: refusal(complete, server.stub, "a" + " a" * 99, max_tokens=8)]
    jobs += [lambda: complete(server.stub, "Hi", max_tokens=8, bias=FORCE_NO)] * 3
    error, *answers = in_parallel(jobs)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "108" in error.details() and "64" in error.details()  # places needed, places there are
    assert [answer.choices[0].text for answer in answers] == [" no" * 8] * 3
    assert server.wait_idle().waiting_requests == 0


def test_b22_b_the_last_capacity_works_and_the_next_is_refused(start):
    server = small_pool(start)
    for prompt_tokens in (1, 62, 63):
        answer = complete(server.stub, "a" + " a" * (prompt_tokens - 1), max_tokens=64 - prompt_tokens, bias=FORCE_NO)
        assert answer.usage.completion_tokens == 64 - prompt_tokens
    for prompt_tokens in (63, 64, 65):
        max_tokens = 65 - prompt_tokens if prompt_tokens < 65 else 1
        error = refusal(complete, server.stub, "a" + " a" * (prompt_tokens - 1), max_tokens=max_tokens)
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("memory", ["0", "100"])
def test_b22_c_a_pool_without_blocks_stops_the_start(start, memory):
    server = start({"kv": {"memory": memory}}, wait=False)
    assert server.wait_exit(5) in (1, 2)
    assert "kv.memory" in server.stderr()


def test_b22_d_more_choices_than_fit_run_in_turns(start):
    server = small_pool(start)
    answer = complete(server.stub, "a" + " a" * 19, max_tokens=8, n=8, bias=FORCE_NO)
    assert [choice.text for choice in answer.choices] == [" no" * 8] * 8
    assert server.wait_idle().preemptions == 0


# --- B26: too many, too large -------------------------------------------------------------------------------------------------------------------


def test_b26_a_a_large_prompt_gets_a_clear_answer(daemon):
    error = refusal(complete, daemon.stub, "word " * (1 << 20), max_tokens=1)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and "8192" in error.details()
    assert complete(daemon.stub, "Hi", max_tokens=1, bias=FORCE_NO).choices[0].text == " no"


def test_b26_b_a_full_queue_refuses_at_once(start):
    server = start({"kv": {"memory": "64MiB"}, "scheduler": {"max_running": 1, "max_queued_requests": 2}})
    running = server.stub.StreamComplete(make_request("Hi", max_tokens=2500, bias=FORCE_NO))
    first_tokens(running)
    queued = [server.stub.Complete.future(make_request("Hi", max_tokens=20, bias=FORCE_NO)) for _ in range(2)]
    server.wait_waiting(2)
    for error in in_parallel([lambda: refusal(complete, server.stub, "Hi", max_tokens=20)] * 7):
        assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, error
        assert int(dict(error.trailing_metadata())["retry-after-ms"]) > 0
    load = server.load()
    assert (load.running_sequences, load.waiting_requests) == (1, 2), "nothing had to end for them to be refused"
    running.cancel()
    assert [call.result(timeout=20 * PATIENCE).usage.completion_tokens for call in queued] == [20] * 2
    server.wait_counted(7, "refused")


def test_b26_d_unknown_fields_are_ignored(daemon):
    raw = make_request("Hi", max_tokens=1, bias=FORCE_NO).SerializeToString() + b"\xfa\x3f\x03abc"  # field 1023, three bytes
    call = daemon.channel.unary_unary("/sluice.v1.Inference/Complete", request_serializer=lambda data: data,
                                      response_deserializer=pb.CompleteResponse.FromString)
    assert call(raw).choices[0].text == " no"


@pytest.mark.parametrize("raw", [b"\xff" * 20, b"\x12\x7fabc", b"\x12\x02\xff\xfe"])
def test_hostile_bytes_are_refused_and_hurt_nobody(daemon, raw):
    call = daemon.channel.unary_unary("/sluice.v1.Inference/Complete", request_serializer=lambda data: data,
                                      response_deserializer=pb.CompleteResponse.FromString)
    with pytest.raises(grpc.RpcError):
        call(raw)
    assert complete(daemon.stub, "Hi", max_tokens=1, bias=FORCE_NO).choices[0].text == " no"


def test_a_reader_that_does_not_read_costs_only_itself(start):
    server = start({"kv": {"memory": "256MiB"}, "server": {"stream_buffer_tokens": 64}})
    # A transport window that stays at 64 KiB, and alternatives to make each token's message some hundred bytes.
    channel = server.new_channel(("grpc.http2.bdp_probe", 0))
    stuck = pb_grpc.InferenceStub(channel).StreamComplete(make_request("Hi", max_tokens=3000, ignore_eos=True, logprobs=20))
    first_tokens(stuck)
    assert stream(server.stub, "Hi", max_tokens=32, bias=FORCE_NO).text() == " no" * 32
    load = server.wait_idle(120)  # given up while nobody reads, long before its 3000 tokens
    assert load.decode_tokens < 2000
    rest = list(stuck)
    channel.close()
    assert rest[-1].WhichOneof("event") == "error"
    assert rest[-1].error.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
    assert "reader too slow" in rest[-1].error.message
