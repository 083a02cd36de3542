"""A real browser that a test looks with, types into and clicks in, by Chromium's debugging protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from sluice.clock import SystemClock
from sluice.launch.processes import wait_until
from tests.waiting import eventually

DEADLINE_SECONDS = 120.0
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--window-size=1400,1200",
    "--remote-debugging-port=0",
)
_KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}


class Browser:
    """One tab."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._last = 0
        self.errors: list[str] = []

    def collect_errors(self) -> None:
        """Keep what the browser complains of from now on in `errors`: exceptions, refused loads, broken policies."""
        for domain in ("Runtime", "Log", "Page"):
            self._call(f"{domain}.enable")

    def show_as(self, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Be a window of this size, of somebody who likes it dark or light."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def press(self, key: str) -> None:
        """Press a key such as `Tab` or `Enter`."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            code = _KEYS[key]
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def open(self, url: str) -> None:
        """Go to an address."""
        self._call("Page.enable")
        self._call("Page.navigate", url=url)

    def text(self) -> str:
        """Return what is to be read on the page."""
        return str(self.value("document.body ? document.body.innerText : ''"))

    def value(self, expression: str) -> Any:  # noqa: ANN401 - JSON
        """Return the value of an expression of JavaScript."""
        result = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true."""
        holds = wait_until(
            lambda: bool(self.value(f"Boolean({expression})")), SystemClock(), deadline_seconds=DEADLINE_SECONDS
        )
        assert holds, f"{expression} is not true on this page:\n{self.text()}"

    def click(self, selector: str) -> None:
        """Click into the middle of the element that a selector names, once it is enabled, at rest and not covered.

        A page that is still being built moves its parts, and a click where a button was goes into the void.
        """
        element = f"document.querySelector({json.dumps(selector)})"
        self.wait_for(f"{element} && !{element}.disabled")
        self.value(f"{element}.scrollIntoView({{block: 'center'}})")
        boxes = [self._middle(element)]

        def at_rest() -> bool:
            boxes.append(self._middle(element))
            x, y = boxes[-1]["x"], boxes[-1]["y"]
            return boxes[-1] == boxes[-2] and self.value(f"{element}.contains(document.elementFromPoint({x}, {y}))")

        eventually(at_rest, f"{selector} never rests", seconds=DEADLINE_SECONDS)
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, **boxes[-1], button="left", clickCount=1)

    def _middle(self, element: str) -> dict[str, float]:
        middle: dict[str, float] = self.value(
            f"(r => ({{x: r.x + r.width / 2, y: r.y + r.height / 2}}))({element}.getBoundingClientRect())"
        )
        return middle

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self._call("Input.insertText", text=text)

    def screenshot(self, file: Path, *, whole: bool = True) -> None:
        """Keep what is to be seen as PNG: the whole page, or what is in the window."""
        found = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(found["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        self._last += 1
        self._connection.send(json.dumps({"id": self._last, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._connection.recv(timeout=DEADLINE_SECONDS))
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self._hear(answer)

    def _hear(self, event: dict[str, Any]) -> None:
        said = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(str(said["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if said["type"] in {"error", "warning"}:
                self.errors.append(str(said["args"]))
            case "Log.entryAdded" if said["entry"]["level"] == "error":
                self.errors.append(str(said["entry"]))


@contextmanager
def running_browser(profile: Path) -> Iterator[Browser]:
    """Run Chromium with a profile of its own; on the way out it is gone.

    A required test that lacks it fails and says so.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert chromium, "Chromium is needed: apt-get install chromium"
    process = subprocess.Popen(
        [chromium, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = profile / "DevToolsActivePort"
        assert wait_until(
            lambda: port.is_file() and bool(port.read_text().strip()), SystemClock(), deadline_seconds=DEADLINE_SECONDS
        ), "Chromium does not say where it listens"
        address = f"http://127.0.0.1:{port.read_text().split()[0]}/json/list"
        with urllib.request.urlopen(address) as answer:
            (page,) = [target for target in json.load(answer) if target["type"] == "page"]
        with connect(page["webSocketDebuggerUrl"], max_size=None) as connection:
            yield Browser(connection)
    finally:
        process.terminate()
        process.wait(20)
