"""A real headless Chromium, driven over two pipes: no driver, no port, no package.

Tests that need it are skipped with the reason if it is missing (`apt-get install chromium`).
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *.localhost",
)

AS_3_AND_4 = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The browser reads commands from descriptor 3 and answers on 4."""


def executable() -> str:
    """Return the path of the browser; skip the test without one."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium here: apt-get install chromium, or set CHROMIUM to one")
    return found


class Tab:
    """One page of the browser."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive = send, receive
        self._number, self._buffer = 0, b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call the browser and return its answer; `events` collects what happens in the meantime."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            data = os.read(self._receive, 1 << 20)
            assert data, "the browser is gone"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def open(self, page: Path | str) -> None:
        """Load a file or an address, and wait until it is loaded."""
        self.events.clear()
        self.call("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        while not any(each.get("method") == "Page.loadEventFired" for each in self.events):
            self.events.append(self._next())

    def run(self, code: str) -> Any:
        """Run some JavaScript and return its value, or that of its promise."""
        done = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until a JavaScript expression is true, at most fifteen seconds; the page may change meanwhile."""
        end = time.monotonic() + 15
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < end, f"never true: {condition}"
            time.sleep(0.05)

    def frame(self) -> None:
        """Wait until the page is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def show(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        """Set the size of the window, the colour scheme, and whether it is a phone."""
        size: Mapping[str, Any] = {"width": width, "height": height}
        self.call(
            "Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=2 if phone else 1, mobile=phone
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.frame()

    def press(self, key: str, *, code: str = "", number: int = 0, shift: bool = False) -> None:
        """Press a key, as a person would."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        named = {"key": key, "code": code or key, "windowsVirtualKeyCode": number, "modifiers": 8 * shift}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **named, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)
        self.frame()


@contextmanager
def browser() -> Iterator[Tab]:
    """Run a browser with one page."""
    program = executable()
    to_read, to_write = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read[0], to_write[1])]
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                AS_3_AND_4,
                *map(str, theirs),
                program,
                *FLAGS,
                f"--user-data-dir={profile}",
            ],
            pass_fds=theirs,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", ""), "HOME": profile},
        )
        for end in (to_read[0], to_write[1], *theirs):
            os.close(end)
        try:
            yield Tab(to_read[1], to_write[0])
        finally:
            process.kill()
            process.wait()
            os.close(to_read[1])
            os.close(to_write[0])
