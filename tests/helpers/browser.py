"""A headless Chromium that opens pages from disk and says what it saw: errors, requests, pixels, values of JavaScript.

It is driven by the DevTools protocol over two pipes (`--remote-debugging-pipe`: it reads messages from its file descriptor 3 and
writes them to 4, each ended by a zero byte). No name is resolved, so no page can get anything from outside.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
NO_CHROMIUM = "there is no `chromium` on the PATH (on Debian: apt-get install chromium)"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)


class Connection:
    """Requests and answers of the DevTools protocol; what arrives unasked is kept in `events`."""

    def __init__(self, to: int, back: int):
        self.to, self.back, self.count, self.buffer = to, back, 0, b""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        data = json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data) :]
        while (answer := self.receive()).get("id") != self.count:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def receive(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium has ended")
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def wait_for(self, method: str) -> None:
        """Until this event has arrived, now or before."""
        while not any(event["method"] == method for event in self.events):
            self.events.append(self.receive())


@dataclass
class Page:
    """An open page."""

    connection: Connection
    session: str
    size: tuple[int, int] = field(default=(1366, 768))  # a laptop's

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.connection.call(method, self.session, **parameters)

    def evaluate(self, script: str) -> Any:
        """The value of an expression, of a promise when it is kept."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", "an error in the script"))
        return answer["result"].get("value")

    def screenshot(self, clip: dict[str, float] | None = None) -> bytes:
        """A PNG of the whole page, or of a rectangle of it {x, y, width, height}."""
        if clip is None:
            width, height = self.evaluate(
                "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
            )
            clip = {"x": 0, "y": 0, "width": width, "height": height}
        shot = self.call("Page.captureScreenshot", clip=clip | {"scale": 1}, captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def requests(self) -> list[str]:
        """Addresses that the page has asked for, beyond itself and what it contains."""
        asked = [
            event["params"]["request"]["url"]
            for event in self.connection.events
            if event["method"] == "Network.requestWillBeSent" and event.get("sessionId") == self.session
        ]
        return [url for url in asked[1:] if not url.startswith(("data:", "blob:"))]

    def errors(self) -> list[str]:
        """Errors and warnings on the console, exceptions that nothing caught, and dialogs."""
        found = []
        for event in self.connection.events:
            said = event.get("params", {})
            if event.get("sessionId") != self.session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(said["exceptionDetails"]))
            elif event["method"] == "Runtime.consoleAPICalled" and said["type"] in ("error", "assert", "warning"):
                found.append(" ".join(str(it.get("value", it.get("description"))) for it in said["args"]))
            elif event["method"] == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
                found.append(said["entry"]["text"])
            elif event["method"] == "Page.javascriptDialogOpening":
                found.append(f"a dialog: {said['message']}")
        return found


@dataclass
class Browser:
    """A running Chromium."""

    connection: Connection

    def open(self, path: Path, before: str = "") -> Page:
        """Load a page; the script `before` runs ahead of its own."""
        self.connection.events.clear()
        target = self.connection.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.connection.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self.connection, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        width, height = page.size
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        if before:
            page.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        self.connection.events.clear()
        page.call("Page.navigate", url=path.resolve().as_uri())
        self.connection.wait_for("Page.loadEventFired")
        page.evaluate("new Promise(done => requestIdleCallback(done))")
        return page


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium with a profile of its own; end it afterwards."""
    assert CHROMIUM, NO_CHROMIUM
    (read_ours, theirs_out), (theirs_in, write_ours) = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            # The shell gives the pipes the numbers that Chromium expects.
            [
                "sh",
                "-c",
                f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}',
                "sh",
                CHROMIUM,
                *FLAGS,
                f"--user-data-dir={profile}",
            ],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        connection = Connection(write_ours, read_ours)
        try:
            yield Browser(connection)
            connection.call("Browser.close")
        finally:
            os.close(write_ours)
            os.close(read_ours)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
