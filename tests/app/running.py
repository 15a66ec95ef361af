"""The page's server as its users start it, and hands to work on the page with."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from tests.browser import Browser, Page
from tests.processes import started

COMMAND = "from s2oct.cli import main; main()"
LONG = 60.0
"""Seconds that a step may take on a busy machine."""


class Running:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.address = process, address
        self.base, _, self.session = address.partition("#")
        used = psutil.Process(process.pid).cpu_times()
        self.seconds_to_start = used.user + used.system

    def ask(self, path: str, question: Any = None) -> Any:
        body = None if question is None else json.dumps(question).encode()
        with urllib.request.urlopen(urllib.request.Request(self.base + path, data=body), timeout=LONG) as answer:
            return json.loads(answer.read())


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Running]:
    """``s2oct app`` for a folder of sessions, until the block ends."""
    command = [sys.executable, "-c", COMMAND, "app", *arguments, "--no-browser", "--folder", str(folder)]
    with started(command, seconds=400, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("The page is at http://127.0.0.1:"), line
        try:
            yield Running(process, line.split()[-1])
            process.send_signal(signal.SIGINT)
            process.wait(LONG)
        finally:
            end_jobs(folder)


def end_jobs(folder: Path) -> None:
    """End what still runs for the sessions of a folder: jobs outlive their server, and a long fit takes an hour."""
    for file in folder.rglob("process.json"):
        said = json.loads(file.read_text())
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(said["pid"])
            if process.create_time() == said["created"]:
                process.kill()


class Hands:
    """What a user does on the page."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def wait(self, script: str, seconds: float = LONG) -> None:
        self.page.wait_for(f"!!({script})", seconds)

    def see(self, selector: str, seconds: float = LONG) -> None:
        self.wait(f"document.querySelector({json.dumps(selector)})", seconds)

    def text(self, selector: str) -> str:
        return str(self.page.evaluate(f"document.querySelector({json.dumps(selector)}).textContent"))

    def drop(self, name: str, content: bytes) -> None:
        """Drop a file onto the page."""
        self.see("#drop")
        script = f"""(() => {{
            const bytes = Uint8Array.from(atob("{base64.b64encode(content).decode()}"), (c) => c.charCodeAt(0));
            const data = new DataTransfer();
            data.items.add(new File([bytes], {json.dumps(name)}));
            const event = new DragEvent("drop", {{ dataTransfer: data, bubbles: true }});
            document.querySelector("#drop").dispatchEvent(event);
        }})()"""
        self.page.evaluate(script)
        self.see("#table-heading")

    def choose(self, selector: str, value: str) -> None:
        """Choose an entry of a list, as the keyboard does."""
        self.see(selector)
        self.page.evaluate(
            f"(() => {{ const list = document.querySelector({json.dumps(selector)}); list.value = {json.dumps(value)};"
            "list.dispatchEvent(new Event('change', { bubbles: true })); })()"
        )

    def write(self, selector: str, text: str) -> None:
        """Replace what stands in a field."""
        self.see(selector)
        self.page.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        self.page.evaluate(f"document.querySelector({json.dumps(selector)}).select()")
        self.page.insert(text)

    def table(self, selector: str) -> list[list[str]]:
        """The cells of a table's body."""
        script = (
            f"[...document.querySelectorAll({json.dumps(selector + ' tbody tr')})]"
            ".map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        return list(self.page.evaluate(script))

    def settle(self) -> None:
        """Wait until the choices are looked at and a fit can start."""
        # Timers of a page end in order: after this one the page has asked about what was typed.
        self.page.evaluate("new Promise((done) => setTimeout(done, 400))")
        self.wait("document.querySelector('#start-fit') && !document.querySelector('#start-fit').disabled")

    def fit(self) -> str:
        """Start a fit, wait for its tree, and return the number of the job."""
        self.settle()
        self.page.click("#start-fit")
        self.see("#verdict")
        return self.shown_job()

    def shown_job(self) -> str:
        link = str(self.page.evaluate("document.querySelector('#downloads a').getAttribute('href')"))
        return link.split("/")[4]

    def download(self, name: str) -> bytes:
        """The content behind a link to a file of the shown fit."""
        self.see(f'a.download[href$="/{name}"]')
        script = f"""(async () => {{
            const link = document.querySelector('a.download[href$="/{name}"]');
            const content = new Uint8Array(await (await fetch(link.href)).arrayBuffer());
            return btoa([...content].map((byte) => String.fromCharCode(byte)).join(""));
        }})()"""
        return base64.b64decode(self.page.evaluate(script))


@contextmanager
def opened(browser: Browser, address: str, **options: Any) -> Iterator[Hands]:
    """A page; it must not complain, and must ask nobody but its server."""
    with browser.page(address, **options) as page:
        hands = Hands(page)
        hands.wait("document.documentElement.dataset.ready")
        yield hands
        base = address.partition("#")[0]
        assert page.console_errors == []
        assert [request for request in page.requests if not request.startswith(base)] == []
