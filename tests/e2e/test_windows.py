"""Models whose layers see a window, on the small checkpoints: what their caches hold, and that rings change no token."""

import math
import subprocess
import sys

import pytest

from conftest import PATIENCE, ROOT, complete, in_parallel, make_request

BLOCK = 4
# model: groups that see all, groups with a window, the window
GROUPS = {"mistral-window": (0, 1, 24), "gemma3": (1, 5, 16)}


@pytest.fixture(scope="session")
def model_file(tmp_path_factory):
    """model_file(name): one of the small checkpoints as a GGUF file."""
    folder = tmp_path_factory.mktemp("tiny")

    def make(name):
        path = folder / f"{name}.gguf"
        if not path.exists():
            subprocess.run([sys.executable, ROOT / "tests/reference/make_tiny_gguf.py", ROOT / "tests/data/tiny" / name, path], check=True)
        return path

    return make


def small_steps(memory, tokens=8):
    """Slices of so few tokens that rings are short and go round many times within the context of 512 tokens."""
    return {"kv": {"memory": memory, "block_size": BLOCK, "dtype": "f32"}, "scheduler": {"max_running": 4, "tokens_per_step": tokens}}


def ring_blocks(window, tokens_per_step=8):
    longest_slice = max(tokens_per_step, 4 - 1 + BLOCK)
    return (window - 1 + longest_slice + BLOCK - 2) // BLOCK + 1


def blocks(model, tokens):
    full, windowed, window = GROUPS[model]
    of_context = math.ceil(tokens / BLOCK)
    return full * of_context + windowed * min(of_context, ring_blocks(window))


def explain(daemon, **options):
    return daemon.stub.Explain(make_request(**options), timeout=20 * PATIENCE)


def a_prompt(length, first):
    return [3 + (first * 37 + i * (first + 5)) % 250 for i in range(length)]


def answers(daemon, requests):
    return [[token.id for token in answer.choices[0].tokens] for answer in in_parallel(
        [lambda r=r: complete(daemon.stub, ids=r[0], max_tokens=r[1], ignore_eos=True, logprobs=0) for r in requests])]


@pytest.mark.parametrize("model", GROUPS)
def test_rings_that_go_round_change_no_token(start, model_file, model):
    requests = [(a_prompt(length, first), 400 - length) for first, length in enumerate((5, 30, 61, 120, 233))]
    # Steps this large make rings that hold the whole context: nothing is ever written over.
    wide = start(small_steps("16MiB", tokens=512), model=model_file(model))
    expected = [answers(wide, [request])[0] for request in requests]
    narrow = start(small_steps("16MiB"), model=model_file(model))
    assert [answers(narrow, [request])[0] for request in requests] == expected
    assert answers(narrow, requests) == expected


@pytest.mark.parametrize("model", GROUPS)
def test_a_request_holds_and_reserves_what_its_rings_and_full_groups_take(start, model_file, model):
    daemon = start(small_steps("16MiB"), model=model_file(model))
    for tokens in (1, BLOCK, BLOCK + 1, 60, 61, 200, 500):
        assert explain(daemon, ids=a_prompt(1, 1) * max(1, tokens - 7), max_tokens=min(7, tokens)).final_blocks == blocks(
            model, max(1, tokens - 7) + min(7, tokens))
    prompt = a_prompt(100, 1)
    call = daemon.stub.StreamComplete(make_request(ids=prompt, max_tokens=300, ignore_eos=True), timeout=60 * PATIENCE)
    for event in call:
        if event.WhichOneof("event") == "tokens":
            load = daemon.load()
            if load.running_sequences == 1:
                assert load.blocks_reserved == blocks(model, 400)
                assert blocks(model, 100) <= load.blocks_used <= blocks(model, 400)
    daemon.wait_idle()


@pytest.mark.parametrize("model", GROUPS)
def test_a_cache_admits_up_to_its_last_block(start, model_file, model):
    full, windowed, window = GROUPS[model]
    probe = start(small_steps("16MiB"), model=model_file(model))
    capacity = explain(probe, ids=[5], max_tokens=1).capacity_blocks
    wanted = blocks(model, 300) - (1 if full == 0 else 0)  # without full groups, one less than a ring
    memory = (16 << 20) // capacity * wanted + 64
    daemon = start(small_steps(memory), model=model_file(model))
    assert explain(daemon, ids=[5], max_tokens=1).capacity_blocks == wanted
    most = 300 if full > 0 else (ring_blocks(window) - 1) * BLOCK
    assert not explain(daemon, ids=[5] * (most - 10), max_tokens=10).never_fits
    assert explain(daemon, ids=[5] * (most - 10), max_tokens=11).never_fits
    answer = complete(daemon.stub, ids=[5] * (most - 10), max_tokens=10, ignore_eos=True)
    assert answer.usage.completion_tokens == 10


@pytest.mark.parametrize("model", GROUPS)
def test_who_stays_within_the_rings_shares_a_beginning(start, model_file, model):
    daemon = start(small_steps("16MiB"), model=model_file(model))
    ring_tokens = ring_blocks(GROUPS[model][2]) * BLOCK
    prompt = a_prompt(17, 2)

    def again(max_tokens):
        return complete(daemon.stub, ids=prompt, max_tokens=max_tokens, ignore_eos=True, logprobs=0)

    first = again(ring_tokens - 17)
    second = again(ring_tokens - 17)
    assert (first.usage.cached_tokens, second.usage.cached_tokens) == (0, 16)
    longer = again(ring_tokens - 17 + 1)
    assert longer.usage.cached_tokens == 0
    ids = [[token.id for token in answer.choices[0].tokens] for answer in (first, second, longer)]
    assert ids[0] == ids[1] == ids[2][:-1]
