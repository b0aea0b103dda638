#!/usr/bin/env python3
"""Writes configs/grafana/sluice.json, the Grafana dashboard.

usage: scripts/make_dashboard.py [--check]
  --check  only says whether the file is what would be written
"""

import json
import pathlib
import sys

TARGET = pathlib.Path(__file__).resolve().parents[1] / "configs/grafana/sluice.json"
PICK = 'job=~"$job", instance=~"$instance"'
WINDOW = "[$__rate_interval]"
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


def series(family, **labels):
    return family + "{" + ", ".join([PICK, *(f'{label}="{value}"' for label, value in labels.items())]) + "}"


def rate(family, by="", **labels):
    return f"sum by ({by}) (rate({series(family, **labels)}{WINDOW}))" if by else f"sum(rate({series(family, **labels)}{WINDOW}))"


def total(family, by="", **labels):
    return f"sum by ({by}) ({series(family, **labels)})" if by else f"sum({series(family, **labels)})"


def quantile(q, family, by="", **labels):
    return f"histogram_quantile({q}, {rate(family + '_bucket', 'le' + (', ' + by if by else ''), **labels)})"


def each(function, family):
    """As it is on each instance: what must not be added up."""
    return f"{function} by (instance) ({series(family)})"


def mean(family, by="", **labels):
    return f"{rate(family + '_sum', by, **labels)} / {rate(family + '_count', by, **labels)}"


def quantiles(family, **labels):
    return [(quantile(q, family, **labels), name) for q, name in ((0.5, "p50"), (0.9, "p90"), (0.99, "p99"))]


def targets(expressions, **options):
    return [{"refId": chr(ord("A") + i), "datasource": DATASOURCE, "expr": expr, "legendFormat": legend, **options}
            for i, (expr, legend) in enumerate(expressions)]


def panel(kind, title, about, expressions, unit, size, custom=None, options=None, **target_options):
    width, height = size
    defaults = {"unit": unit, "min": 0}
    if custom:
        defaults["custom"] = custom
    return {"type": kind, "title": title, "description": about, "datasource": DATASOURCE,
            "gridPos": {"w": width, "h": height}, "fieldConfig": {"defaults": defaults, "overrides": []},
            "options": options or {}, "targets": targets(expressions, **target_options)}


LEGEND = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}}


def graph(title, about, expressions, unit="short", width=8, stack=False):
    custom = {"lineWidth": 1, "fillOpacity": 30 if stack else 5, "showPoints": "never",
              "stacking": {"mode": "normal" if stack else "none"}}
    return panel("timeseries", title, about, expressions, unit, (width, 8), custom, LEGEND)


def number(title, about, expr, unit="short"):
    return panel("stat", title, about, [(expr, "")], unit, (3, 4),
                 options={"reduceOptions": {"calcs": ["lastNotNull"]}, "graphMode": "area", "colorMode": "none"})


def heatmap(title, about, family):
    options = {"calculate": False, "yAxis": {"unit": "s"}, "color": {"mode": "scheme", "scheme": "Blues", "steps": 64},
               "cellGap": 0, "legend": {"show": True}, "tooltip": {"mode": "single", "yHistogram": True}}
    expr = f"sum by (le) (rate({series(family + '_bucket')}{WINDOW}))"
    return panel("heatmap", title, about, [(expr, "{{le}}")], "s", (8, 8), options=options, format="heatmap")


TTFT = "sluice_time_to_first_token_seconds"
TPOT = "sluice_time_per_output_token_seconds"
ITL = "sluice_inter_token_latency_seconds"
CAPACITY = total("sluice_kv_blocks_capacity")
STEP_SECONDS = rate("sluice_step_seconds_sum", "instance")

ROWS = [
    ("Now", [
        number("Requests", "Ended per second, however they did.", rate("sluice_requests_total"), "reqps"),
        number("Output tokens", "Drawn per second.", rate("sluice_decode_tokens_total")),
        number("TTFT p99", "From a request's arrival to its first token, queue included.", quantile(0.99, TTFT), "s"),
        number("TPOT p99", "(last - first token) / (tokens - 1), one sample per sequence.", quantile(0.99, TPOT), "s"),
        number("Running", "Sequences admitted and not ended.", total("sluice_requests_running")),
        number("Waiting", "Requests in the queue.", total("sluice_requests_waiting")),
        number("KV used", "Share of the KV blocks.", total("sluice_kv_blocks", state="used") + " / " + CAPACITY, "percentunit"),
        number("Preemptions", "Sequences evicted, swapped or recomputed. Stays 0.", total("sluice_preemptions_total")),
    ]),
    ("Latency", [
        graph("TTFT", "Time to first token, from arrival.", quantiles(TTFT), "s"),
        graph("TPOT", "Time per output token of whole answers.", quantiles(TPOT), "s"),
        graph("ITL", "Each gap between two tokens.", quantiles(ITL), "s"),
        heatmap("TTFT over time", "First tokens per second, by how long they took.", TTFT),
        heatmap("TPOT over time", "Answers per second, by how long they took a token.", TPOT),
        heatmap("ITL over time", "Gaps per second, by how long they were: a second band is a stutter.", ITL),
        graph("Where a request's time goes", "Mean seconds per request, the same ledger as in its last event.",
              [(mean(f"sluice_request_{part}_seconds"), part)
               for part in ("queue", "prefill", "decode", "interference", "pause", "delivery")], "s", stack=True),
        graph("End to end", "Requests that ran to a stop or to their length.", quantiles("sluice_request_end_to_end_seconds"), "s"),
        graph("Share past the objective", "By the recording rules: TTFT over 1 s, TPOT over 50 ms, of the last 5 minutes.",
              [(series("sluice:ttft_missed:ratio_rate5m"), "TTFT {{instance}}"), (series("sluice:tpot_missed:ratio_rate5m"), "TPOT {{instance}}")], "percentunit"),
    ]),
    ("Throughput and batch", [
        graph("Tokens", "Per second, as steps compute them.",
              [(rate("sluice_prefill_tokens_total"), "prompt, computed"), (rate("sluice_prefix_cache_hits_total"), "prompt, from the cache"),
               (rate("sluice_decode_tokens_total"), "output")]),
        graph("Requests by outcome", "Ended per second.", [(rate("sluice_requests_total", "outcome"), "{{outcome}}")], "reqps", stack=True),
        graph("Batch occupancy", "Rows that decode in a step, sequences running, and how many may run.",
              [(mean("sluice_step_decode_rows", "instance"), "rows in a step, mean, {{instance}}"),
               (total("sluice_requests_running", "instance"), "running, {{instance}}"),
               (total("sluice_limit", "instance", name="max_running"), "max_running, {{instance}}")]),
        graph("Step seconds", "By what a step computes.",
              [(quantile(0.5, "sluice_step_seconds", "kind"), "{{kind}} p50"), (quantile(0.99, "sluice_step_seconds", "kind"), "{{kind}} p99")], "s"),
        graph("Prompt tokens per step", "Of steps that computed any: the chunk.", quantiles("sluice_step_prefill_tokens")),
        graph("Decode stall", "Share of time by which prompts made steps with decoding sequences longer.",
              [(rate("sluice_decode_stall_seconds_total", "instance"), "{{instance}}")], "percentunit"),
    ]),
    ("KV cache", [
        graph("KV blocks", "Reserved is what running sequences have at their caps; under adaptive it may exceed the capacity.",
              [(total("sluice_kv_blocks", state="used"), "used"), (total("sluice_kv_blocks", state="reserved"), "reserved"),
               (total("sluice_kv_blocks_cached"), "cached"), (total("sluice_kv_blocks_shared"), "shared"), (CAPACITY, "capacity")]),
        graph("Prefix cache", "Share of admitted prompt tokens that were found in it.",
              [(rate("sluice_prefix_cache_hits_total") + " / " + rate("sluice_prefix_cache_queries_total"), "hit")], "percentunit"),
        graph("Pauses", "Rows left out of steps for want of a block, per second, and the margin z that adaptive keeps for it.",
              [(rate("sluice_pauses_total"), "pauses"), (each("max", "sluice_admission_margin_sigmas"), "z, sigmas, {{instance}}")]),
    ]),
    ("Queue", [
        graph("Queue by reason", "Requests waiting, under what the next one to be served lacks.",
              [(total("sluice_requests_waiting_by_reason", "reason"), "{{reason}}")], stack=True),
        graph("Refusals", "Per second: no room, no valid request, or a deadline that would be missed.",
              [(rate("sluice_requests_total", outcome=outcome), outcome) for outcome in ("refused", "invalid", "deadline")], "reqps"),
        graph("Queue time", "From arrival to admission.", quantiles("sluice_request_queue_seconds"), "s"),
    ]),
    ("Machine", [
        graph("MBU and MFU", "While steps run: bytes read and multiply-accumulates, as shares of what the machine gave at start.",
              [(rate("sluice_model_read_bytes_total", "instance") + " / " + STEP_SECONDS + " / " + each("max", "sluice_machine_read_bytes_per_second"), "MBU {{instance}}"),
               (rate("sluice_model_macs_total", "instance") + " / " + STEP_SECONDS + " / " + each("max", "sluice_machine_macs_per_second"), "MFU {{instance}}")], "percentunit"),
        graph("Predicted step time", "Predicted / actual seconds: the model that sizes prompts' chunks under scheduler.tpot_target_ms.",
              quantiles("sluice_step_predicted_ratio")),
        graph("Serving loop", "Age of its current turn, and the age at which the daemon is unhealthy.",
              [(each("max", "sluice_tick_age_seconds"), "age, {{instance}}"), (each("max", "sluice_stall_timeout_seconds"), "limit, {{instance}}")], "s"),
        graph("Failed steps", "Per second, and how many in a row: from 3 on the daemon is unhealthy.",
              [(rate("sluice_failed_steps_total", "instance"), "failed, {{instance}}"), (each("max", "sluice_failed_steps_in_a_row"), "in a row, {{instance}}")]),
    ]),
    ("Tenants", [
        graph("Requests by tenant", "Ended per second.", [(rate("sluice_tenant_requests_total", "tenant"), "{{tenant}}")], "reqps", stack=True),
        graph("Tokens by tenant", "Prompt and output tokens per second of requests that ended.",
              [(rate("sluice_tenant_tokens_total", "tenant"), "{{tenant}}")], stack=True),
        graph("TTFT p99 by tenant", "From arrival.",
              [(quantile(0.99, "sluice_tenant_time_to_first_token_seconds", "tenant"), "{{tenant}}")], "s"),
    ]),
]


def placed_panels():
    panels, top = [], 0
    for title, members in ROWS:
        panels.append({"type": "row", "title": title, "collapsed": False, "gridPos": {"x": 0, "y": top, "w": 24, "h": 1}, "panels": []})
        top += 1
        left = height = 0
        for member in members:
            place = member["gridPos"]
            if left + place["w"] > 24:
                top, left = top + height, 0
            place["x"], place["y"] = left, top
            left, height = left + place["w"], place["h"]
            panels.append(member)
        top += height
    for number_, entry in enumerate(panels, 1):
        entry["id"] = number_
    return panels


def variable(name, label):
    return {"name": name, "label": label, "type": "query", "datasource": DATASOURCE, "includeAll": True, "multi": True,
            "allValue": ".*", "current": {"text": "All", "value": "$__all"}, "refresh": 2, "sort": 1,
            "query": {"query": f"label_values(sluice_build_info, {name})", "refId": name}}


def dashboard():
    source = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
              "current": {"text": "Prometheus", "value": "sluice-prometheus"}}
    return {"title": "Sluice", "uid": "sluice", "description": "LLM inference: latency, throughput, batch, KV cache, queue, machine, tenants.",
            "tags": ["sluice", "llm"], "editable": True, "graphTooltip": 1, "refresh": "10s", "schemaVersion": 39, "version": 1,
            "time": {"from": "now-30m", "to": "now"}, "templating": {"list": [source, variable("job", "Job"), variable("instance", "Instance")]},
            "annotations": {"list": []}, "panels": placed_panels()}


def main():
    text = json.dumps(dashboard(), indent=1) + "\n"
    if sys.argv[1:] == ["--check"]:
        if not TARGET.exists() or TARGET.read_text() != text:
            sys.exit(f"{TARGET.name} is not what scripts/make_dashboard.py writes; run it")
    elif not sys.argv[1:]:
        TARGET.write_text(text)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
