"""What the parts of a check found, in a file that is complete after each of them."""

import json
import pathlib
import time


class Skipped(Exception):
    """Why a part could not be tried. Not a failure of its own: whatever is missing fails in the part that looks for it."""


class Failed(Exception):
    """What a part found wrong."""

    def __init__(self, reason, figures=None):
        super().__init__(reason)
        self.figures = figures or {}


class Deadline:
    """A moment on time.monotonic()'s scale."""

    def __init__(self, seconds, within=None):
        self.moment = time.monotonic() + seconds
        if within is not None:
            self.moment = min(self.moment, within.moment)

    def left(self):
        return max(0.0, self.moment - time.monotonic())


class Report:
    """Runs parts one after the other and keeps what comes of them in FOLDER/device_check.json."""

    # A part that could not do anything in what is left isn't begun.
    LEAST_S = 3

    def __init__(self, folder, seconds):
        self.path = pathlib.Path(folder) / "device_check.json"
        self.deadline = Deadline(seconds)
        self.begin = time.monotonic()
        self.parts = []

    def run(self, name, timeout_s, part):
        """part(deadline) gives its figures, or raises. Nothing that it raises goes further."""
        begin = time.monotonic()
        result, reason, figures = "passed", None, None
        try:
            if self.deadline.left() < self.LEAST_S:
                raise Skipped("no time is left")
            figures = part(Deadline(timeout_s, self.deadline))
        except Skipped as why:
            result, reason = "skipped", str(why)
        except Failed as why:
            result, reason, figures = "failed", str(why), why.figures
        except Exception as error:  # a fault of this script's, which the other parts need not suffer for
            result, reason = "failed", f"{type(error).__name__}: {error}"
        seconds = round(time.monotonic() - begin, 1)
        self.parts.append({"part": name, "result": result, "reason": reason, "seconds": seconds, "figures": figures})
        self.write()
        print(f"{seconds:6.1f} s  {name}: {result}{f', {reason}' if reason else ''}", flush=True)
        return result == "passed"

    def figures(self, name):
        """Of a part that passed, else empty."""
        return next((part["figures"] or {} for part in self.parts if part["part"] == name and part["result"] == "passed"), {})

    def failed(self):
        return any(part["result"] == "failed" for part in self.parts)

    def write(self):
        whole = {"passed": not self.failed(), "seconds": round(time.monotonic() - self.begin, 1), "parts": self.parts}
        self.path.write_text(json.dumps(whole, indent=2) + "\n")
