"""A headless Chromium that looks at the live page, and load for it to show."""

import base64
import contextlib
import json
import os
import pathlib
import threading

import grpc
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from conftest import BIN, PATIENCE, make_request

DESKTOP, PHONE = (1280, 900), (360, 740)
SCREENSHOTS = pathlib.Path(BIN).parent / "screenshots"


def start_chromium():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                     "--disable-component-update", "--no-first-run", "--no-proxy-server", "--lang=en"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver", env={**os.environ, "LC_ALL": "C.UTF-8"}))


class Page:
    """The live page of one daemon in the browser."""

    def __init__(self, driver, server):
        self.driver, self.server = driver, server
        self.may_complain = False  # the browser, to its console
        self.drain_logs()
        self.resize(DESKTOP)
        self.prefer("light")
        self.driver.get(f"http://{server.http_address}/")
        self.until(lambda: self.text("model") not in ("", "…"))

    def resize(self, size):
        width, height = size
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})

    def prefer(self, scheme, motion="no-preference"):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion}]})

    def run(self, script, *args):
        return self.driver.execute_script(script, *args)

    def text(self, name):
        return self.run("return document.getElementById(arguments[0]).textContent", name)

    def number(self, name):
        """The number a place shows, without its unit; None while it shows a dash."""
        text = self.text(name).replace(",", "")
        digits = "".join(c for c in text if c.isdigit() or c == ".")
        return float(digits) if digits else None

    def numbers(self, *names):
        """Several numbers in one look."""
        texts = self.run("return [...arguments].map((name) => document.getElementById(name).textContent.replaceAll(',', ''))", *names)
        return [float(text) if text != "–" else None for text in texts]

    def milliseconds(self, name):
        value = self.number(name)
        return value if value is None or self.text(name).endswith("ms") else value * 1000

    def click(self, name):
        self.run("document.getElementById(arguments[0]).click()", name)

    def set(self, name, value):
        self.run("document.getElementById(arguments[0]).value = arguments[1]", name, value)

    def until(self, condition, seconds=20):
        return WebDriverWait(self.driver, seconds * PATIENCE, poll_frequency=0.1).until(lambda _: condition())

    def shoot(self, name):
        """The whole page, however long, as build/<preset>/screenshots/NAME.png."""
        SCREENSHOTS.mkdir(exist_ok=True)
        width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}})
        (SCREENSHOTS / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))

    def console(self):
        """What the console was told since it was last asked, for better or worse."""
        return [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def requested(self):
        """Every address that was asked for since the last look."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"]

    def drain_logs(self):
        self.driver.get_log("browser")
        self.driver.get_log("performance")


@contextlib.contextmanager
def load(server, streams):
    """So many streams at any time, whose prompts have nothing in common, until the block ends."""
    stopping, calls, lock = threading.Event(), set(), threading.Lock()

    def keep_asking(worker):
        turn = 0
        while not stopping.is_set():
            turn += 1
            prompt = [(7 * worker + 13 * turn + 31 * i) % 2000 + 100 for i in range(20 + 60 * (turn % 3))]
            call = server.stub.StreamComplete(make_request(ids=prompt, max_tokens=60 + 20 * worker, ignore_eos=True, temperature=1.0))
            with lock:
                calls.add(call)
            try:
                for _ in call:
                    pass
            except grpc.RpcError:
                pass
            with lock:
                calls.discard(call)

    threads = [threading.Thread(target=keep_asking, args=(worker,)) for worker in range(streams)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        with lock:
            for call in calls:
                call.cancel()
        for thread in threads:
            thread.join()
