"""Who may call: API keys, TLS, client certificates, and the control's own listener."""

import json
import os
import signal
import socket
import ssl
import time
import urllib.error
import urllib.request

import grpc
import openai
import pytest
import trustme

from conftest import FORCE_NO, FREE_PORTS, PATIENCE, control_grpc, control_pb, make_request, pb, pb_grpc
from http_calls import assert_refused, complete, good, openai_client, post, raw_connection
from test_lifecycle import run_sluiced

OURS, ADMIN, GATEWAY = "sk-ours-0123456789", "sk-admin-0123456789", "sk-gateway-0123456789"
KEYS = f"{OURS} ours requests=1 max_tokens=8 priority=0\n{ADMIN} ops admin\n{GATEWAY} *\n"


def bearer(key, **more):
    return [("authorization", f"Bearer {key}"), *more.items()]


def header(key):
    return {"Authorization": f"Bearer {key}"}


def refusal(call, *args, **options):
    with pytest.raises(grpc.RpcError) as caught:
        call(*args, timeout=20 * PATIENCE, **options)
    return caught.value


@pytest.fixture
def keyed(start, tmp_path):
    path = tmp_path / "keys"
    path.write_text(KEYS)
    daemon = start({"security": {"api_keys_path": str(path)}})
    daemon.keys_path = path
    return daemon


# --- API keys -----------------------------------------------------------------------------------------------------------------------------------


def test_without_a_key_nothing_but_health_and_metrics_answers(keyed):
    assert refusal(keyed.stub.Complete, make_request("Hi", max_tokens=1)).code() == grpc.StatusCode.UNAUTHENTICATED
    assert refusal(keyed.stub.GetModel, pb.GetModelRequest()).code() == grpc.StatusCode.UNAUTHENTICATED
    assert refusal(keyed.stub.Tokenize, pb.TokenizeRequest(text="Hi")).code() == grpc.StatusCode.UNAUTHENTICATED
    for key in ("sk-ours-012345678", OURS + "0", ""):
        assert refusal(keyed.stub.Complete, make_request("Hi"), metadata=bearer(key)).code() == grpc.StatusCode.UNAUTHENTICATED
    answer = complete(keyed, max_tokens=1)
    assert_refused(answer, 401, "API key")
    assert answer.headers["www-authenticate"] == "Bearer"
    for path in ("/tokenize", "/v1/chat/completions"):
        assert post(keyed, path, {"text": "Hi"}).status == 401
    assert keyed.get("/v1/models")[0] == 401
    for path in ("/metrics", "/healthz", "/readyz"):
        assert keyed.get(path)[0] == 200


def test_a_stranger_s_body_is_not_read(keyed):
    with raw_connection(keyed) as client:
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\nExpect: 100-continue\r\n\r\n")
        answer = client.recv(65536)
    assert answer.startswith(b"HTTP/1.1 401 ") and b"100 Continue" not in answer


def test_a_key_opens_both_fronts(keyed):
    answer = keyed.stub.Complete(make_request("Hi", max_tokens=3, bias=FORCE_NO), metadata=bearer(OURS))
    assert answer.choices[0].text == " no no no"
    good(complete(keyed, max_tokens=1, headers=header(OURS)))
    client = openai_client(keyed, api_key=OURS)
    assert client.models.list().data
    assert client.completions.create(model="", prompt="Hi", max_tokens=1).usage.completion_tokens == 1
    with pytest.raises(openai.AuthenticationError):
        openai_client(keyed, api_key="sk-wrong-0123456789").models.list()


def test_the_key_says_who_the_tenant_is(keyed):
    request = make_request("Hi", max_tokens=1)
    assert refusal(keyed.stub.Complete, request, metadata=bearer(OURS, **{"x-tenant": "theirs"})).code() == grpc.StatusCode.PERMISSION_DENIED
    keyed.stub.Complete(request, metadata=bearer(OURS, **{"x-tenant": "ours"}))
    keyed.stub.Complete(request, metadata=bearer(GATEWAY, **{"x-tenant": "theirs"}))
    with pytest.raises(openai.PermissionDeniedError):
        openai_client(keyed, api_key=OURS, default_headers={"x-tenant": "theirs"}).completions.create(model="", prompt="Hi", max_tokens=1)


def test_a_key_has_limits(keyed):
    error = refusal(keyed.stub.Complete, make_request("Hi", max_tokens=9), metadata=bearer(OURS))
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and "stopping.max_tokens" in error.details() and "8" in error.details()
    answer = keyed.stub.Complete(make_request("Hi", bias=FORCE_NO), metadata=bearer(OURS))
    assert answer.usage.completion_tokens == 8
    error = refusal(keyed.stub.Complete, make_request("Hi", max_tokens=1, priority=-1), metadata=bearer(OURS))
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and "priority" in error.details()
    assert_refused(complete(keyed, max_tokens=9, headers=header(OURS)), 400, "8", param="max_tokens")


def test_a_key_has_so_many_requests_at_a_time(keyed):
    keyed.keys_path.write_text(KEYS.replace(" max_tokens=8", ""))
    keyed.signal(signal.SIGHUP)
    keyed.wait_line("read the API keys again")
    stream = keyed.stub.StreamComplete(make_request("Hi", max_tokens=4000, bias=FORCE_NO), metadata=bearer(OURS))
    next(stream)
    error = refusal(keyed.stub.Complete, make_request("Hi", max_tokens=1), metadata=bearer(OURS))
    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert int(dict(error.trailing_metadata())["retry-after-ms"]) > 0
    assert_refused(complete(keyed, max_tokens=1, headers=header(OURS)), 429, "1 requests at a time")
    keyed.stub.Complete(make_request("Hi", max_tokens=1), metadata=bearer(GATEWAY))
    stream.cancel()
    deadline = time.monotonic() + 10 * PATIENCE
    while complete(keyed, max_tokens=1, headers=header(OURS)).status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_key_s_request_ends_for_its_limit_before_its_client_knows(start, tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"{OURS} ours requests=1\n")
    daemon = start({"security": {"api_keys_path": str(path)}})
    for _ in range(60):
        assert list(daemon.stub.StreamComplete(make_request("Hi", max_tokens=1), metadata=bearer(OURS), timeout=20 * PATIENCE))
        daemon.stub.Complete(make_request("Hi", max_tokens=1), metadata=bearer(OURS), timeout=20 * PATIENCE)
        assert complete(daemon, max_tokens=1, stream=True, headers=header(OURS)).status == 200


def test_a_request_without_priority_has_the_most_urgent_that_its_key_may(start, tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"{OURS} ours priority=10\n")
    daemon = start({"security": {"api_keys_path": str(path)}})
    daemon.stub.Complete(make_request("Hi", max_tokens=1), metadata=bearer(OURS), timeout=20 * PATIENCE)
    good(complete(daemon, max_tokens=1, headers=header(OURS)))
    assert_refused(complete(daemon, max_tokens=1, priority=9, headers=header(OURS)), 400, "10", param="priority")


def test_sighup_reads_the_keys_again_and_a_bad_file_changes_nothing(keyed):
    keyed.keys_path.write_text("sk-new-0123456789 new\n")
    keyed.signal(signal.SIGHUP)
    keyed.wait_line("read the API keys again")
    assert complete(keyed, max_tokens=1, headers=header(OURS)).status == 401
    good(complete(keyed, max_tokens=1, headers=header("sk-new-0123456789")))
    keyed.keys_path.write_text("nonsense\n")
    keyed.signal(signal.SIGHUP)
    keyed.wait_line("the API keys stay as they were")
    good(complete(keyed, max_tokens=1, headers=header("sk-new-0123456789")))


def test_no_key_and_no_prompt_is_in_the_log(start, tmp_path):
    path = tmp_path / "keys"
    path.write_text(KEYS)
    daemon = start({"security": {"api_keys_path": str(path)}, "log": {"level": "debug"}})
    good(complete(daemon, "a very secret prompt", max_tokens=1, headers=header(OURS)))
    complete(daemon, "a very secret prompt", max_tokens=1, headers=header("sk-wrong-0123456789"))
    daemon.signal(signal.SIGHUP)
    daemon.wait_line("read the API keys again")
    for secret in ("sk-", "secret"):
        assert secret not in daemon.stderr()


def test_control_wants_an_admin_key(keyed):
    empty = control_pb.GetLimitsRequest()
    assert refusal(keyed.control.GetLimits, empty).code() == grpc.StatusCode.UNAUTHENTICATED
    assert refusal(keyed.control.GetLimits, empty, metadata=bearer(OURS)).code() == grpc.StatusCode.PERMISSION_DENIED
    assert keyed.control.GetLimits(empty, metadata=bearer(ADMIN)).max_running == 64


def test_control_is_not_on_the_inference_port(daemon):
    elsewhere = control_grpc.ControlStub(daemon.channel)
    assert refusal(elsewhere.GetLimits, control_pb.GetLimitsRequest()).code() == grpc.StatusCode.UNIMPLEMENTED
    stub = pb_grpc.InferenceStub(grpc.insecure_channel(daemon.admin_address))
    assert refusal(stub.GetModel, pb.GetModelRequest()).code() == grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("options, words", [
    (("--set", "security.api_keys_path=/nowhere/keys"), ("security.api_keys_path", "/nowhere/keys")),
    (("--set", "security.tls_cert_path=/nowhere/cert.pem", "--set", "security.tls_key_path=/nowhere/key.pem"), ("security.tls_cert_path", "/nowhere/cert.pem")),
], ids=["keys", "certificate"])
def test_files_that_are_missing_stop_the_start(options, words):
    code, lines, _ = run_sluiced("--model", "/nowhere/model.gguf", *FREE_PORTS, *options)
    assert code == 1 and all(word in lines[-1] for word in words), lines


@pytest.mark.parametrize("options, word", [
    (("--admin-listen", "0.0.0.0:0"), "server.admin_listen"),
    (("--set", "security.tls_cert_path=/a"), "security.tls_key_path"),
    (("--set", "security.tls_client_ca_path=/a"), "security.tls_cert_path"),
], ids=["open_control", "no_key", "no_certificate"])
def test_half_a_configuration_is_refused(options, word):
    code, lines, _ = run_sluiced("--model", "/nowhere/model.gguf", *FREE_PORTS, *options)
    assert code == 2 and word in lines[-1], lines


# --- what one gRPC client may take ---------------------------------------------------------------------------------------------------------------


def test_a_connection_has_so_many_calls_at_a_time(start):
    daemon = start({"server": {"grpc_max_streams": 1}})
    stream = daemon.stub.StreamComplete(make_request("Hi", max_tokens=4000, bias=FORCE_NO))
    next(stream)
    with pytest.raises(grpc.RpcError) as caught:
        daemon.stub.GetModel(pb.GetModelRequest(), timeout=1)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert pb_grpc.InferenceStub(daemon.new_channel()).GetModel(pb.GetModelRequest(), timeout=20 * PATIENCE).name
    stream.cancel()
    assert daemon.stub.GetModel(pb.GetModelRequest(), timeout=20 * PATIENCE).name


def test_metadata_has_a_limit(daemon):
    request = make_request("Hi", max_tokens=1)
    # A connection of its own: gRPC may close one whose header it could not read to the end.
    offender = pb_grpc.InferenceStub(daemon.new_channel())
    offender.Complete(request, metadata=[("x-note", "a" * 8000)], timeout=20 * PATIENCE)
    stream = daemon.stub.StreamComplete(make_request("Hi", max_tokens=200, bias=FORCE_NO), timeout=60 * PATIENCE)
    next(stream)
    error = refusal(offender.Complete, request, metadata=[("x-note", "a" * 20000)])
    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert list(stream)[-1].finished.usage.completion_tokens == 200
    daemon.stub.Complete(request, timeout=20 * PATIENCE)


def test_a_connection_without_calls_is_closed(start):
    daemon = start({"server": {"grpc_idle_timeout_ms": 1000}})
    channel = daemon.new_channel()
    states = []
    channel.subscribe(states.append)
    pb_grpc.InferenceStub(channel).GetModel(pb.GetModelRequest(), timeout=20 * PATIENCE)
    deadline = time.monotonic() + 10 * PATIENCE
    while not states or states[-1] != grpc.ChannelConnectivity.IDLE or grpc.ChannelConnectivity.READY not in states:
        assert time.monotonic() < deadline, states
        time.sleep(0.05)
    pb_grpc.InferenceStub(channel).GetModel(pb.GetModelRequest(), timeout=20 * PATIENCE)


# --- TLS ----------------------------------------------------------------------------------------------------------------------------------------


class Certificates:
    """An authority, a daemon's certificate of it, and the files."""

    def __init__(self, folder):
        self.authority, self.folder = trustme.CA(), folder
        self.ca, self.cert, self.key = folder / "ca.pem", folder / "cert.pem", folder / "key.pem"
        self.authority.cert_pem.write_to_path(self.ca)
        self.renew()

    def renew(self):
        leaf = self.authority.issue_cert("127.0.0.1", "localhost")
        self.key.write_bytes(leaf.private_key_pem.bytes())
        self.cert.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))

    def config(self, **more):
        return {"security": {"tls_cert_path": str(self.cert), "tls_key_path": str(self.key), **more}}

    def credentials(self, client=None):
        root = self.ca.read_bytes()
        if client is None:
            return grpc.ssl_channel_credentials(root)
        chain = b"".join(blob.bytes() for blob in client.cert_chain_pems)
        return grpc.ssl_channel_credentials(root, client.private_key_pem.bytes(), chain)

    def context(self, client=None):
        context = ssl.create_default_context(cafile=self.ca)
        if client is not None:
            client.configure_cert(context)
        return context


def https(daemon, path, context):
    with urllib.request.urlopen(f"https://{daemon.http_address}{path}", timeout=20 * PATIENCE, context=context) as answer:
        return answer.read().decode()


def secure_stub(daemon, credentials):
    return pb_grpc.InferenceStub(grpc.secure_channel(daemon.grpc_address, credentials))


def https_complete(daemon, context, stream=False):
    body = json.dumps({"prompt": "Hi", "max_tokens": 3, "logit_bias": {str(k): v for k, v in FORCE_NO.items()}, "stream": stream}).encode()
    request = urllib.request.Request(f"https://{daemon.http_address}/v1/completions", body)
    with urllib.request.urlopen(request, timeout=20 * PATIENCE, context=context) as answer:
        return answer.read().decode()


def test_every_listener_speaks_tls_and_nothing_else(start, tmp_path):
    certificates = Certificates(tmp_path)
    daemon = start(certificates.config())
    answer = secure_stub(daemon, certificates.credentials()).Complete(make_request("Hi", max_tokens=3, bias=FORCE_NO), timeout=20 * PATIENCE)
    assert answer.choices[0].text == " no no no"
    control = control_grpc.ControlStub(grpc.secure_channel(daemon.admin_address, certificates.credentials()))
    assert control.GetLimits(control_pb.GetLimitsRequest(), timeout=20 * PATIENCE).max_running == 64
    context = certificates.context()
    assert https(daemon, "/readyz", context) == "ready\n"
    assert json.loads(https_complete(daemon, context))["choices"][0]["text"] == " no no no"
    assert https_complete(daemon, context, stream=True).rstrip().endswith("data: [DONE]")
    assert refusal(daemon.stub.GetModel, pb.GetModelRequest()).code() == grpc.StatusCode.UNAVAILABLE
    with pytest.raises(OSError):
        urllib.request.urlopen(f"http://{daemon.http_address}/readyz", timeout=20 * PATIENCE)
    with pytest.raises(urllib.error.URLError):
        https(daemon, "/readyz", ssl.create_default_context())
    old = certificates.context()
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with pytest.raises(urllib.error.URLError):
        https(daemon, "/readyz", old)


def test_a_client_certificate_is_wanted_when_its_authority_is_named(start, tmp_path):
    certificates = Certificates(tmp_path)
    daemon = start(certificates.config(tls_client_ca_path=str(certificates.ca)))
    known = certificates.authority.issue_cert("client@sluice")
    stranger = trustme.CA().issue_cert("client@elsewhere")
    secure_stub(daemon, certificates.credentials(known)).GetModel(pb.GetModelRequest(), timeout=20 * PATIENCE)
    assert https(daemon, "/readyz", certificates.context(known)) == "ready\n"
    for client in (None, stranger):
        stub = secure_stub(daemon, certificates.credentials(client))
        assert refusal(stub.GetModel, pb.GetModelRequest()).code() == grpc.StatusCode.UNAVAILABLE
        with pytest.raises(OSError):
            https(daemon, "/readyz", certificates.context(client))


def test_sessions_with_a_client_certificate_are_resumed(start, tmp_path):
    certificates = Certificates(tmp_path)
    daemon = start(certificates.config(tls_client_ca_path=str(certificates.ca)))
    context = certificates.context(certificates.authority.issue_cert("client@sluice"))
    host, port = daemon.http_address.rsplit(":", 1)

    def ask(session):
        with socket.create_connection((host, int(port)), timeout=20 * PATIENCE) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as tls:
                tls.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                assert tls.recv(4096).startswith(b"HTTP/1.1 200 ")
                return tls.session, tls.session_reused

    first, _ = ask(None)
    assert first is not None and ask(first)[1] in (True, False)


def test_who_shakes_no_hands_makes_room(start, tmp_path):
    certificates = Certificates(tmp_path)
    daemon = start({**certificates.config(), "server": {"http_max_connections": 8}})
    host, port = daemon.http_address.rsplit(":", 1)
    silent = [socket.create_connection((host, int(port))) for _ in range(16)]
    for _ in range(3):
        assert https(daemon, "/readyz", certificates.context()) == "ready\n"
    for connection in silent:
        connection.close()


def test_an_older_certificate_is_a_change_too(start, tmp_path):
    certificates = Certificates(tmp_path)
    daemon = start(certificates.config(tls_client_ca_path=str(certificates.ca)))
    certificates.renew()
    for path in (certificates.cert, certificates.key):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    daemon.wait_line("read the TLS files again")


def test_a_renewed_certificate_is_taken_up_without_a_restart(start, tmp_path):
    certificates = Certificates(tmp_path)
    daemon = start(certificates.config())
    host, port = daemon.http_address.rsplit(":", 1)
    first = ssl.get_server_certificate((host, int(port)))
    certificates.renew()
    deadline = time.monotonic() + 30 * PATIENCE
    grpc_host, grpc_port = daemon.grpc_address.rsplit(":", 1)
    for address in ((host, int(port)), (grpc_host, int(grpc_port))):
        while ssl.get_server_certificate(address) == first:
            assert time.monotonic() < deadline, address
            time.sleep(0.2)
    certificates.cert.write_text("no certificate")
    daemon.signal(signal.SIGHUP)
    daemon.wait_line("the TLS files stay as they were")
    assert https(daemon, "/readyz", certificates.context()) == "ready\n"


def test_a_handshake_that_never_ends_holds_nobody_up(start, tmp_path):
    certificates = Certificates(tmp_path)
    daemon = start({**certificates.config(), "server": {"http_request_timeout_ms": 1000}})
    host, port = daemon.http_address.rsplit(":", 1)
    silent = [socket.create_connection((host, int(port))) for _ in range(20)]
    silent[0].sendall(b"\x16\x03\x01\x02\x00\x01")
    assert https(daemon, "/readyz", certificates.context()) == "ready\n"
    silent[1].settimeout(10 * PATIENCE)
    assert silent[1].recv(1) == b""
    for connection in silent:
        connection.close()
