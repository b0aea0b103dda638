"""Thousands of requests made from the daemon's own description, good ones and bad ones: none may break it."""

import re
import subprocess
import sys

import pytest

from conftest import IS_SLOW_BUILD, PATIENCE
from http_calls import assert_alive, post

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,allow_header_conformance"


@pytest.mark.timeout(900)
def test_generated_requests_get_the_answers_that_are_described(start, tmp_path):
    # A small context, so that no request takes long.
    server = start({"model": {"max_context": 32}, "kv": {"memory": "64MiB"}})
    options = ["--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--max-examples", "20" if IS_SLOW_BUILD else "500",
               "--workers", "2", "--seed", "1", "--request-timeout", str(20 * PATIENCE), "--continue-on-failure", "--warnings", "off"]
    if post(server, "/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 0}).status == 501:
        options += ["--exclude-path", "/v1/chat/completions"]  # says that it is not served, with a 5xx
    program = f"{sys.prefix}/bin/schemathesis"
    done = subprocess.run([program, "run", f"http://{server.http_address}/openapi.json", *options], cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    generated = int(re.search(r"(\d+) generated", done.stdout).group(1))
    assert generated >= (100 if IS_SLOW_BUILD else 2000), done.stdout[-2000:]
    assert_alive(server)
    assert server.wait_idle().preemptions == 0
