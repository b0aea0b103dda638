"""Who starts when: shared prompts, fair tenants, deadlines, limits that change while the daemon serves, and what it says about them."""

import time

import grpc
import pytest

from conftest import FORCE_NO, IS_SLOW_BUILD, PATIENCE, complete, control_pb, in_parallel, make_request, pb, refusal, stream

ENDLESS = dict(max_tokens=2500, bias=FORCE_NO)
# Its log tells in which order requests ended: clients learn of it in any.
ONE_AT_A_TIME = {"kv": {"memory": "64MiB"}, "scheduler": {"max_running": 1}, "log": {"format": "json", "requests": True}}


def first_token(call):
    """Reads a stream until its first token."""
    for event in call:
        if event.WhichOneof("event") == "tokens":
            return
    raise AssertionError("the stream ended before its first token")


def a_prompt(tokens, first=1000):
    """Token ids that no other first id begins alike."""
    return [first] + [(first * 31 + i * 7) % 40000 + 100 for i in range(tokens - 1)]


# --- B24: the prefix cache ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [15, 16, 17, 32, 33])
def test_b24_a_repeated_prompt_is_reused_and_gives_the_same(daemon, length):
    text = "a" + " a" * (length - 1)
    salt = f"b24-{length}"
    first, second, third = (complete(daemon.stub, text, max_tokens=4, logprobs=1, cache_salt=salt) for _ in range(3))
    assert first.usage.prompt_tokens == length and first.usage.cached_tokens == 0
    for again in (second, third):
        assert again.usage.cached_tokens == (length - 1) // 16 * 16
        assert [t.id for t in again.choices[0].tokens] == [t.id for t in first.choices[0].tokens]
        for token, expected in zip(again.choices[0].tokens, first.choices[0].tokens):
            assert token.logprob == expected.logprob


def test_b24_with_the_cache_off_nothing_is_reused_and_the_answer_is_the_same(daemon, start):
    off = start({"kv": {"memory": "64MiB", "prefix_cache": False}})
    prompt = a_prompt(100)
    for _ in range(2):
        plain = complete(off.stub, ids=prompt, max_tokens=8, logprobs=1)
        assert plain.usage.cached_tokens == 0
    complete(daemon.stub, ids=prompt, max_tokens=8)
    cached = complete(daemon.stub, ids=prompt, max_tokens=8, logprobs=1)
    assert cached.usage.cached_tokens == 96
    assert [(t.id, t.logprob) for t in cached.choices[0].tokens] == [(t.id, t.logprob) for t in plain.choices[0].tokens]


def test_a_beginning_that_many_bring_at_once_is_computed_once(start):
    daemon = start({"kv": {"memory": "256MiB"}})
    shared = a_prompt(480)
    answers = in_parallel([lambda i=i: complete(daemon.stub, ids=shared + [5000 + i], max_tokens=1) for i in range(24)])
    assert sorted(a.usage.cached_tokens for a in answers) == [0] + [480] * 23
    metrics = daemon.metrics()
    assert metrics["sluice_prefill_tokens_total"] == 481 + 23
    assert metrics["sluice_prefix_cache_hits_total"] == 23 * 480


def test_choices_of_one_request_share_its_prompt(daemon):
    before = daemon.metrics()["sluice_prefill_tokens_total"]
    answer = complete(daemon.stub, ids=a_prompt(200, first=1200), max_tokens=3, n=4, temperature=1.0, seed=3)
    assert len(answer.choices) == 4 and answer.usage.prompt_tokens == 200
    assert daemon.metrics()["sluice_prefill_tokens_total"] - before == 200 + 3 * (200 - 192)


def test_tenants_and_salts_do_not_see_each_others_prompts(daemon):
    prompt = a_prompt(64, first=1300)
    for tenant, salt in [("a", None), ("b", None), ("a", "x"), (None, "ax")]:
        assert complete(daemon.stub, ids=prompt, max_tokens=1, tenant=tenant, cache_salt=salt).usage.cached_tokens == 0
    assert complete(daemon.stub, ids=prompt, max_tokens=1, tenant="a").usage.cached_tokens == 48


def test_tenants_share_when_told_to(start):
    daemon = start({"kv": {"memory": "64MiB", "share_across_tenants": True}})
    prompt = a_prompt(64)
    complete(daemon.stub, ids=prompt, max_tokens=1, tenant="a")
    assert complete(daemon.stub, ids=prompt, max_tokens=1, tenant="b").usage.cached_tokens == 48


def test_the_next_turn_of_a_conversation_reuses_the_last_answer(daemon):
    prompt = a_prompt(40, first=1400)
    answer = stream(daemon.stub, ids=prompt, max_tokens=40, ignore_eos=True)
    longer = prompt + answer.ids() + a_prompt(20, first=1401)
    assert complete(daemon.stub, ids=longer, max_tokens=1).usage.cached_tokens == (40 + 39) // 16 * 16


def test_a_prompt_that_is_scored_is_computed(daemon):
    prompt = a_prompt(64, first=1500)
    for _ in range(2):
        answer = complete(daemon.stub, ids=prompt, max_tokens=1, echo=True, logprobs=0)
        assert answer.usage.cached_tokens == 0
        assert len([t for t in answer.prompt_tokens if t.HasField("logprob")]) == 63


@pytest.mark.parametrize("options, field", [(dict(priority=101), "priority"), (dict(priority=-101), "priority"),
                                            (dict(cache_salt="s" * 129), "cache_salt")])
def test_order_and_salt_have_bounds(daemon, options, field):
    error = refusal(complete, daemon.stub, "Hi", max_tokens=1, **options)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and error.details().startswith(field)
    complete(daemon.stub, "Hi", max_tokens=1, priority=-100, cache_salt="s" * 128)


@pytest.mark.parametrize("tenant", ["t" * 129, "a\tb"])
def test_a_tenant_has_a_readable_name(daemon, tenant):
    # Some clients refuse such metadata themselves.
    with pytest.raises((grpc.RpcError, ValueError)) as caught:
        complete(daemon.stub, "Hi", max_tokens=1, tenant=tenant)
    if isinstance(caught.value, grpc.RpcError) and caught.value.code() != grpc.StatusCode.INTERNAL:
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT and "x-tenant" in caught.value.details()


# --- pauses, order, limits -----------------------------------------------------------------------------------------------------------------------


def test_a_small_pool_pauses_and_evicts_nobody(start):
    # 12 x 160 tokens in a pool of 640: whoever is admitted ends, with the tokens that it has alone.
    daemon = start({"kv": {"memory": "15MiB"}, "scheduler": {"max_running": 16}})
    alone = stream(daemon.stub, "Once upon a time", max_tokens=160, ignore_eos=True).ids()
    answers = in_parallel([lambda: stream(daemon.stub, "Once upon a time", max_tokens=160, ignore_eos=True) for _ in range(12)])
    assert all(a.ids() == alone and not a.errors for a in answers)
    assert daemon.metrics()["sluice_preemptions_total"] == 0
    for answer in answers:
        ledger = answer.finished[0].ledger
        parts = (ledger.queue_ms + ledger.prefill_ms + ledger.decode_ms + ledger.interference_ms + ledger.pause_ms + ledger.delivery_ms)
        assert abs(parts - ledger.end_to_end_ms) < 1


def test_a_lower_priority_number_goes_first(start):
    daemon = start(ONE_AT_A_TIME)
    blocker = daemon.stub.StreamComplete(make_request("Hi", **ENDLESS))
    first_token(blocker)
    calls = []
    for name, priority in [("late", 1), ("normal", 0), ("urgent", -1)]:
        request = make_request("Hi", max_tokens=2, ignore_eos=True, priority=priority)
        calls.append(daemon.stub.Complete.future(request, metadata=(("x-request-id", name),)))
        daemon.wait_waiting(len(calls))
    blocker.cancel()
    for call in calls:
        call.result(timeout=60 * PATIENCE)
    assert [line["client_request"] for line in daemon.ended_requests(4)[1:]] == ["urgent", "normal", "late"]


def test_a_quiet_tenant_passes_a_loud_ones_queue(start):
    daemon = start(ONE_AT_A_TIME)
    blocker = daemon.stub.StreamComplete(make_request("Hi", **ENDLESS), metadata=(("x-tenant", "loud"),))
    first_token(blocker)
    calls = []
    for tenant in ["loud"] * 6 + ["quiet"]:
        request = make_request("Hi", max_tokens=8, ignore_eos=True)
        calls.append(daemon.stub.Complete.future(request, metadata=(("x-tenant", tenant), ("x-request-id", tenant))))
        daemon.wait_waiting(len(calls))
    blocker.cancel()
    for call in calls:
        call.result(timeout=60 * PATIENCE)
    assert [line["client_request"] for line in daemon.ended_requests(8)[1:]].index("quiet") <= 1


def test_limits_change_while_streams_go_on(start):
    daemon = start({"kv": {"memory": "512MiB"}, "scheduler": {"max_running": 4}})
    calls = [daemon.stub.StreamComplete(make_request("Hi", **ENDLESS)) for _ in range(4)]
    for call in calls:
        first_token(call)
    limits = daemon.control.SetLimits(control_pb.Limits(max_running=2, max_queued_requests=1, admission="plan"))
    assert (limits.max_running, limits.max_queued_requests, limits.admission, limits.tokens_per_step) == (2, 1, "plan", 512)
    assert daemon.control.GetLimits(control_pb.GetLimitsRequest()) == limits
    load = daemon.load()
    assert load.running_sequences == 4 and load.max_running == 2, "lowering drains, it ends nobody"
    waiting = daemon.stub.Complete.future(make_request("Hi", max_tokens=1))
    daemon.wait_waiting(1)
    assert refusal(complete, daemon.stub, "Hi", max_tokens=1).code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    for call in calls[:3]:
        call.cancel()
    assert waiting.result(timeout=20 * PATIENCE).usage.completion_tokens == 1
    calls[3].cancel()
    daemon.wait_idle()
    daemon.wait_line("limits changed")
    daemon.wait_line("scheduler.max_running 4 -> 2")


@pytest.mark.parametrize("limits, field", [(dict(max_running=65), "scheduler.max_running"), (dict(max_running=0), "scheduler.max_running"),
                                           (dict(tokens_per_step=513), "scheduler.tokens_per_step"),
                                           (dict(tokens_per_step=63), "scheduler.tokens_per_step"),
                                           (dict(tpot_target_ms=-1.0), "scheduler.tpot_target_ms"),
                                           (dict(tpot_target_ms=float("nan")), "scheduler.tpot_target_ms"),
                                           (dict(max_queued_tokens=0), "scheduler.max_queued_tokens"),
                                           (dict(admission="greedy"), "scheduler.admission")])
def test_impossible_limits_change_nothing(daemon, limits, field):
    before = daemon.control.GetLimits(control_pb.GetLimitsRequest())
    error = refusal(daemon.control.SetLimits, control_pb.Limits(max_queued_requests=7, **limits))
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and error.details().startswith(field)
    assert daemon.control.GetLimits(control_pb.GetLimitsRequest()) == before


def test_the_queue_is_bounded_in_tokens_and_per_tenant(start):
    daemon = start({"kv": {"memory": "64MiB"}, "scheduler": {"max_running": 1, "max_queued_tokens": 100, "max_queued_per_tenant": 1}})
    blocker = daemon.stub.StreamComplete(make_request("Hi", **ENDLESS))
    first_token(blocker)
    first = daemon.stub.Complete.future(make_request(ids=a_prompt(60), max_tokens=1), metadata=(("x-tenant", "a"),))
    daemon.wait_waiting(1)
    too_much = refusal(complete, daemon.stub, ids=a_prompt(60), max_tokens=1, tenant="b")
    assert too_much.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and "tokens" in too_much.details()
    too_many = refusal(complete, daemon.stub, "Hi", max_tokens=1, tenant="a")
    assert too_many.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and "tenant" in too_many.details()
    assert int(dict(too_many.trailing_metadata())["retry-after-ms"]) >= 1
    blocker.cancel()
    assert first.result(timeout=20 * PATIENCE).usage.completion_tokens == 1


# --- what the daemon says --------------------------------------------------------------------------------------------------------------------------


def explain(daemon, *args, **options):
    return daemon.stub.Explain(make_request(*args, **options), timeout=20 * PATIENCE)


def test_explain_says_what_would_become_of_a_request(start):
    daemon = start({"kv": {"memory": "64MiB"}, "scheduler": {"max_running": 1, "max_queued_requests": 1}})
    capacity = daemon.load().blocks_total
    unknown = explain(daemon, "Hi", max_tokens=8)
    assert unknown.admitted_now and unknown.lacks == "none" and not unknown.HasField("start_ms")
    assert (unknown.final_blocks, unknown.free_blocks, unknown.capacity_blocks) == (1, capacity, capacity)
    assert explain(daemon, ids=a_prompt(16 * capacity), max_tokens=1).never_fits

    complete(daemon.stub, ids=a_prompt(40), max_tokens=20, ignore_eos=True)
    idle = explain(daemon, ids=a_prompt(40), max_tokens=8)
    assert idle.admitted_now and idle.prompt_tokens == 40 and idle.cached_tokens == 32
    assert idle.start_ms == 0 and 0 < idle.first_token_ms <= idle.finish_ms

    blocker = daemon.stub.StreamComplete(make_request("Hi", **ENDLESS))
    first_token(blocker)
    busy = explain(daemon, "Hi", max_tokens=8)
    assert not busy.admitted_now and busy.lacks == "rows" and busy.start_ms > 0
    waiting = daemon.stub.Complete.future(make_request("Hi", max_tokens=1))
    daemon.wait_waiting(1)
    assert daemon.load().waiting_for == "rows"
    assert explain(daemon, "Hi", max_tokens=8).lacks == "queue"
    blocker.cancel()
    waiting.result(timeout=20 * PATIENCE)
    error = refusal(daemon.stub.Explain, make_request("Hi", max_tokens=-1))
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.skipif(IS_SLOW_BUILD, reason="takes minutes with a sanitizer")
def test_a_deadline_that_will_be_missed_is_refused_at_once(start):
    daemon = start({"kv": {"memory": "256MiB"}, "scheduler": {"max_running": 1}})
    for i in range(24):  # until it knows how long answers get
        complete(daemon.stub, ids=a_prompt(100, first=2000 + i), max_tokens=8, ignore_eos=True)
    blocker = daemon.stub.StreamComplete(make_request("Hi", max_tokens=8000, bias=FORCE_NO))
    first_token(blocker)
    prompt = a_prompt(300, first=2100)
    predicted_s = explain(daemon, ids=prompt, max_tokens=8).first_token_ms / 1000
    prefill_before = daemon.load().prefill_tokens
    error = refusal(complete, daemon.stub, ids=prompt, max_tokens=8, timeout=predicted_s / 3 / PATIENCE)
    # These are the daemon's words: the client's own deadline has none.
    assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED and "predicted" in error.details()
    load = daemon.load()
    assert load.prefill_tokens == prefill_before and load.running_sequences == 1, "nothing was computed for it, and nothing had to end"
    blocker.cancel()
    daemon.wait_idle()
    assert complete(daemon.stub, ids=a_prompt(300, first=2101), max_tokens=8).usage.completion_tokens == 8


def mixed_steps(daemon):
    return daemon.metrics().get('sluice_step_seconds_count{kind="mixed"}', 0)


@pytest.mark.skipif(IS_SLOW_BUILD, reason="takes minutes with a sanitizer")
def test_b23_a_long_prompt_neither_stops_streams_nor_short_prompts(start):
    daemon = start({"kv": {"memory": "512MiB"}, "scheduler": {"tokens_per_step": 256}, "log": {"format": "json", "requests": True}})
    streaming = daemon.stub.StreamComplete(make_request("Hi", max_tokens=8000, bias=FORCE_NO))
    first_token(streaming)
    before = mixed_steps(daemon)
    # With the stream's token in each step, 6000 tokens take 24 steps.
    calls = [ask(daemon, "long", 6000)]
    while daemon.load().running_sequences < 2:
        time.sleep(0.002)
    calls += [ask(daemon, "short", 10)]
    for call in calls:
        call.result(timeout=60 * PATIENCE)
    assert [line["client_request"] for line in daemon.ended_requests(2)] == ["short", "long"]
    # In each of them the stream got a token, and the long prompt at least half of what was left.
    assert 24 <= mixed_steps(daemon) - before <= 2 * 24
    assert daemon.load().running_sequences == 1, "the stream goes on"
    streaming.cancel()
    daemon.wait_idle()


def ask(daemon, name, length):
    """Sends a prompt of so many tokens and doesn't wait for its answer."""
    return daemon.stub.Complete.future(make_request(ids=a_prompt(length, first=3000 + length), max_tokens=1), metadata=(("x-request-id", name),))
