"""A process that we started, with its errors kept, and that ends with us."""

import signal
import socket
import subprocess
import tempfile

STOP_PATIENCE_S = 30


def free_port():
    """For servers that can't pick one themselves."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Child:
    """Runs from construction to stop()."""

    def __init__(self, command, stdin=None, stdout=None):
        self._name = str(command[0]).rsplit("/", 1)[-1]
        self._stderr = tempfile.TemporaryFile()
        # A group of its own: Ctrl-C reaches this script alone, which then stops its children in order.
        self.process = subprocess.Popen(list(map(str, command)), stdin=stdin or subprocess.DEVNULL, stdout=stdout or subprocess.DEVNULL,
                                        stderr=self._stderr, start_new_session=True, text=True, bufsize=1)

    def read_line(self):
        """The next line of its output. RuntimeError with what it last said when it ended instead."""
        line = self.process.stdout.readline()
        if not line:
            raise self.failure("ended early")
        return line

    def has_ended(self):
        return self.process.poll() is not None

    def failure(self, what):
        code = self.process.poll()
        if code is not None:
            what += f" (exit code {code})"
        self._stderr.seek(0)
        said = self._stderr.read().decode(errors="replace").splitlines()[-8:]
        return RuntimeError("\n  ".join([f"{self._name} {what}; its last words:", *said]))

    def stop(self):
        if not self.has_ended():
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self._stderr):
            if pipe:
                pipe.close()


def run_to_end(command):
    """The standard output of a command. RuntimeError with its last words when it fails."""
    child = Child(command, stdout=subprocess.PIPE)
    try:
        output = child.process.stdout.read()
        if child.process.wait() != 0:
            raise child.failure("failed")
        return output
    finally:
        child.stop()
