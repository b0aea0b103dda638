"""POST /v1/completions on the real model: what comes back, streamed and not, and what is refused."""

import openai
import pytest

from conftest import IS_SLOW_BUILD, in_parallel
from http_calls import (CAPITAL, FORCE, assert_alive, assert_refused, complete, good, joined, openai_client, post, streamed, text_of)

# --- the official client ------------------------------------------------------------------------------------------------------------------------


def test_the_openai_client_completes_and_streams(daemon):
    client = openai_client(daemon)
    model = client.models.list().data[0].id
    assert client.models.retrieve(model).id == model
    answer = client.completions.create(model=model, prompt=CAPITAL, max_tokens=5, temperature=0)
    assert answer.choices[0].text == " Paris.\n\nThe" and answer.choices[0].finish_reason == "length"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (5, 5, 10)
    assert answer.usage.prompt_tokens_details.cached_tokens >= 0
    assert answer.id.startswith("cmpl-") and answer.object == "text_completion" and answer.model == model and answer.created > 1.7e9
    chunks = list(client.completions.create(model=model, prompt=CAPITAL, max_tokens=5, temperature=0, stream=True,
                                            stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices) == answer.choices[0].text
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "length"
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 5
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_the_openai_client_reads_logprobs_and_choices(daemon):
    client = openai_client(daemon)
    answer = client.completions.create(model="", prompt=CAPITAL, max_tokens=3, temperature=0, logprobs=2, n=2, echo=True)
    assert [choice.index for choice in answer.choices] == [0, 1]
    logprobs = answer.choices[1].logprobs
    assert logprobs.tokens == ["The", " capital", " of", " France", " is", " Paris", ".", "\n"]
    assert logprobs.token_logprobs[0] is None and logprobs.token_logprobs[5] == pytest.approx(-0.26, abs=0.06)
    assert logprobs.text_offset == [0, 3, 11, 14, 21, 24, 30, 31]
    assert logprobs.top_logprobs[5][" Paris"] == logprobs.token_logprobs[5]


def test_the_openai_client_has_an_exception_for_each_error(daemon):
    client = openai_client(daemon)
    with pytest.raises(openai.BadRequestError) as bad:
        client.completions.create(model="", prompt="Hi", top_p=1.5)
    assert bad.value.param == "top_p" and bad.value.code == "invalid_value" and bad.value.request_id
    with pytest.raises(openai.NotFoundError) as missing:
        client.completions.create(model="gpt-5", prompt="Hi")
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-5")
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="", input="Hi")
    with pytest.raises(openai.APIStatusError) as late:
        client.completions.create(model="", prompt="Hi", max_tokens=4000, logit_bias=FORCE, extra_headers={"x-request-timeout-ms": "100"})
    assert late.value.status_code == 408


def test_closing_an_openai_stream_ends_its_request(daemon):
    stream = openai_client(daemon).completions.create(model="", prompt="Hi", max_tokens=4000, logit_bias=FORCE, stream=True)
    assert next(iter(stream)).choices[0].text.startswith(" no")  # a writer that comes late sends several tokens at once
    stream.close()
    daemon.wait_idle(2)


# --- B01, B02, B03: text ------------------------------------------------------------------------------------------------------------------------


def test_b01_c_a_split_character_is_echoed_by_its_bytes(daemon):
    choice = good(complete(daemon, "👍", echo=True, logprobs=1, max_tokens=1))["choices"][0]
    assert choice["text"].startswith("👍")
    assert choice["logprobs"]["bytes"][:3] == [[240, 159], [145], [141]]
    assert choice["logprobs"]["tokens"][:3] == ["bytes:\\xf0\\x9f", "bytes:\\x91", "bytes:\\x8d"]


def test_b01_half_a_character_never_splits_a_chunk(daemon):
    options = dict(max_tokens=2, logit_bias={"10813": 100})
    assert text_of(daemon, **options) == joined(streamed(daemon, **options)) == "\ufffd\ufffd"


@pytest.mark.parametrize("stop,max_tokens,text,reason,count", [
    (["no n"], 6, " ", "stop", 2), ("no n", 6, " ", "stop", 2), (["no x"], 3, " no no no", "length", 3), (None, 3, " no no no", "length", 3),
    ([], 3, " no no no", "length", 3), (["a", "b", "c", "d", "no n"], 6, " ", "stop", 2)])
def test_b02_a_b_d_e_f_stop_strings_across_tokens(daemon, stop, max_tokens, text, reason, count):
    options = dict(stop=stop, max_tokens=max_tokens, logit_bias=FORCE)
    whole = good(complete(daemon, **options))
    assert (whole["choices"][0]["text"], whole["choices"][0]["finish_reason"], whole["usage"]["completion_tokens"]) == (text, reason, count)
    events = streamed(daemon, stream_options={"include_usage": True}, **options)
    assert joined(events) == text
    assert events[-2]["choices"][0]["finish_reason"] == reason and events[-1]["usage"]["completion_tokens"] == count
    if reason == "stop":
        assert not any("n" in choice["text"] for event in events for choice in event["choices"])


def test_b02_c_g_what_can_not_stop_is_refused(daemon):
    assert_refused(complete(daemon, stop=[""]), 400, param="stop[0]")
    assert_refused(complete(daemon, stop=[7]), 400, param="stop[0]")
    assert_refused(complete(daemon, stop=["x%d" % i for i in range(17)]), 400, "16", param="stop")


LISTS = ("tokens", "token_logprobs", "top_logprobs", "text_offset")


@pytest.mark.parametrize("options", [dict(stop=["no n"], logit_bias=FORCE), dict(logit_bias={"2": 100})])
def test_b03_logprobs_end_with_the_text(daemon, options):
    options = dict(logprobs=1, max_tokens=6, **options)
    whole = good(complete(daemon, **options))
    choice = whole["choices"][0]
    lengths = {len(choice["logprobs"][name]) for name in LISTS}
    assert len(lengths) == 1 and max(lengths) <= whole["usage"]["completion_tokens"] <= 2
    assert choice["finish_reason"] == "stop" and choice["text"] in (" ", "")
    events = streamed(daemon, **options)
    for name in LISTS:
        pieces = [c["logprobs"][name] for event in events for c in event["choices"] if c["logprobs"]]
        assert sum(pieces, []) == choice["logprobs"][name]
    if "stop" in options:
        assert set(choice["logprobs"]["tokens"]) == {" no"}


# --- B09: bos -----------------------------------------------------------------------------------------------------------------------------------


def test_b09_no_bos_is_added_where_the_model_wants_none(daemon):
    assert good(complete(daemon, "x", max_tokens=1))["usage"]["prompt_tokens"] == 1
    assert good(post(daemon, "/tokenize", {"prompt": "x"}))["count"] == 1


# --- B14, B15, B16: sampling --------------------------------------------------------------------------------------------------------------------


def ids_of(daemon, prompt=CAPITAL, **options):
    return good(complete(daemon, prompt, logprobs=0, **options))["choices"][0]["logprobs"]["token_ids"]


@pytest.mark.parametrize("options", [
    dict(temperature=0), dict(temperature=1e-4), dict(temperature=1e-8), dict(temperature=1e-45), dict(temperature=1, top_k=1)])
def test_b14_a_to_e_the_likeliest_token(daemon, options):
    choice = good(complete(daemon, CAPITAL, max_tokens=1, seed=1, logprobs=1, **options))["choices"][0]
    assert (choice["text"], choice["logprobs"]["token_ids"]) == (" Paris", [7042])
    assert choice["logprobs"]["token_logprobs"][0] == pytest.approx(-0.26, abs=0.06)


def test_b14_f_to_i_wide_and_narrow_choices(daemon):
    assert good(complete(daemon, CAPITAL, max_tokens=1, seed=1, temperature=1e30))["usage"]["completion_tokens"] == 1
    assert len({tuple(ids_of(daemon, max_tokens=1, seed=1, temperature=1, top_k=k)) for k in (0, -1, 49152, 9999999)}) == 1
    assert good(complete(daemon, CAPITAL, max_tokens=64, seed=1, temperature=1, top_p=1.0))["usage"]["completion_tokens"] > 0
    assert ids_of(daemon, max_tokens=5, temperature=2, top_k=1) == [7042, 30, 198, 198, 504]


@pytest.mark.parametrize("field,value", [
    ("temperature", -1), ("top_k", -2), ("top_p", 1.5), ("top_p", 0), ("min_p", -0.1), ("min_p", 1.1), ("repetition_penalty", 0),
    ("presence_penalty", 2.1), ("frequency_penalty", -2.1), ("temperature", "hot"), ("top_k", 1.5), ("logprobs", 21), ("logprobs", -1)])
def test_b14_j_to_m_values_out_of_range_are_refused(daemon, field, value):
    assert_refused(complete(daemon, CAPITAL, max_tokens=1, **{field: value}), 400, field, param=field)


@pytest.mark.parametrize("bias", [{"49152": 5}, {"-1": 5}, {"abc": 1}, {"18446744073709551616": 1}, {"787": "x"}, {"787": 1e9}])
def test_b15_a_to_f_a_bad_bias_hurts_nobody_else(daemon, bias):
    other, refused = in_parallel([lambda: text_of(daemon, max_tokens=40, logit_bias=FORCE),
                                  lambda: complete(daemon, max_tokens=3, logit_bias=bias)])
    assert "logit_bias" in assert_refused(refused, 400)["param"]
    assert other == " no" * 40
    assert_alive(daemon)


def test_b15_g_to_j_bias_moves_the_choice(daemon):
    assert text_of(daemon, max_tokens=3, logit_bias=FORCE) == " no no no"
    assert ids_of(daemon, max_tokens=1, logit_bias={"7042": -100}) == [260]
    assert text_of(daemon, CAPITAL, max_tokens=1, logit_bias={}) == text_of(daemon, CAPITAL, max_tokens=1, logit_bias=None) == " Paris"


def story(daemon, **options):
    return ids_of(daemon, "Once upon a time", **{"temperature": 0.8, "max_tokens": 16, **options})


def test_b16_a_to_d_a_seed_gives_the_same_tokens_alone_and_in_a_crowd(daemon):
    alone = [story(daemon, seed=42) for _ in range(3)]
    assert alone[0] == alone[1] == alone[2]
    crowd = in_parallel([lambda: story(daemon)] * 4 + [lambda: story(daemon, seed=42)] * 2 + [lambda: story(daemon)] * 3)
    assert crowd[4] == crowd[5] == alone[0]


def test_b16_e_f_without_a_seed_texts_differ_and_any_seed_works(daemon):
    assert len({tuple(story(daemon)) for _ in range(4)}) > 1
    for seed in (0, -1, 2**63 - 1, -2**63):
        assert story(daemon, seed=seed) == story(daemon, seed=seed)
    assert_refused(complete(daemon, seed=2**63), 400, param="seed")


# --- B17 to B20: shapes of a request ------------------------------------------------------------------------------------------------------------


def test_b17_a_no_tokens_asked_for_is_no_tokens(daemon):
    whole = good(complete(daemon, max_tokens=0))
    assert (whole["choices"][0]["text"], whole["choices"][0]["finish_reason"], whole["usage"]["completion_tokens"]) == ("", "length", 0)


def test_b17_b_the_prompt_is_scored(daemon):
    choice = good(complete(daemon, CAPITAL, max_tokens=0, echo=True, logprobs=1))["choices"][0]
    assert choice["text"] == CAPITAL and choice["logprobs"]["token_ids"] == [504, 3575, 282, 4649, 314]
    scores = choice["logprobs"]["token_logprobs"]
    assert scores[0] is None and choice["logprobs"]["top_logprobs"][0] is None
    for score, expected, tolerance in zip(scores[1:], (-11.54, -0.34, -2.44, -0.45), (0.6, 0.3, 0.3, 0.3)):
        assert score == pytest.approx(expected, abs=tolerance)


def test_b17_c_f_impossible_lengths_are_refused(daemon):
    assert_refused(complete(daemon, max_tokens=-5), 400, param="max_tokens")
    assert_refused(complete(daemon, max_tokens=2**31), 400, "32 bits", param="max_tokens")


def test_b17_e_b18_the_context_ends_an_answer_and_bounds_a_prompt(start):
    server = start({"model": {"max_context": 64}, "kv": {"memory": "64MiB"}})
    for options in (dict(), dict(max_tokens=None), dict(max_tokens=2**31 - 1)):
        whole = good(complete(server, logit_bias=FORCE, **options))
        assert (whole["choices"][0]["finish_reason"], whole["usage"]["completion_tokens"]) == ("length", 63)
    assert_refused(complete(server, "a" + " a" * 64), 400, "65", "64", param="prompt")
    assert_refused(complete(server, "a" + " a" * 7999), 400, "8000", "64", param="prompt")
    whole = good(complete(server, "a" + " a" * 39, max_tokens=100, logit_bias=FORCE))
    assert (whole["usage"]["prompt_tokens"], whole["usage"]["completion_tokens"]) == (40, 24)
    assert whole["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("prompt", ["", [], [""], [[]], None, [49152], [-1], [["a"]], 7, {}, ["a", "b"], [[1], [2]], [1, "a"]])
def test_b19_an_empty_or_impossible_prompt_is_refused(daemon, prompt):
    assert "prompt" in assert_refused(complete(daemon, prompt, max_tokens=1), 400)["param"]
    assert_refused(post(daemon, "/v1/completions", {"max_tokens": 1}), 400, param="prompt")
    assert_alive(daemon)


def test_prompts_have_four_shapes(daemon):
    ids = [504, 3575, 282, 4649, 314]
    for prompt in (CAPITAL, [CAPITAL], ids, [ids], [float(i) for i in ids]):
        assert text_of(daemon, prompt, max_tokens=1) == " Paris"


def test_b20_several_choices(daemon):
    options = dict(max_tokens=16, n=4, temperature=1.2, seed=7, ignore_eos=True)
    first, second = (good(complete(daemon, "Once upon a time", **options)) for _ in range(2))
    texts = [choice["text"] for choice in first["choices"]]
    assert [choice["index"] for choice in first["choices"]] == [0, 1, 2, 3]
    assert texts == [choice["text"] for choice in second["choices"]] and len(set(texts)) > 1
    assert (first["usage"]["prompt_tokens"], first["usage"]["completion_tokens"]) == (4, 64)
    events = streamed(daemon, "Once upon a time", **options)
    assert [joined(events, index) for index in range(4)] == texts
    ends = [choice["index"] for event in events for choice in event["choices"] if choice["finish_reason"]]
    assert sorted(ends) == [0, 1, 2, 3]


def test_b20_b_greedy_choices_are_equal(daemon):
    texts = [choice["text"] for choice in good(complete(daemon, "Once upon a time", max_tokens=16, n=2, best_of=2))["choices"]]
    assert texts[0] == texts[1] != ""
    assert_refused(complete(daemon, n=1, best_of=2), 400, param="best_of")


@pytest.mark.parametrize("n", [0, -1, 65, 100000])
def test_b20_c_d_e_impossible_counts_are_refused(daemon, n):
    assert_refused(complete(daemon, n=n), 400, "64", param="n")
    assert_refused(complete(daemon, n=n, stream=True), 400, "64", param="n")


def test_what_is_not_served_is_refused_by_name_and_what_is_unknown_is_told(daemon):
    assert_refused(complete(daemon, suffix="x"), 400, param="suffix")
    assert_refused(complete(daemon, response_format={"type": "json_object"}), 400, param="response_format.type")
    assert_refused(complete(daemon, guided_regex="a+"), 400, param="guided_regex")
    answer = complete(daemon, max_tokens=1, store=True, metadata={"a": "b"})
    assert answer.status == 200 and answer.headers["x-sluice-ignored"] == "store, metadata"


@pytest.mark.skipif(IS_SLOW_BUILD, reason="takes minutes with a sanitizer")
@pytest.mark.parametrize("unit", ["A", " ", ".", "\n", "1", "中"])
def test_b07_long_runs_are_answered_or_refused(daemon, unit):
    answer = complete(daemon, unit * 200000, max_tokens=1)
    if answer.status != 200:
        assert_refused(answer, 400, "8192", param="prompt")
    assert_alive(daemon)


def test_text_to_tokens_and_back(daemon):
    for text, ids in (("a  b", [81, 216, 278]), ("in 2024", [254, 216, 34, 32, 34, 36]), ("👍", [10813, 235, 231])):
        assert good(post(daemon, "/tokenize", {"prompt": text}))["tokens"] == ids
        assert good(post(daemon, "/detokenize", {"tokens": ids}))["prompt"] == text
    assert_refused(post(daemon, "/detokenize", {"tokens": [49152]}), 400, param="tokens[0]")
    assert_refused(post(daemon, "/tokenize", {"prompt": "a" * ((1 << 20) + 1)}), 400, "1048576", param="prompt")
