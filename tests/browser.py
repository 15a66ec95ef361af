"""A real Chromium for the tests, driven over the DevTools protocol through a pair of pipes; no package is needed.

``Browser`` owns the process, ``Page`` one tab in a context of its own. Every wait has an end: a page that hangs fails
its test instead of the suite.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    # The network is blocked: no name but this machine's own is known.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)
SECONDS = 30.0
"""How long one command may take."""
PHONE = 600
"""Pages narrower than this many pixels are shown as a phone would: the page's own viewport declaration counts."""


class BrowserError(RuntimeError):
    """The browser or a script in a page said no."""


def find_browser() -> str | None:
    """Path of an installed Chromium or Chrome."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One headless Chromium with an empty profile; `close` ends it and everything it started."""

    def __init__(self, executable: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="s2oct-browser-")
        self._stderr = open(Path(self._profile) / "stderr.txt", "w+b")  # noqa: SIM115 (closed with the browser)
        commands, self._to_browser = os.pipe()
        self._from_browser, answers = os.pipe()
        # The browser reads its file descriptor 3 and writes to 4. A shell puts the pipes there, because neither
        # number need be free in this process.
        self._process = subprocess.Popen(
            [
                "sh",
                "-c",
                f'exec "$@" 3</dev/fd/{commands} 4>/dev/fd/{answers}',
                "sh",
                executable,
                *FLAGS,
                f"--user-data-dir={self._profile}/profile",
                "about:blank",
            ],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._stderr,
            start_new_session=True,
        )
        os.close(commands)
        os.close(answers)
        self._received = b""
        self._last_id = 0
        self._listeners: dict[str, Callable[[str, dict[str, Any]], None]] = {}
        try:
            self.version = self.command("Browser.getVersion")["product"]
        except BaseException:
            self.close()
            raise

    @contextmanager
    def page(
        self, path_or_url: str | Path, *, width: int = 1280, height: int = 900, dark: bool = False
    ) -> Iterator[Page]:
        """A loaded page in a fresh context, without cookies, cache or storage of the others."""
        context = self.command("Target.createBrowserContext")["browserContextId"]
        try:
            target = self.command("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
            session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            page = Page(self, session, width)
            self._listeners[session] = page.hear
            page.set_up(height, dark)
            page.goto(path_or_url)
            yield page
        finally:
            self._listeners.clear()
            with suppress(BrowserError, TimeoutError):
                self.command("Target.disposeBrowserContext", browserContextId=context)

    def command(self, method: str, *, session: str | None = None, seconds: float = SECONDS, **params: Any) -> Any:
        """Send one command and return its result; events that arrive before it are heard on the way."""
        self._last_id += 1
        message: dict[str, Any] = {"id": self._last_id, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        deadline = time.monotonic() + seconds
        self._send(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(deadline, method)
            if answer.get("id") == self._last_id:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error'].get('message')}")
                return answer["result"]

    def listen(self, deadline: float, what: str) -> None:
        """Wait for one message of any kind."""
        self._receive(deadline, what)

    def close(self) -> None:
        """Ask the browser to end, then make it, and remove its profile."""
        if self._process.poll() is None:
            with suppress(BrowserError, TimeoutError, OSError):
                self.command("Browser.close", seconds=3)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(3)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(10)
        for descriptor in (self._to_browser, self._from_browser):
            os.close(descriptor)
        self._stderr.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _send(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._to_browser, data) :]
        except BrokenPipeError as error:
            raise BrowserError(f"The browser has ended: {self._last_words()}") from error

    def _receive(self, deadline: float, what: str) -> dict[str, Any]:
        """The next message, after its page has heard it."""
        while b"\0" not in self._received:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._from_browser], [], [], left)[0]:
                raise TimeoutError(f"{what}: no answer from the browser in time.")
            chunk = os.read(self._from_browser, 1 << 20)
            if not chunk:
                raise BrowserError(f"The browser has ended: {self._last_words()}")
            self._received += chunk
        raw, self._received = self._received.split(b"\0", 1)
        message: dict[str, Any] = json.loads(raw)
        listener = self._listeners.get(message.get("sessionId", ""))
        if listener is not None and "method" in message:
            listener(message["method"], message["params"])
        return message

    def _last_words(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read()[-2000:].decode(errors="replace").strip()


class Page:
    """One tab: what it shows, what it complains of, and hands to click and type with."""

    def __init__(self, browser: Browser, session: str, width: int) -> None:
        self._browser, self._session, self._width = browser, session, width
        self.console_errors: list[str] = []
        """Console errors, uncaught exceptions and failed requests, in the order they happened."""
        self.requests: list[str] = []
        """Addresses of everything the page asked for, itself first; data: addresses are left out."""
        self._loads = 0
        self._under_way: dict[str, str] = {}

    def set_up(self, height: int, dark: bool) -> None:
        """Size and colour scheme, and the events to hear."""
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._command(f"{domain}.enable")
        phone = self._width < PHONE
        self._command(
            "Emulation.setDeviceMetricsOverride", width=self._width, height=height, deviceScaleFactor=1, mobile=phone
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._command("Emulation.setEmulatedMedia", features=[scheme])

    def goto(self, path_or_url: str | Path, seconds: float = SECONDS) -> None:
        """Open an address or a local file and wait until it is loaded and asks for nothing more."""
        text = str(path_or_url)
        is_url = text.startswith(("http://", "https://", "file:", "data:", "about:"))
        loads = self._loads
        opened = self._command("Page.navigate", url=text if is_url else Path(text).resolve().as_uri())
        if opened.get("errorText"):
            raise BrowserError(f"{text}: {opened['errorText']}")
        deadline = time.monotonic() + seconds
        while "loaderId" in opened and (self._loads == loads or self._under_way):
            self._browser.listen(deadline, f"loading {text}")
        # The load just heard may have been that of the page before.
        self.wait_for("document.readyState === 'complete'", deadline - time.monotonic())

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression, as JSON gives it; a promise is waited for."""
        answer = self._command("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(_complaint(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait_for(self, script: str, seconds: float = SECONDS) -> None:
        """Wait until a JavaScript expression is true."""
        deadline = time.monotonic() + seconds
        while True:
            with suppress(BrowserError):  # the page may just be leaving
                if self.evaluate(script):
                    return
            if time.monotonic() > deadline:
                raise TimeoutError(f"Not true in time: {script}")
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        """Press and release the mouse in the middle of an element."""
        x, y = self._middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self._command("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, selector: str, text: str) -> None:
        """Click into a field and type; what stands in it stays."""
        self.click(selector)
        for character in text:
            self._command("Input.dispatchKeyEvent", type="keyDown", text=character, key=character)
            self._command("Input.dispatchKeyEvent", type="keyUp", key=character)

    def insert(self, text: str) -> None:
        """Write a text where the cursor is, in place of what is selected."""
        self._command("Input.insertText", text=text)

    def overflow(self) -> int:
        """Pixels by which the page is wider than its window."""
        widest = "Math.max(document.documentElement.scrollWidth, document.body ? document.body.scrollWidth : 0)"
        return max(0, int(self.evaluate(widest)) - self._width)

    def screenshot(self, path: str | Path, full: bool = True) -> None:
        """Save a PNG of the whole page, or of the window."""
        options: dict[str, Any] = {"format": "png"}
        if full:
            size = self._command("Page.getLayoutMetrics")["cssContentSize"]
            options["captureBeyondViewport"] = True
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        Path(path).write_bytes(base64.b64decode(self._command("Page.captureScreenshot", **options)["data"]))

    def show_as_printed(self) -> None:
        """Apply the rules for paper, which is as wide as the window."""
        self._command("Emulation.setEmulatedMedia", media="print")

    def print_to_pdf(self, path: str | Path) -> None:
        """Save what a printer would get."""
        printed = self._command("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        Path(path).write_bytes(base64.b64decode(printed["data"]))

    def hear(self, event: str, params: dict[str, Any]) -> None:
        """Take note of an event; `Browser` calls this."""
        if event == "Page.loadEventFired":
            self._loads += 1
        elif event == "Runtime.exceptionThrown":
            self.console_errors.append(_complaint(params["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            said = (str(part.get("value", part.get("description", ""))) for part in params["args"])
            self.console_errors.append(" ".join(said))
        elif event == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.console_errors.append(f"{params['entry']['text']} ({params['entry'].get('url', '')})")
        elif event.startswith("Network."):
            self._hear_network(event, params)

    def _hear_network(self, event: str, params: dict[str, Any]) -> None:
        request = params.get("requestId", "")
        if event == "Network.requestWillBeSent":
            self._under_way[request] = params["request"]["url"]
            if not params["request"]["url"].startswith("data:"):
                self.requests.append(params["request"]["url"])
        elif event == "Network.responseReceived" and params["response"]["status"] >= 400:
            self.console_errors.append(f"{params['response']['status']}: {params['response']['url']}")
        elif event == "Network.loadingFailed":
            address = self._under_way.pop(request, "")
            if not params.get("canceled"):
                self.console_errors.append(f"{params['errorText']}: {address}")
        elif event == "Network.loadingFinished":
            self._under_way.pop(request, None)

    def _middle(self, selector: str) -> tuple[float, float]:
        script = (
            f"(() => {{ const element = document.querySelector({json.dumps(selector)}); if (!element) return null;"
            "element.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const box = element.getBoundingClientRect();"
            "return [box.left + box.width / 2, box.top + box.height / 2]; })()"
        )
        middle = self.evaluate(script)
        if middle is None:
            raise BrowserError(f"No element matches {selector!r}.")
        return middle[0], middle[1]

    def _command(self, method: str, **params: Any) -> Any:
        return self._browser.command(method, session=self._session, **params)


def _complaint(details: dict[str, Any]) -> str:
    return str(details.get("exception", {}).get("description") or details.get("text"))
