"""Programs that do as those under check do, on a machine without a device: each prints what a test tells it to in FAKE, a JSON object by program."""

import json
import os
import pathlib
import stat
import sys

PROGRAM = """#!{python}
import json, os, signal, sys, threading
name = os.path.basename(sys.argv[0])
told = json.loads(os.environ["FAKE"]).get(name, {{}})
for option in sys.argv:
    if option.startswith("--gtest_filter="):
        told = told.get("of", {{}}).get(option.split("=", 1)[1], told)
for option in sys.argv:
    if option.startswith("--gtest_output=json:"):
        open(option.split(":", 1)[1], "w").write(json.dumps(told.get("tests", "")) if "tests" in told else "")
if "--json" in sys.argv:
    open(sys.argv[sys.argv.index("--json") + 1], "w").write(json.dumps(told["report"]))
if "pid" in told:
    open(told["pid"] + "~", "w").write(str(os.getpid()))
    os.rename(told["pid"] + "~", told["pid"])
if "prints" in told:
    print(told["prints"], flush=True)
if name == "sluiced" and "prints" in told:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    threading.Event().wait()
if told.get("hangs"):
    threading.Event().wait()
sys.exit(told.get("says_why") or told.get("code", 0))
"""


def put_programs(folder, names):
    for name in names:
        path = pathlib.Path(folder) / name
        path.write_text(PROGRAM.format(python=sys.executable))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


def tell(programs):
    """What each is to do: prints, code or says_why (on stderr, with code 1), hangs, pid (a file for its number), tests (GoogleTest's JSON), report (sluice-bench's), of (the same for some
    filters of GoogleTest's)."""
    os.environ["FAKE"] = json.dumps(programs)


def test_results(*failed, count=3):
    """GoogleTest's JSON of `count` tests, of which these failed."""
    names = [*failed, *(f"passes{i}" for i in range(count - len(failed)))]
    tests = [{"name": name, "failures": [{"failure": "why"}]} if name in failed else {"name": name} for name in names]
    return {"tests": count, "testsuites": [{"name": "Kernel", "testsuite": tests}]}


def bench_report(**changes):
    return {"errors": 0, "errors_by_code": {}, "requests": 8, "short_answers": 0, "output_tokens_per_second": 1000.0, "ttft_ms": {"p50": 20.0, "p99": 30.0},
            "tpot_ms": {"p50": 5.0}, "itl_ms": {"p50": 5.0, "p99": 6.0}, "client": {"because": None}} | changes
