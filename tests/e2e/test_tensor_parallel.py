"""Several ranks that share a model: they answer as one does alone, and what can't be shared is refused before it is read (case B35)."""

import subprocess

import pytest
from conftest import BIN, FREE_PORTS, MODEL, PATIENCE, Daemon, complete, in_parallel

PROMPT = "The capital of France is"
CACHE = {"kv": {"memory": "64MiB"}}


@pytest.fixture(scope="module")
def three_ranks():
    server = Daemon(CACHE, ["--tp", 3])
    yield server
    assert server.stop() == 0


def text_of(server, prompt, count):
    return complete(server.stub, prompt, max_tokens=count, ignore_eos=True).choices[0].text


def test_three_ranks_of_the_default_model_answer_as_one(start, three_ranks):
    one = start(CACHE, ["--tp", 1])
    assert text_of(three_ranks, PROMPT, 5) == text_of(one, PROMPT, 5) == " Paris.\n\nThe"


def test_two_ranks_of_a_float_model_answer_as_one(start):
    one, two = (start(CACHE, ["--tp", count, "--set", "engine.cpu_isa=portable"], model="synthetic:tiny:f32") for count in (1, 2))
    for prompt in ("Once upon a time", "x" * 100):
        assert text_of(two, prompt, 32) == text_of(one, prompt, 32)


def test_many_requests_at_once_get_what_each_gets_alone(three_ranks):
    prompts = [f"{PROMPT} {number}" for number in range(8)]
    alone = [text_of(three_ranks, prompt, 12) for prompt in prompts]
    assert in_parallel([lambda prompt=prompt: text_of(three_ranks, prompt, 12) for prompt in prompts]) == alone


def test_metrics_and_the_pool_are_those_of_all_ranks(start, three_ranks):
    one = start(CACHE)
    metrics = three_ranks.metrics()
    assert any("3 ranks of cpu" in name for name in metrics)
    assert three_ranks.load().blocks_total == one.load().blocks_total


@pytest.mark.parametrize("count, code, words", [
    (2, 1, ("engine.tensor_parallel is 2", "9 heads", "3 KV heads", "1 or 3 divide them all")),
    (64, 1, ("engine.tensor_parallel is 64", "9 heads", "1 or 3 divide them all")),
    (0, 2, ("--tp", "engine.tensor_parallel must be from 1 to 64, not 0")),
    (-1, 2, ("--tp", "engine.tensor_parallel must be from 1 to 64, not -1")),
    (65, 2, ("--tp", "engine.tensor_parallel must be from 1 to 64, not 65")),
])
def test_b35_a_number_that_can_not_share_the_model_is_refused_at_once(count, code, words):
    done = subprocess.run([BIN / "sluiced", "--model", MODEL, "--tp", str(count), *FREE_PORTS], capture_output=True, timeout=60 * PATIENCE, text=True)
    assert done.returncode == code and done.stdout == "" and len(done.stderr.splitlines()) == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr
