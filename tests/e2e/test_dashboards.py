"""Every expression that is shipped for Grafana and Prometheus has data when a daemon serves: Debian's Prometheus scrapes one under load."""

import json
import math
import re
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import grpc
import pytest

from conftest import FORCE_NO, PATIENCE, ROOT, complete, make_request, metadata_of, refusal

CONFIGS = ROOT / "configs"
WINDOW = "60s"  # of rates: on a slow machine a client's turn takes many seconds
DASHBOARD = json.loads((CONFIGS / "grafana/sluice.json").read_text())


class Prometheus:
    """Debian's Prometheus with the configuration that is shipped, pointed at one daemon and in more of a hurry."""

    def __init__(self, folder, target):
        config = (CONFIGS / "prometheus/prometheus.yml").read_text()
        config = re.sub(r"(scrape|evaluation)_interval: \w+", r"\1_interval: 1s", config).replace("127.0.0.1:8080", target)
        config = config.replace("sluice_rules.yml", str(CONFIGS / "prometheus/sluice_rules.yml"))
        (folder / "prometheus.yml").write_text(config)
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data", "--web.listen-address=127.0.0.1:0"],
            stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r'"Listening on" address=(\S+)', line):
                self.address = found.group(1)
                break
        else:
            raise AssertionError("prometheus did not start")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        while not self.is_started():
            time.sleep(0.1)

    def is_started(self):
        try:
            return urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=10 * PATIENCE).status == 200
        except urllib.error.HTTPError:
            return False

    def get(self, path, **query):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=10 * PATIENCE) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}") from error

    def values(self, expression):
        """Of every series that the expression has now."""
        return [float(series["value"][1]) for series in self.get("query", query=expression)["result"]]

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30 * PATIENCE)


@pytest.fixture(scope="module")
def scraped(tmp_path_factory):
    """(daemon, prometheus) after some seconds of everything that happens to a daemon."""
    from conftest import Daemon
    daemon = Daemon({"kv": {"memory": "64MiB"}, "scheduler": {"max_running": 4, "max_queued_per_tenant": 6}})
    prometheus = Prometheus(tmp_path_factory.mktemp("prometheus"), daemon.http_address)
    over = threading.Event()
    clients = [threading.Thread(target=serve, args=(daemon, tenant, over), daemon=True) for tenant in ("red", "blue", "blue", None, None, "green")]
    for client in clients:
        client.start()
    try:
        # Rates need two scrapes that differ, and the rules a turn after those.
        deadline = time.monotonic() + 60 * PATIENCE
        while not is_ready(prometheus):
            assert time.monotonic() < deadline, "not all of it happened in time"
            time.sleep(0.5)
        yield daemon, prometheus
    finally:
        over.set()
        for client in clients:
            client.join(timeout=60 * PATIENCE)
        prometheus.stop()
        assert daemon.stop() == 0


def is_ready(prometheus):
    steps = prometheus.values(f'increase(sluice_step_seconds_count{{kind="mixed"}}[{WINDOW}])')
    refused = prometheus.values(f'increase(sluice_requests_total{{outcome="refused"}}[{WINDOW}])')
    recorded = prometheus.values("sluice:mfu:ratio_rate1m")
    return bool(steps) and steps[0] > 10 and bool(refused) and refused[0] > 0 and bool(recorded)


def serve(daemon, tenant, over):
    """One client: answers, an invalid request, and one too many."""
    while not over.is_set():
        finish(call(daemon, tenant, "The sluice lets through " * 12, max_tokens=24))
        assert refusal(complete, daemon.stub, "Hi", top_p=1.5).code() == grpc.StatusCode.INVALID_ARGUMENT
        calls = [call(daemon, tenant, "Hi", max_tokens=8) for _ in range(8)]
        for burst_call in calls:
            finish(burst_call)


def call(daemon, tenant, prompt, **options):
    return daemon.stub.StreamComplete(make_request(prompt, bias=FORCE_NO, **options), timeout=60 * PATIENCE, metadata=metadata_of(tenant))


def finish(a_call):
    """Reads an answer; there may be no room for it."""
    try:
        list(a_call)
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def panels():
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def filled(expression):
    """As Grafana fills in its variables."""
    for variable, value in (("$__rate_interval", WINDOW), ("$job", ".*"), ("$instance", ".*")):
        expression = expression.replace(variable, value)
    assert "$" not in expression, expression
    return expression


def assert_data(prometheus, expression, where):
    """It may have none for a moment: a scrape that comes too late on a busy machine leaves a gap."""
    deadline = time.monotonic() + 20 * PATIENCE
    # Of some kinds of steps there may be none; a quantile of nothing is NaN.
    while not any(map(math.isfinite, values := prometheus.values(filled(expression)))):
        assert time.monotonic() < deadline, f"{where}: {expression}: {values}"
        time.sleep(0.5)


def test_every_expression_of_the_dashboard_has_data(scraped):
    _, prometheus = scraped
    assert len(panels()) > 30
    for panel in panels():
        assert panel["targets"] and panel["title"] and panel["description"]
        for target in panel["targets"]:
            assert_data(prometheus, target["expr"], panel["title"])


def test_the_dashboards_variables_find_the_daemon(scraped):
    daemon, prometheus = scraped
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] != "query":
            continue
        metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"]).groups()
        found = [series["metric"][label] for series in prometheus.get("query", query=metric)["result"]]
        assert found == [daemon.http_address if label == "instance" else "sluice"]


def sides(expression):
    """The parts of an alert's expression that stand on either side of a comparison, and are no number."""
    parts = re.split(r"\s(?:and|>=?|==)\s", expression)
    return [part for part in parts if not re.fullmatch(r"[\d.* ]+", part)]


def test_every_rule_has_data_and_no_alert_is_mistaken(scraped):
    _, prometheus = scraped
    rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    assert len(rules) == 26
    for rule in rules:
        assert rule["health"] == "ok", rule
        if rule["type"] == "recording":
            assert_data(prometheus, rule["name"], rule["name"])
            continue
        for part in sides(rule["query"]):
            part = re.sub(r"^on \(job, instance\) [\d.]+ \* ", "", part)
            assert_data(prometheus, part, rule["name"])
    firing = {rule["name"] for rule in rules if rule["type"] == "alerting" and rule["state"] == "firing"}
    assert not firing & {"SluiceDown", "SluiceLoopStalled", "SluicePreempted"}


def test_prometheus_takes_all_that_is_served(scraped):
    _, prometheus = scraped
    deadline = time.monotonic() + 20 * PATIENCE
    while (target := prometheus.get("targets")["activeTargets"][0])["health"] != "up" or target["lastError"]:
        assert time.monotonic() < deadline, target
        time.sleep(0.5)
    # Samples of one scrape: the cardinality that a daemon costs.
    assert 500 < prometheus.values("max_over_time(scrape_samples_post_metric_relabeling[60s])")[0] < 4000
    assert_data(prometheus, 'vllm:num_requests_running{engine="0"}', "vLLM's names")
    assert {series["metric"]["tenant"] for series in prometheus.get("query", query="sluice_tenant_tokens_total")["result"]} >= {
        "red", "blue", "green", "default", "other"}
