"""A headless Chromium that opens pages from disk and says what it saw: errors, requests, pixels, values of JavaScript.

It is driven by the DevTools protocol over two pipes (`--remote-debugging-pipe`: it reads messages from its file descriptor 3 and
writes them to 4, each ended by a zero byte). No name is resolved, so no page can get anything from outside.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
SILENCE = 60.0  # s
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
        """Ask, and wait for the answer."""
        asked = self.send(method, session, parameters)
        while (answer := self.receive()).get("id") != asked:
            self.keep(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def send(self, method: str, session: str | None, parameters: dict[str, Any]) -> int:
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        data = json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data) :]
        return self.count

    def keep(self, message: dict[str, Any]) -> None:
        """Keep an event; a dialog, which would stop its page, is closed."""
        if "method" in message:
            self.events.append(message)
        if message.get("method") == "Page.javascriptDialogOpening":
            self.send("Page.handleJavaScriptDialog", message["sessionId"], {"accept": True})

    def receive(self) -> dict[str, Any]:
        """The next message; where none comes for a minute, an error."""
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], SILENCE)[0]:
                raise RuntimeError(f"Chromium has said nothing for {SILENCE:g} s")
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium has ended")
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def wait_for(self, method: str) -> None:
        """Until this event has arrived, now or before."""
        while not any(event["method"] == method for event in self.events):
            self.keep(self.receive())


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
    (back, their_out), (their_in, to) = _pipe(), _pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = os.posix_spawn(
            CHROMIUM,
            [CHROMIUM, *FLAGS, f"--user-data-dir={profile}"],
            os.environ,
            file_actions=[
                *((os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)),
                (os.POSIX_SPAWN_DUP2, their_in, 3),
                (os.POSIX_SPAWN_DUP2, their_out, 4),
            ],
        )
        os.close(their_in)
        os.close(their_out)
        try:
            connection = Connection(to, back)
            yield Browser(connection)
            connection.call("Browser.close")
        except BaseException:
            os.kill(process, signal.SIGKILL)
            raise
        finally:
            os.waitpid(process, 0)
            os.close(to)
            os.close(back)


def _pipe() -> tuple[int, int]:
    """Its ends, to read from and to write to, with numbers that are not among those Chromium expects them at."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
