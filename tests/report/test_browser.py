"""The page in a real browser: all of it is seen, at a desk and on a phone, and nothing leaves it.

The browser is a headless Chromium, driven over its debugging pipe: JSON with a zero byte behind each message, written
to its descriptor 3 and read from its 4.  Reference: https://chromedevtools.github.io/devtools-protocol/
"""

import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from hecka.report.page import page

FLAGS = (
    "--headless",
    "--no-sandbox",  # it could not start as root, as which many a container runs tests
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",  # containers have little of it
    "--remote-debugging-pipe",
)
PATIENCE = 120  # seconds; a loaded machine takes a while to start a browser


def find():
    """The browser's path, or None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One tab; ``events`` are what it reported, in order."""

    def __init__(self, program, profile):
        commands_out, self._commands = os.pipe()
        self._answers, answers_in = os.pipe()
        # The shell moves both pipes to the numbers at which the browser looks for them.
        line = f'exec "$0" "$@" 3<&{commands_out} 4>&{answers_in}'
        self._process = subprocess.Popen(
            ["bash", "-c", line, program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(commands_out, answers_in),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands_out)
        os.close(answers_in)
        self._buffer, self._last, self._session, self.events = b"", 0, None, []
        page = next(each for each in self.ask("Target.getTargets")["targetInfos"] if each["type"] == "page")
        attached = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method, **params):
        """The browser's answer to one command."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width, height=900, phone=False):
        """Load the file at ``path`` in a window of this size, and wait until it is all there."""
        self.events.clear()
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        self.ask("Page.navigate", url=Path(path).resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def value(self, expression):
        """What a JavaScript expression is in the page."""
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"]["value"]

    def methods(self, name):
        """The parameters of all events called ``name``."""
        return [event["params"] for event in self.events if event.get("method") == name]

    def close(self):
        """End this browser, and no other."""
        os.close(self._commands)  # which is how it is told to go
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._answers)

    def _read(self):
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, until - time.monotonic()))
            block = os.read(self._answers, 1 << 16) if ready else b""
            if not block:
                raise RuntimeError(f"chromium: expected an answer, got none; exit status {self._process.poll()}")
            self._buffer += block
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = find()
    if program is None:
        pytest.skip("needs Chromium; CONTRIBUTING.md says how to get it")
    started = Browser(program, tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture
def path(tmp_path, make_run):
    runs = [
        make_run("a-package/with-a-rather-long-name-of-a-recipe", 0, density=True, notes=["a note " * 20]),
        make_run("second", 1, members=1, budget=0.1),
        make_run("third", 2, layers=17),
    ]
    path = tmp_path / "report.html"
    path.write_text(page(runs), encoding="utf-8")
    return path


# The page is wider than the window; a picture has no size on the screen, or its data did not become an image.
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
EMPTY = """[...document.querySelectorAll('svg, img')].filter(each => {
    const box = each.getBoundingClientRect();
    return box.width < 40 || box.height < 40 || (each.tagName == 'IMG' && !(each.complete && each.naturalWidth));
}).length"""
# Text of a chart that leaves its picture, and letters that nobody could read.
OUTSIDE = """[...document.querySelectorAll('svg text')].filter(each => {
    const own = each.getBoundingClientRect(), all = each.ownerSVGElement.getBoundingClientRect();
    return own.left < all.left - 1 || own.right > all.right + 1 || own.top < all.top - 1 || own.bottom > all.bottom + 1;
}).map(each => each.textContent)"""
SMALLEST = "Math.min(...[...document.querySelectorAll('svg text')].map(each => each.getBoundingClientRect().height))"


@pytest.mark.slow
@pytest.mark.parametrize(("width", "phone"), [(1280, False), (360, True)], ids=["desk", "phone"])
def test_everything_is_seen_and_nothing_is_asked_for(browser, path, width, phone):
    browser.open(path, width, phone=phone)
    assert browser.value("document.querySelectorAll('svg').length") == 3 + 3 + 3 + 2 + 2
    assert browser.value("document.images.length") == 3 * 2 * 2 * 3
    assert browser.value(EMPTY) == 0
    assert browser.value(TOO_WIDE) == 0
    assert browser.value(OUTSIDE) == []
    assert browser.value(SMALLEST) > 8
    asked = {request["request"]["url"].partition(":")[0] for request in browser.methods("Network.requestWillBeSent")}
    assert asked <= {"file", "data"}
    files = [each["request"]["url"] for each in browser.methods("Network.requestWillBeSent")]
    assert [url for url in files if url.startswith("file:")] == [path.as_uri()]
    for kind in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
        assert browser.methods(kind) == []


@pytest.mark.slow
def test_a_wide_table_scrolls_in_its_own_box(browser, path):
    browser.open(path, 360, phone=True)
    box = "document.querySelector('#scores .wide')"
    assert browser.value(f"{box}.scrollWidth > {box}.clientWidth + 50")
    assert browser.value(f"getComputedStyle({box}).overflowX") == "auto"


@pytest.mark.slow
def test_what_would_go_wrong_is_noticed(browser, path):
    """The checks above can fail: each finds what it is there for."""
    broken = path.read_text(encoding="utf-8").replace("; img-src data:", "; img-src data: http:")
    broken = broken.replace("<main>", "<main><img src='http://127.0.0.1:9/x.png'><div style='width:3000px'>x</div>", 1)
    path.write_text(broken, encoding="utf-8")
    browser.open(path, 360)
    assert browser.value(EMPTY) == 1
    assert browser.value(TOO_WIDE) > 2000
    asked = [request["request"]["url"] for request in browser.methods("Network.requestWillBeSent")]
    assert "http://127.0.0.1:9/x.png" in asked
    assert browser.methods("Log.entryAdded")


@pytest.mark.slow
def test_paper_shows_what_is_folded_away(browser, path):
    browser.open(path, 1280)
    height = "document.querySelector('#settings details').getBoundingClientRect().height"
    folded = browser.value(height)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    printed = browser.value(height)
    browser.ask("Emulation.setEmulatedMedia", media="")
    assert folded < 60  # one line, of letters of whatever size
    assert printed > 4 * folded


@pytest.mark.slow
def test_dark_is_dark_and_light_is_light(browser, path):
    grounds = []
    for scheme in ("light", "dark"):
        browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.open(path, 800)
        grounds.append(browser.value("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)"))
    browser.ask("Emulation.setEmulatedMedia", features=[])
    assert min(grounds[0]) > 240
    assert max(grounds[1]) < 40
