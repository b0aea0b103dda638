"""Streams a completion from a running sluiced. usage: stream_completion.py [HOST:PORT] [PROMPT]

Needs grpcio, and the modules that grpc_tools.protoc makes from the proto, in the current folder; README.md has the commands.
"""

import os
import sys

import grpc

sys.path.insert(0, os.getcwd())  # where protoc put the generated modules

from sluice.v1 import inference_pb2, inference_pb2_grpc  # noqa: E402


def main():
    address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051"
    prompt = sys.argv[2] if len(sys.argv) > 2 else "The capital of France is"
    request = inference_pb2.CompleteRequest(
        text=prompt,
        sampling=inference_pb2.SamplingOptions(temperature=0.0),
        stopping=inference_pb2.StoppingOptions(max_tokens=48),
    )
    with grpc.insecure_channel(address) as channel:
        for event in inference_pb2_grpc.InferenceStub(channel).StreamComplete(request):
            kind = event.WhichOneof("event")
            if kind == "tokens":
                print(event.tokens.text, end="", flush=True)
            elif kind == "finished":
                ledger = event.finished.ledger
                print(f"\n[{event.finished.usage.completion_tokens} tokens, TTFT {ledger.ttft_ms:.1f} ms, TPOT {ledger.tpot_ms:.1f} ms]")
            elif kind == "error":
                sys.exit(f"\nerror {event.error.code}: {event.error.message}")


if __name__ == "__main__":
    main()
