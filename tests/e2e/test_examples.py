"""The Python client of the README, run as a user would run it."""

import subprocess
import sys

from conftest import PATIENCE, ROOT


def test_the_example_streams_a_completion(daemon, tmp_path):
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", "--python_out=.", "--grpc_python_out=.",
                    "sluice/v1/inference.proto"], cwd=tmp_path, check=True)
    done = subprocess.run([sys.executable, ROOT / "examples/stream_completion.py", daemon.grpc_address], cwd=tmp_path, text=True,
                          capture_output=True, timeout=60 * PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(" Paris.") and "TTFT" in done.stdout
