"""Model files of both formats, as a person gives them to the daemon: good ones serve, bad ones are refused with the name of what is wrong."""

import shutil
import subprocess
import sys

import pytest
from conftest import BIN, FREE_PORTS, PATIENCE, ROOT, Daemon, complete

TINY = ROOT / "tests/data/tiny"
CASES = ROOT / "tests/data/safetensors"


def run_sluiced(*options):
    done = subprocess.run([BIN / "sluiced", *map(str, options)], capture_output=True, timeout=60 * PATIENCE, text=True)
    assert "Sanitizer" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "small"
    subprocess.run([sys.executable, ROOT / "scripts/make_synthetic_model.py", folder, "--small", "--shard-mb", "0"], check=True)
    return folder


def test_a_folder_of_shards_is_verified(synthetic):
    code, summary, errors = run_sluiced("--model", synthetic, "--verify-model")
    assert code == 0, errors
    for part in ("model          small", "architecture   qwen2", "26 of BF16", "vocabulary     512 tokens", "chat template  yes", "verified"):
        assert part in summary


def test_a_folder_is_served_and_padding_has_no_text(synthetic):
    server = Daemon(model=synthetic)
    try:
        texts = [complete(server.stub, "Hi", max_tokens=8, ignore_eos=True).choices[0].text for _ in range(2)]
        assert texts[0] == texts[1]
        # Token 300 has an embedding and no text.
        padded = complete(server.stub, "Hi", max_tokens=3, ignore_eos=True, bias={300: 100})
        assert padded.choices[0].text == "" and padded.usage.completion_tokens == 3
    finally:
        server.stop()


@pytest.mark.parametrize("name", sorted(path.name for path in TINY.iterdir()))
def test_every_family_is_verified_from_its_folder(name):
    code, summary, errors = run_sluiced("--model", TINY / name, "--verify-model")
    assert code == 0, errors
    assert "verified" in summary


@pytest.mark.parametrize("path", sorted(CASES.glob("B13_*.safetensors")), ids=lambda path: path.stem)
def test_b13_safetensors_are_refused_or_miss_the_models_tensors(tmp_path, path):
    shutil.copy(ROOT / "tests/data/hf/T_base/config.json", tmp_path)
    shutil.copy(ROOT / "tests/data/hf/T_base/tokenizer.json", tmp_path)
    shutil.copy(path, tmp_path / "model.safetensors")
    code, out, errors = run_sluiced("--model", tmp_path, "--device", "cpu", *FREE_PORTS)
    lines = errors.strip().splitlines()
    assert code == 1 and out == "" and len(lines) == 1
    assert str(tmp_path) in lines[0]
    assert ("model.embed_tokens.weight is missing" in lines[0]) == path.stem.startswith("B13_ok")
