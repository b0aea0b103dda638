"""What computes: engine.device on a machine without a GPU (case B35 b and e to g)."""

import ctypes
import re

import pytest

from conftest import BIN, FREE_PORTS, MODEL, Daemon, complete, make_request
from test_lifecycle import assert_one_line, run_sluiced


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


without_gpu = pytest.mark.skipif(has_driver(), reason="this machine has NVIDIA's driver")


@without_gpu
@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:7"])
def test_b35_ef_a_gpu_that_is_not_there_is_refused_and_never_the_cpu(device):
    code, lines, text = run_sluiced("--model", MODEL, "--device", device, *FREE_PORTS, seconds=2)
    assert code == 1 and text == ""
    # Which of the two is missing here depends on how the daemon was built.
    missing = "libcuda.so.1" if (BIN / "libsluice_cuda.so").exists() else "libsluice_cuda.so"
    assert_one_line(lines, f"engine.device is {device}, but", missing)


@without_gpu
def test_b35_b_three_gpus_are_refused_where_there_is_none():
    code, lines, text = run_sluiced("--model", MODEL, "--device", "cuda", "--tp", "3", *FREE_PORTS, seconds=2)
    assert code == 1 and text == ""
    assert_one_line(lines, "engine.device is cuda, but", "libcuda.so.1" if (BIN / "libsluice_cuda.so").exists() else "libsluice_cuda.so")


@without_gpu
def test_b35_e_verify_model_doesn_t_take_the_cpu_either():
    code, lines, text = run_sluiced("--model", MODEL, "--device", "cuda", "--verify-model", seconds=10)
    assert code == 1 and text == ""
    assert_one_line(lines, "engine.device is cuda, but")


@without_gpu
def test_b35_g_auto_takes_the_cpu_and_says_so():
    daemon = Daemon(options=["--device", "auto"])
    try:
        assert complete(daemon.stub, "Hello", max_tokens=2).usage.completion_tokens == 2
        info = [name for name in daemon.metrics() if name.startswith("sluice_build_info")]
        assert len(info) == 1 and re.search('device="cpu ', info[0]), info
        log = [line for line in daemon.stderr().splitlines() if "no GPU is used" in line]
        assert_one_line(log, "the model runs on the CPU", "libsluice_cuda.so" if not (BIN / "libsluice_cuda.so").exists() else "libcuda.so.1")
    finally:
        assert daemon.stop() == 0


def test_a_named_cpu_asks_for_no_gpu():
    daemon = Daemon(options=["--device", "cpu"])
    try:
        assert "no GPU is used" not in daemon.stderr()
    finally:
        assert daemon.stop() == 0


@pytest.mark.parametrize("device", ["tpu", "cuda:64", "cuda:", "cuda:01", "CUDA"])
def test_a_device_that_cannot_be_is_a_wrong_configuration(device):
    code, lines, _ = run_sluiced("--model", "x", "--device", device)
    assert code == 2
    assert_one_line(lines, device, "engine.device", "cuda:63")
