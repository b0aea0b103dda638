"""The programs a user types, against a real daemon: sluice and sluice-bench."""

import json
import os
import signal
import subprocess

from conftest import BIN, MODEL, PATIENCE, complete, pb


def run(program, *arguments, daemon=None, stdin=None, code=0):
    options = ["--address", daemon.grpc_address] if daemon else []
    done = subprocess.run([BIN / program, *map(str, arguments[:1]), *options, *map(str, arguments[1:])], input=stdin, text=True,
                          capture_output=True, timeout=120 * PATIENCE)
    assert done.returncode == code, done
    return done


def test_complete_streams_text_and_tells_its_times(daemon):
    done = run("sluice", "complete", "--max-tokens", 5, "--temperature", 0, "The capital of France is", daemon=daemon)
    assert done.stdout.rstrip("\n").startswith(" Paris.")
    assert "TTFT" in done.stderr and "TPOT" in done.stderr


def test_complete_as_json(daemon):
    done = run("sluice", "complete", "--max-tokens", 5, "--temperature", 0, "--logprobs", 2, "--json", "--ids", "504 3575 282 4649 314",
               daemon=daemon)
    answer = json.loads(done.stdout)
    assert answer["token_ids"] == [7042, 30, 198, 198, 504]
    assert answer["text"] == " Paris.\n\nThe" and answer["finish_reason"] == "length"
    assert answer["usage"]["prompt_tokens"] == 5 and answer["usage"]["completion_tokens"] == 5
    assert len(answer["logprobs"]) == 5 and "timing" in answer


def test_complete_is_told_which_field_is_wrong(daemon):
    done = run("sluice", "complete", "--top-p", 1.5, "Hi", daemon=daemon, code=1)
    assert "sampling.top_p" in done.stderr and done.stdout == ""
    done = run("sluice", "complete", "--top-p", 1.5, "--json", "Hi", daemon=daemon, code=1)
    refusal = json.loads(done.stdout)
    assert refusal["error"]["code"] == "INVALID_ARGUMENT" and "sampling.top_p" in refusal["error"]["message"]


def test_ctrl_c_cancels_on_the_server(daemon):
    process = subprocess.Popen([BIN / "sluice", "complete", "--address", daemon.grpc_address, "--max-tokens", "4000", "--logit-bias", "787:100",
                                "Hi"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert os.read(process.stdout.fileno(), 3)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=5 * PATIENCE) == 130
    daemon.wait_idle(2)
    process.stdout.close()
    process.stderr.close()


def test_tokenize_online_and_offline_agree(daemon):
    online = run("sluice", "tokenize", "in 2024", daemon=daemon).stdout
    offline = run("sluice", "tokenize", "--offline", MODEL, "in 2024").stdout
    assert online == offline
    assert online.split() == ["254", "216", "34", "32", "34", "36"]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in ("a  b", "é"))
    for done in (run("sluice", "tokenize", "--jsonl", daemon=daemon, stdin=lines),
                 run("sluice", "tokenize", "--offline", MODEL, "--jsonl", stdin=lines)):
        assert [json.loads(line)["ids"] for line in done.stdout.splitlines()] == [[81, 216, 278], [2756]]


def test_nobody_listening_is_said_in_one_line():
    done = subprocess.run([BIN / "sluice", "complete", "--address", "127.0.0.1:1", "Hi"], capture_output=True, text=True, timeout=60 * PATIENCE)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1 and "127.0.0.1:1" in done.stderr


def test_bench_closed_and_open_loop(daemon, tmp_path):
    for load in (["--concurrency", 4], ["--rate", 20]):
        path = tmp_path / "result.json"
        run("sluice-bench", "run", *load, "--requests", 12, "--prompt-tokens", 16, "--output-tokens", 8, "--json", path, daemon=daemon)
        result = json.loads(path.read_text())
        assert (result["requests"], result["errors"]) == (12, 0)
        assert result["output_tokens_per_second"] > 0
        for name in ("ttft_ms", "tpot_ms", "itl_ms", "e2e_ms"):
            # Tokens that come together have no gap between them.
            assert 0 <= result[name]["p50"] <= result[name]["p90"] <= result[name]["p99"] <= result[name]["max"]
            assert result[name]["max"] > 0
    assert daemon.wait_idle().preemptions == 0
    assert complete(daemon.stub, "Hi", max_tokens=1).usage.completion_tokens == 1


def test_chat_answers_a_message(daemon):
    done = run("sluice", "chat", "--temperature", 0, "--max-tokens", 8, "What is the capital of France?", daemon=daemon)
    whole = daemon.stub.Chat(pb.ChatRequest(messages=[pb.ChatMessage(role="user", content="What is the capital of France?")],
                                            sampling=pb.SamplingOptions(temperature=0), stopping=pb.StoppingOptions(max_tokens=8)))
    assert whole.choices[0].text and whole.choices[0].text in done.stdout


def test_chat_remembers_what_was_said(daemon):
    done = run("sluice", "chat", "--temperature", 0, "--max-tokens", 4, "--json", "--logit-bias", "787:100", "--system", "Be brief.",
               daemon=daemon, stdin="Hi\n\nBye\n")
    first, second = [json.loads(line) for line in done.stdout.splitlines()]
    turns = [("system", "Be brief."), ("user", "Hi"), ("assistant", " no no no no"), ("user", "Bye")]
    whole = daemon.stub.Chat(pb.ChatRequest(messages=[pb.ChatMessage(role=role, content=text) for role, text in turns],
                                            stopping=pb.StoppingOptions(max_tokens=0)))
    assert first["usage"]["prompt_tokens"] == 18
    assert second["usage"]["prompt_tokens"] == whole.usage.prompt_tokens > 18


def test_chat_is_told_which_field_is_wrong(daemon):
    done = run("sluice", "chat", "--top-p", 7, "Hi", daemon=daemon, code=1)
    assert "top_p" in done.stderr and done.stdout == ""
