"""A closed loop of streaming HTTP requests that costs little: one thread, raw sockets, no parsing before the end.

It shares its cores with the server it measures, as sluice-bench does.
"""

import json
import selectors
import socket
import time

from timings import Timings

EVENT = b"data: "


class Stream:
    """One POST whose answer is a stream of server-sent events; the connection ends with it."""

    def __init__(self, address, path, body):
        self.socket = socket.create_connection(address)
        self.sent = time.perf_counter()
        self.first = self.last = None
        self._answer = bytearray()
        head = (f"POST {path} HTTP/1.1\r\nHost: {address[0]}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n")
        self.socket.sendall(head.encode() + body)

    def receive(self):
        """Takes what is there. False at the end of the answer."""
        data = self.socket.recv(65536)
        if not data:
            self.socket.close()
            return False
        begin = max(0, len(self._answer) - len(EVENT))  # the pieces cut where they like
        self._answer += data
        if self._answer.find(EVENT, begin) >= 0:
            self.last = time.perf_counter()
            self.first = self.first or self.last
        return True

    def last_event(self):
        """The last event's object. RuntimeError with the answer when there is none."""
        text = bytes(self._answer)
        start = text.rfind(EVENT + b"{")
        if start < 0:
            raise RuntimeError(f"no events in the answer: {text[:500].decode(errors='replace')}")
        return json.JSONDecoder().raw_decode(text[start + len(EVENT):].decode())[0]


def run_closed_loop(address, path, bodies, streams_max, token_count):
    """Keeps `streams_max` requests in flight until all bodies were answered. `token_count` reads an answer's last event."""
    waiting, done = list(reversed(bodies)), []
    start = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        def send_next():
            if waiting:
                stream = Stream(address, path, waiting.pop())
                selector.register(stream.socket, selectors.EVENT_READ, stream)

        for _ in range(streams_max):
            send_next()
        while selector.get_map():
            for key, _ in selector.select():
                if not key.data.receive():
                    selector.unregister(key.fileobj)
                    done.append(key.data)
                    send_next()
    duration_s = time.perf_counter() - start
    return Timings.of_requests(((s.sent, s.first, s.last, token_count(s.last_event())) for s in done), duration_s)
