"""More than a thousand requests made from the daemon's own description, good ones and bad ones: none may break it."""

import re
import subprocess
import sys

import pytest

from conftest import IS_SLOW_BUILD, PATIENCE
from http_calls import assert_alive

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,allow_header_conformance"


@pytest.mark.timeout(900)
def test_generated_requests_get_the_answers_that_are_described(start, tmp_path):
    # A small context, so that no request takes long.
    server = start({"model": {"max_context": 32}, "kv": {"memory": "64MiB"}})
    # One worker: Python 3.11 counts the depth of a syntax tree once for all threads, and gives up when two parse at the same time.
    options = ["--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--max-examples", "20" if IS_SLOW_BUILD else "100",
               "--workers", "1", "--seed", "1", "--request-timeout", str(20 * PATIENCE), "--continue-on-failure", "--warnings", "off"]
    program = f"{sys.prefix}/bin/schemathesis"
    done = subprocess.run([program, "run", f"http://{server.http_address}/openapi.json", *options], cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    generated = int(re.search(r"(\d+) generated", done.stdout).group(1))
    assert generated >= (100 if IS_SLOW_BUILD else 1000), done.stdout[-2000:]
    assert_alive(server)
    assert server.wait_idle().preemptions == 0
