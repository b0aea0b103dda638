"""HTTP as tests need it: plain calls whose every byte is known, and the official OpenAI client."""

import http.client
import json
import socket

import openai

from conftest import FORCE_NO, PATIENCE

FORCE = {str(token): bias for token, bias in FORCE_NO.items()}
CAPITAL = "The capital of France is"


def address_of(daemon):
    host, port = daemon.http_address.rsplit(":", 1)
    return host, int(port)


def openai_client(daemon, **options):
    """Never tries again by itself: a test must see the first answer."""
    options = {"api_key": "none", "max_retries": 0, "timeout": 60 * PATIENCE, **options}
    return openai.OpenAI(base_url=f"http://{daemon.http_address}/v1", **options)


def connect(daemon, timeout=60):
    return http.client.HTTPConnection(*address_of(daemon), timeout=timeout * PATIENCE)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    def json(self):
        return json.loads(self.body.decode())

    @property
    def error(self):
        error = self.json()["error"]
        assert set(error) == {"message", "type", "param", "code"}
        return error


def send(connection, path, body, headers=None, method="POST"):
    """`body` is bytes, or a dict that becomes JSON."""
    data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
    connection.request(method, path, body=data, headers={"Content-Type": "application/json", **(headers or {})})
    return connection


def post(daemon, path, body, headers=None, connection=None, timeout=60):
    connection = connection or connect(daemon, timeout)
    return Answer(send(connection, path, body, headers).getresponse())


def complete(daemon, prompt="Hi", headers=None, **options):
    """POST /v1/completions, greedy unless said otherwise."""
    return post(daemon, "/v1/completions", {"prompt": prompt, "temperature": 0, **options}, headers)


def good(answer):
    assert answer.status == 200, answer.body
    return answer.json()


def text_of(daemon, *args, **options):
    return good(complete(daemon, *args, **options))["choices"][0]["text"]


def events_of(answer):
    """The `data` of each event of a stream that ended well, without [DONE]."""
    events = raw_events(answer)
    assert events[-1] == "[DONE]" and events.count("[DONE]") == 1
    return [json.loads(event) for event in events[:-1]]


def raw_events(answer):
    assert answer.status == 200 and answer.headers["content-type"] == "text/event-stream", answer.body
    assert "content-length" not in answer.headers
    text = answer.body.decode()
    assert text.endswith("\n\n")
    events = text[:-2].split("\n\n")
    for event in events:
        assert event.startswith("data: ") and "\n" not in event, event
    return [event[6:] for event in events]


def streamed(daemon, prompt="Hi", **options):
    return events_of(complete(daemon, prompt, stream=True, **options))


def joined(events, index=0):
    return "".join(choice["text"] for event in events for choice in event["choices"] if choice["index"] == index)


def assert_refused(answer, status, *words, param=None):
    assert answer.status == status, (answer.status, answer.body)
    assert answer.headers["content-type"] == "application/json"
    error = answer.error
    for word in words:
        assert word in error["message"], error
    if param is not None:
        assert error["param"] == param, error
    return error


def assert_alive(daemon):
    assert text_of(daemon, max_tokens=1, logit_bias=FORCE) == " no"


def raw_connection(daemon):
    return socket.create_connection(address_of(daemon), timeout=60 * PATIENCE)


def request_bytes(body, path="/v1/completions", headers=""):
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {len(data)}\r\n\r\n".encode() + data
