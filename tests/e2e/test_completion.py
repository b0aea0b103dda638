"""Completions on the real model: what comes back, in both shapes of the API, and what is refused."""

import grpc
import pytest

from conftest import FORCE_NO, IS_SLOW_BUILD, NO, PATIENCE, complete, in_parallel, make_request, pb, refusal, stream

CAPITAL = "The capital of France is"


def assert_invalid(error, *words):
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error
    for word in words:
        assert word in error.details(), error.details()


def assert_alive(daemon):
    assert complete(daemon.stub, "Hi", max_tokens=1, bias=FORCE_NO).choices[0].text == " no"


# --- B01, B02: text ---------------------------------------------------------------------------------------------------------------------------


def test_b01_c_a_split_character_is_echoed_by_its_bytes(daemon):
    answer = complete(daemon.stub, "👍", echo=True, logprobs=1, max_tokens=1)
    assert [token.bytes for token in answer.prompt_tokens] == [bytes([240, 159]), bytes([145]), bytes([141])]
    assert b"".join(token.bytes for token in answer.prompt_tokens).decode() == "👍"


def test_b01_half_a_character_becomes_one_replacement_at_its_end(daemon):
    # Token 10813 is F0 9F, the first half of many emoji: forced twice, neither half can be completed.
    result = stream(daemon.stub, "Hi", max_tokens=2, bias={10813: 100.0})
    assert result.text() == "\ufffd\ufffd"
    whole = complete(daemon.stub, "Hi", max_tokens=2, bias={10813: 100.0})
    assert whole.choices[0].text == "\ufffd\ufffd"


@pytest.mark.parametrize("stop,max_tokens,text,reason,count", [
    (["no n"], 6, " ", pb.FINISH_REASON_STOP, 2),
    (["no x"], 3, " no no no", pb.FINISH_REASON_LENGTH, 3),
    ([], 3, " no no no", pb.FINISH_REASON_LENGTH, 3),
    (["a", "b", "c", "d", "no n"], 6, " ", pb.FINISH_REASON_STOP, 2),
])
def test_b02_stop_strings_across_tokens(daemon, stop, max_tokens, text, reason, count):
    options = dict(stop=stop, max_tokens=max_tokens, bias=FORCE_NO)
    whole = complete(daemon.stub, "Hi", **options)
    assert (whole.choices[0].text, whole.choices[0].reason, whole.usage.completion_tokens) == (text, reason, count)
    streamed = stream(daemon.stub, "Hi", **options)
    assert streamed.text() == text
    assert streamed.finished[0].reason == reason
    assert streamed.finished[0].usage.completion_tokens == count
    if reason == pb.FINISH_REASON_STOP:
        assert streamed.finished[0].stop == "no n"
        assert not any("n" in piece for piece in streamed.pieces.get(0, []))


def test_b02_c_an_empty_stop_string_is_refused(daemon):
    assert_invalid(refusal(complete, daemon.stub, "Hi", stop=[""]), "stopping.stop")


def test_b02_too_many_stop_strings_are_refused(daemon):
    assert complete(daemon.stub, "Hi", stop=["x%d" % i for i in range(16)], max_tokens=1, bias=FORCE_NO).choices[0].text == " no"
    assert_invalid(refusal(complete, daemon.stub, "Hi", stop=["x%d" % i for i in range(17)]), "stopping.stop", "16")


def test_b03_logprobs_end_with_the_text(daemon):
    for options in (dict(stop=["no n"], bias=FORCE_NO), dict(bias={2: 100.0})):
        whole = complete(daemon.stub, "Hi", logprobs=1, max_tokens=6, **options)
        streamed = stream(daemon.stub, "Hi", logprobs=1, max_tokens=6, **options)
        assert [t.id for t in whole.choices[0].tokens] == streamed.ids()
        assert len(streamed.ids()) <= whole.usage.completion_tokens <= 2
        assert whole.choices[0].reason == pb.FINISH_REASON_STOP
        assert all(len(t.top) == 1 and t.HasField("logprob") for t in whole.choices[0].tokens)


# --- B05, B07, B09: tokens --------------------------------------------------------------------------------------------------------------------


def test_b05_tokenize_and_back(daemon):
    for text, ids in (("a  b", [81, 216, 278]), ("in 2024", [254, 216, 34, 32, 34, 36]), ("👍", [10813, 235, 231])):
        assert list(daemon.stub.Tokenize(pb.TokenizeRequest(text=text)).ids) == ids
        assert daemon.stub.Detokenize(pb.DetokenizeRequest(ids=ids)).text == text


# Some of these are short in tokens and get computed, which takes minutes with a sanitizer.
@pytest.mark.parametrize("unit", ["A", "1"] if IS_SLOW_BUILD else ["A", " ", ".", "\n", "1", "中"])
def test_b07_long_runs_are_answered_or_refused(daemon, unit):
    assert len(daemon.stub.Tokenize(pb.TokenizeRequest(text=unit * 200000), timeout=60 * PATIENCE).ids) > 0
    try:
        complete(daemon.stub, unit * 200000, max_tokens=1)
    except grpc.RpcError as error:
        assert_invalid(error, "8192")
    assert_alive(daemon)


def test_b09_no_bos_is_added_where_the_model_wants_none(daemon):
    assert complete(daemon.stub, "x", max_tokens=1).prompt_info.prompt_tokens == 1


def test_special_names_in_text_are_text_unless_asked_for(daemon):
    plain = daemon.stub.Tokenize(pb.TokenizeRequest(text="A<|im_end|>B"))
    assert list(plain.ids) == [49, 44, 108, 306, 79, 486, 108, 46, 50]
    parsed = daemon.stub.Tokenize(pb.TokenizeRequest(text="A<|im_end|>B", parse_special=True))
    assert list(parsed.ids) == [49, 2, 50]


# --- B14, B15, B16: sampling ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [
    dict(temperature=0.0), dict(temperature=1e-4), dict(temperature=1e-8), dict(temperature=1e-45), dict(temperature=1.0, top_k=1)])
def test_b14_a_to_e_the_likeliest_token(daemon, options):
    answer = complete(daemon.stub, CAPITAL, max_tokens=1, seed=1, logprobs=0, **options)
    assert (answer.choices[0].text, answer.choices[0].tokens[0].id) == (" Paris", 7042)
    assert answer.choices[0].tokens[0].logprob == pytest.approx(-0.26, abs=0.06)


def test_b14_f_a_huge_temperature_draws_some_token(daemon):
    assert complete(daemon.stub, CAPITAL, max_tokens=1, seed=1, temperature=1e30).usage.completion_tokens == 1


def test_b14_g_every_spelling_of_no_top_k_is_the_same(daemon):
    ids = [complete(daemon.stub, CAPITAL, max_tokens=1, seed=1, temperature=1.0, top_k=k, logprobs=0).choices[0].tokens[0].id
           for k in (0, -1, 49152, 9999999)]
    assert len(set(ids)) == 1


def test_b14_h_top_p_of_one_cuts_nothing(daemon):
    answer = complete(daemon.stub, CAPITAL, max_tokens=64, seed=1, temperature=1.0, top_p=1.0, ignore_eos=True)
    assert answer.usage.completion_tokens == 64


def test_b14_i_b32_g_five_greedy_tokens(daemon):
    for options in (dict(temperature=2.0, top_k=1), dict(temperature=0.0)):
        answer = complete(daemon.stub, CAPITAL, max_tokens=5, logprobs=0, **options)
        assert [token.id for token in answer.choices[0].tokens] == [7042, 30, 198, 198, 504]


@pytest.mark.parametrize("options,field", [
    (dict(temperature=-1.0), "sampling.temperature"), (dict(top_k=-2), "sampling.top_k"), (dict(top_p=1.5), "sampling.top_p"),
    (dict(top_p=0.0), "sampling.top_p"), (dict(min_p=-0.1), "sampling.min_p"), (dict(min_p=1.1), "sampling.min_p"),
    (dict(temperature=float("nan")), "sampling.temperature"), (dict(repetition_penalty=0.0), "sampling.repetition_penalty"),
    (dict(presence_penalty=2.1), "sampling.presence_penalty"), (dict(frequency_penalty=-2.1), "sampling.frequency_penalty")])
def test_b14_j_to_m_values_out_of_range_are_refused(daemon, options, field):
    assert_invalid(refusal(complete, daemon.stub, CAPITAL, max_tokens=1, **options), field)


@pytest.mark.parametrize("bias", [{49152: 5.0}, {-1: 5.0}, {787: 1e9}, {787: float("inf")}])
def test_b15_a_bad_bias_hurts_nobody_else(daemon, bias):
    other = daemon.stub.Complete.future(make_request("Hi", max_tokens=40, bias=FORCE_NO))
    assert_invalid(refusal(complete, daemon.stub, "Hi", max_tokens=3, bias=bias), "sampling.logit_bias")
    assert other.result().choices[0].text == " no" * 40


def test_b15_g_h_i_bias_moves_the_choice(daemon):
    assert complete(daemon.stub, "Hi", max_tokens=3, bias=FORCE_NO).choices[0].text == " no no no"
    answer = complete(daemon.stub, CAPITAL, max_tokens=1, bias={7042: -100.0}, logprobs=0)
    assert (answer.choices[0].text, answer.choices[0].tokens[0].id) == (" the", 260)
    assert complete(daemon.stub, CAPITAL, max_tokens=1, bias={}).choices[0].text == " Paris"


def story(daemon, **options):
    answer = complete(daemon.stub, "Once upon a time", temperature=0.8, max_tokens=16, logprobs=0, **options)
    return [token.id for token in answer.choices[0].tokens]


def test_b16_a_seed_gives_the_same_tokens_alone_and_in_a_crowd(daemon):
    alone = [story(daemon, seed=42) for _ in range(3)]
    assert alone[0] == alone[1] == alone[2]
    crowd = in_parallel([lambda: story(daemon) for _ in range(4)] + [lambda: story(daemon, seed=42)] * 2
                        + [lambda: story(daemon) for _ in range(3)])
    assert crowd[4] == crowd[5] == alone[0]


def test_b16_e_without_a_seed_texts_differ(daemon):
    assert len({tuple(story(daemon)) for _ in range(4)}) > 1


@pytest.mark.parametrize("seed", [0, -1, 2**63 - 1, -2**63])
def test_b16_f_any_seed_works(daemon, seed):
    assert story(daemon, seed=seed) == story(daemon, seed=seed)


# --- B17 to B20: shapes of a request ----------------------------------------------------------------------------------------------------------


def test_b17_a_no_tokens_asked_for_is_no_tokens(daemon):
    answer = complete(daemon.stub, "Hi", max_tokens=0)
    assert (answer.choices[0].text, answer.choices[0].reason, answer.usage.completion_tokens) == ("", pb.FINISH_REASON_LENGTH, 0)


def test_b17_b_the_prompt_is_scored(daemon):
    answer = complete(daemon.stub, CAPITAL, max_tokens=0, echo=True, logprobs=1)
    assert [token.id for token in answer.prompt_tokens] == [504, 3575, 282, 4649, 314]
    assert not answer.prompt_tokens[0].HasField("logprob")
    for token, expected, tolerance in zip(answer.prompt_tokens[1:], (-11.54, -0.34, -2.44, -0.45), (0.6, 0.3, 0.3, 0.3)):
        assert token.logprob == pytest.approx(expected, abs=tolerance)
    assert b"".join(token.bytes for token in answer.prompt_tokens).decode() == CAPITAL
    assert answer.usage.completion_tokens == 0


def test_b17_c_d_negative_max_tokens_is_refused(daemon):
    assert_invalid(refusal(complete, daemon.stub, "Hi", max_tokens=-5), "stopping.max_tokens")


def test_b17_f_a_huge_max_tokens_ends_at_the_context(start):
    server = start({"model": {"max_context": 64}, "kv": {"memory": "64MiB"}})
    answer = complete(server.stub, "Hi", max_tokens=2**31 - 1, bias=FORCE_NO)
    assert (answer.choices[0].reason, answer.usage.completion_tokens) == (pb.FINISH_REASON_LENGTH, 63)
    assert complete(server.stub, "Hi", bias=FORCE_NO).usage.completion_tokens == 63  # B17 e: the default is the rest of the context


def test_b18_prompts_longer_than_the_context_are_refused(start):
    server = start({"model": {"max_context": 64}, "kv": {"memory": "64MiB"}})
    assert_invalid(refusal(complete, server.stub, "a" + " a" * 64), "65", "64")
    assert_invalid(refusal(complete, server.stub, "a" + " a" * 7999), "8000", "64")
    answer = complete(server.stub, "a" + " a" * 39, max_tokens=100, bias=FORCE_NO)
    assert (answer.prompt_info.prompt_tokens, answer.usage.completion_tokens) == (40, 24)
    assert answer.choices[0].reason == pb.FINISH_REASON_LENGTH


@pytest.mark.parametrize("options,field", [
    (dict(prompt=""), "prompt"), (dict(ids=[]), "prompt"), (dict(), "prompt"), (dict(ids=[49152]), "49152"), (dict(ids=[-1]), "-1")])
def test_b19_an_empty_or_impossible_prompt_is_refused(daemon, options, field):
    assert_invalid(refusal(complete, daemon.stub, max_tokens=1, **options), field)
    assert_alive(daemon)


def test_b20_several_choices(daemon):
    options = dict(max_tokens=16, n=4, temperature=1.2, seed=7, logprobs=0, ignore_eos=True)
    first, second = (complete(daemon.stub, "Once upon a time", **options) for _ in range(2))
    texts = [choice.text for choice in first.choices]
    assert [choice.index for choice in first.choices] == [0, 1, 2, 3]
    assert texts == [choice.text for choice in second.choices] and len(set(texts)) > 1
    assert (first.usage.prompt_tokens, first.usage.completion_tokens) == (4, 64)
    streamed = stream(daemon.stub, "Once upon a time", **options)
    assert [streamed.text(index) for index in range(4)] == texts
    finishes = [e.finished.index for e in streamed.events if e.WhichOneof("event") == "finished"]
    assert sorted(finishes) == [0, 1, 2, 3]
    assert streamed.finished[finishes[-1]].usage.completion_tokens == 64


def test_b20_b_greedy_choices_are_equal(daemon):
    answer = complete(daemon.stub, "Once upon a time", max_tokens=16, n=2)
    assert answer.choices[0].text == answer.choices[1].text != ""


@pytest.mark.parametrize("n", [0, -1, 65, 100000])
def test_b20_c_d_e_impossible_counts_are_refused(daemon, n):
    assert_invalid(refusal(complete, daemon.stub, "Hi", n=n), "n ", "64")


# --- the stream's own promises ----------------------------------------------------------------------------------------------------------------


def test_a_stream_tells_its_prompt_first_and_its_ledger_last(daemon):
    result = stream(daemon.stub, CAPITAL, max_tokens=8)
    assert result.events[0].WhichOneof("event") == "prompt_info"
    assert result.info.prompt_tokens == 5 and result.info.request_id
    last = result.events[-1].finished
    assert last.usage.prompt_tokens == 5 and last.usage.completion_tokens == 8
    ledger = last.ledger
    parts = ledger.queue_ms + ledger.prefill_ms + ledger.decode_ms + ledger.interference_ms + ledger.delivery_ms
    assert parts == pytest.approx(ledger.end_to_end_ms, abs=1.0)
    assert 0 < ledger.ttft_ms < ledger.end_to_end_ms and ledger.tpot_ms > 0


def test_thirty_two_streams_at_once_give_the_tokens_of_each_alone(daemon):
    prompts = [f"{topic} number {i} is" for i, topic in enumerate(["The planet", "A recipe", "My house", "This theorem"] * 8)]
    options = dict(max_tokens=24, logprobs=0, ignore_eos=True)
    alone = [stream(daemon.stub, prompt, **options) for prompt in prompts]
    crowd = in_parallel([lambda prompt=prompt: stream(daemon.stub, prompt, **options) for prompt in prompts])
    for solo, together in zip(alone, crowd):
        assert together.ids() == solo.ids()
        assert [t.logprob for t in together.tokens[0]] == [t.logprob for t in solo.tokens[0]]


def test_the_model_can_be_named_and_described(daemon):
    model = daemon.stub.GetModel(pb.GetModelRequest())
    assert (model.vocab_size, model.context_length, model.architecture) == (49152, 8192, "llama")
    assert complete(daemon.stub, "Hi", model=model.name, max_tokens=1).usage.completion_tokens == 1
    assert refusal(complete, daemon.stub, "Hi", model="gpt-5").code() == grpc.StatusCode.NOT_FOUND  # B26 c
    assert NO < model.vocab_size
