"""Models of random weights: served like any other, over both fronts, and refused with the presets where the name is wrong."""

import subprocess

import pytest
from conftest import BIN, FREE_PORTS, PATIENCE, Daemon, ROOT, complete, pb, stream
from http_calls import complete as http_complete
from http_calls import good, post


@pytest.fixture(scope="module")
def tiny():
    server = Daemon({"kv": {"memory": "16MiB"}}, model="synthetic:tiny")
    yield server
    assert server.stop() == 0


@pytest.mark.parametrize("model, words", [
    ("synthetic:nothing", ("no preset nothing", "llama-3.2-1b, llama-3.1-8b, llama-3.1-70b, smollm2-135m and tiny")),
    ("synthetic:tiny:q9", ("no type q9", "bf16, f16, f32, q4_0")),
    ("synthetic:/nonexistent/config.json", ("/nonexistent/config.json: No such file",)),
])
def test_a_wrong_name_is_refused_on_one_line(model, words):
    done = subprocess.run([BIN / "sluiced", "--model", model, *FREE_PORTS], capture_output=True, timeout=60 * PATIENCE, text=True)
    assert done.returncode == 1 and done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert all(word in done.stderr for word in words), done.stderr


def test_both_fronts_complete_a_prompt_alike(tiny):
    whole = complete(tiny.stub, "Hello", max_tokens=12, ignore_eos=True)
    assert whole.usage.prompt_tokens == 6  # bos and five bytes
    assert whole.usage.completion_tokens == 12 and whole.choices[0].text
    assert stream(tiny.stub, "Hello", max_tokens=12, ignore_eos=True).text() == whole.choices[0].text
    answer = good(http_complete(tiny, "Hello", max_tokens=12, ignore_eos=True))
    assert answer["choices"][0]["text"] == whole.choices[0].text
    assert answer["model"] == "tiny"


def test_conversations_have_a_template(tiny):
    body = {"messages": [{"role": "user", "content": "Hi"}], "temperature": 0, "max_tokens": 4, "ignore_eos": True}
    answer = good(post(tiny, "/v1/chat/completions", body))
    assert answer["usage"]["prompt_tokens"] == 1 + len("user: Hi\nassistant:")
    grpc_answer = tiny.stub.Chat(pb.ChatRequest(messages=[pb.ChatMessage(role="user", content="Hi")], sampling=pb.SamplingOptions(temperature=0),
                                                stopping=pb.StoppingOptions(max_tokens=4, ignore_eos=True)), timeout=60 * PATIENCE)
    assert grpc_answer.choices[0].text == answer["choices"][0]["message"]["content"]


def test_two_daemons_make_the_same_weights(tiny):
    other = Daemon({"kv": {"memory": "16MiB"}, "engine": {"threads": 1}}, model="synthetic:tiny")
    try:
        texts = [complete(daemon.stub, "Once", max_tokens=16, ignore_eos=True).choices[0].text for daemon in (tiny, other)]
        assert texts[0] == texts[1]
    finally:
        other.stop()


@pytest.mark.parametrize("family", ["gemma3", "qwen3-moe"])
def test_a_shape_of_a_file_is_served(start, family):
    server = start({"kv": {"memory": "16MiB"}}, model=f"synthetic:{ROOT / 'tests/data/tiny' / family / 'config.json'}")
    assert complete(server.stub, "Hi", max_tokens=4, ignore_eos=True).usage.completion_tokens == 4
