"""Sweeping, tuning and comparing real daemons: limits change while they serve, and are afterwards what they were."""

import json
import signal
import subprocess

from conftest import BIN, IS_SLOW_BUILD, PATIENCE

LOAD = ["--prompt-tokens", 16, "--output-tokens", 8, "--slo", "ttft=1m,tpot=10s"]


def bench(command, *arguments, tmp_path, code=0):
    """(what it printed, its JSON, its page)"""
    figures, page = tmp_path / "figures.json", tmp_path / "page.html"
    done = subprocess.run([BIN / "sluice-bench", *map(str, [command, *arguments, "--json", figures, "--report", page])], text=True, capture_output=True,
                          timeout=150 * PATIENCE)
    assert done.returncode == code, done
    return done.stdout, json.loads(figures.read_text()), page.read_text()


def limits(daemon):
    return json.loads(subprocess.run([BIN / "sluice", "limits", "--json", "--address", daemon.admin_address], check=True, text=True, capture_output=True,
                                     timeout=30 * PATIENCE).stdout)


def test_a_sweep_sets_limits_and_puts_them_back(daemon, tmp_path):
    before = limits(daemon)
    _, figures, page = bench("sweep", daemon.grpc_address, "--admin", daemon.admin_address, *LOAD, "--max-running", "1,4", "--tpot-target-ms", "0,50",
                             "--batches", 2, tmp_path=tmp_path)
    assert limits(daemon) == before
    assert [(row["max_running"], row["tpot_target_ms"]) for row in figures["points"]] == [(1, 0), (4, 0), (1, 50), (4, 50)]
    for row in figures["points"]:
        assert row["errors"] == 0 and row["ttft_kept_share"] == 1
        assert row["goodput_requests_per_second"]["mean"] > 0
        assert row["running_mean"] <= row["max_running"]
        assert row["kv_used_share"] <= row["kv_reserved_share"]
    # Sampled five times a second: with four in flight some are always seen.
    assert all(row["kv_used_share"] > 0 for row in figures["points"] if row["max_running"] == 4)
    assert page.count("<svg") == 6


def test_a_tune_stays_within_its_budget_and_puts_the_limits_back(daemon, tmp_path):
    before = limits(daemon)
    for budget_s in (300,) if IS_SLOW_BUILD else (15, 45, 135):
        out, figures, page = bench("tune", daemon.grpc_address, "--admin", daemon.admin_address, *LOAD, "--budget", f"{budget_s}s", "--max-running-max", 8,
                                   tmp_path=tmp_path)
        assert limits(daemon) == before
        # Beyond its budget lies only what a busy machine takes to end a trial that is over.
        assert figures["elapsed_s"] <= budget_s + 60
        if figures["best"]:  # on a slow machine the first trial may outlast a short budget
            break
    assert figures["best"]["max_running"] <= 8
    assert figures["yaml"].startswith("scheduler:\n  max_running: ")
    assert "limits are as they were" in out
    assert "<svg" in page


def test_an_interrupted_tune_puts_the_limits_back(daemon):
    before = limits(daemon)
    with subprocess.Popen([BIN / "sluice-bench", "tune", daemon.grpc_address, "--admin", daemon.admin_address, *map(str, LOAD), "--budget", "10m"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tune:
        # The second trial has begun when the first one's goodput is told.
        while "good requests/s" not in tune.stderr.readline():
            assert tune.poll() is None
        tune.send_signal(signal.SIGINT)
        out, _ = tune.communicate(timeout=60 * PATIENCE)
    assert tune.returncode == 130
    assert "Interrupted" in out
    assert limits(daemon) == before


def test_a_compare_over_both_fronts_of_one_daemon(daemon, tmp_path):
    _, figures, _ = bench("compare", f"grpc={daemon.grpc_address}", f"http=http://{daemon.http_address}/v1", *LOAD, "--vocab-size", 49000, "--concurrency", 2,
                          "--requests", 8, "--rounds", 2, tmp_path=tmp_path)
    assert [server["name"] for server in figures["servers"]] == ["grpc", "http"]
    assert figures["warning"] is None  # both count the same prompts
    (pair,) = figures["comparisons"]
    assert all(len(metric["base"]) == len(metric["other"]) == 2 for metric in pair["metrics"])
