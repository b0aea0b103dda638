"""Lets the tests import the modules of bench/peers, which are a program and no package."""

import pathlib
import socket
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/peers"))


@pytest.fixture
def piecemeal_server():
    """Starts a server that answers every connection with these pieces, each in a packet of its own, and gives its address."""
    listeners = []

    def serve(listener, pieces):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # closed: the test is over
                return
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.recv(65536)
                for piece in pieces:
                    connection.sendall(piece)

    def start(pieces):
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=serve, args=(listener, pieces), daemon=True).start()
        return listener.getsockname()

    yield start
    for listener in listeners:
        listener.close()
