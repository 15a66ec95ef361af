"""The local page under load: its start, hostile uploads, many rows against the command line, stops at every stage."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.app.hostile import SCRIPT, hostile_names, mutated  # noqa: E402
from tests.app.running import Running, opened, serving  # noqa: E402
from tests.browser import Browser, find_browser  # noqa: E402

from s2oct.cli.app import run  # noqa: E402

VOLATILE = {"seconds", "history", "written", "sha256"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uploads", type=int, default=200)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--only", choices=("start", "uploads", "rows", "stops"))
    given = parser.parse_args()
    parts = {
        "start": start,
        "uploads": lambda: hostile_uploads(given.uploads),
        "rows": lambda: many_rows(given.rows),
        "stops": stops,
    }
    for name, part in parts.items():
        if given.only in (None, name):
            part()


def start() -> None:
    """Seconds from the command to a page that can be used, the best of three."""
    browser, found = Browser(find_browser() or ""), []
    try:
        for _ in range(3):
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                with serving(Path(folder)) as server, opened(browser, server.base) as hands:
                    hands.see("#drop")
                    found.append(time.perf_counter() - began)
    finally:
        browser.close()
    print(f"start to a usable page: {min(found):.1f} s (of {', '.join(f'{seconds:.1f}' for seconds in found)})")


def hostile_uploads(n_uploads: int) -> None:
    """Mutated files under hostile names: answers by status, and whether any file lies outside the sessions."""
    statuses: dict[int, int] = {}
    names, sessions = hostile_names(), []
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "sessions"
        with serving(store) as server:
            for seed in range(n_uploads):
                name, content = mutated(seed)
                status, answer = send(
                    server, "PUT", f"api/sessions?name={quote(names[seed % len(names)] + name)}", content
                )
                statuses[status] = statuses.get(status, 0) + 1
                if status != 200:
                    continue
                sessions.append(answer["id"])
                for choices in ({}, {"label": "a"}, {"label": SCRIPT}):
                    status, _ = send(server, "POST", f"api/sessions/{answer['id']}/look", json.dumps(choices).encode())
                    statuses[status] = statuses.get(status, 0) + 1
            n_run = scripts_that_ran(server, sessions[::10])
        outside = [path for path in Path(folder).iterdir() if path != store]
        strange = [
            path
            for path in store.rglob("*")
            if path.is_file() and not path.name.startswith(("table", "session", "typed"))
        ]
    print(
        f"{n_uploads} hostile uploads: answers {statuses}; files outside: {len(outside)}, strange files: {len(strange)}"
    )
    print(f"pages of {len(sessions[::10])} of them: {n_run} scripts ran")


def send(server: Running, method: str, path: str, content: bytes) -> tuple[int, dict]:
    try:
        asked = urllib.request.Request(server.base + path, data=content, method=method)
        with urllib.request.urlopen(asked) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, {}


def scripts_that_ran(server: Running, sessions: list[str]) -> int:
    browser, n_run = Browser(find_browser() or ""), 0
    try:
        for session in sessions:
            with opened(browser, f"{server.base}#{session}") as hands:
                hands.see("#table-heading")
                n_run += hands.page.evaluate("document.title") == "run"
    finally:
        browser.close()
    return n_run


def table_of(n_rows: int, folder: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 8)).round(3), columns=[f"x{j}" for j in range(8)])
    frame["region"] = rng.choice(["north", "south", "east"], n_rows)
    truth = np.where(frame["x0"] + 0.5 * frame["x1"] + rng.normal(size=n_rows) > 0.5, "yes", "no")
    frame["label"] = np.where(rng.random(n_rows) < 0.01, truth, "")
    file = folder / "many.csv"
    frame.to_csv(file, index=False)
    return file


def many_rows(n_rows: int) -> None:
    """The journey for a large table, and the command line beside it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = table_of(n_rows, folder)
        total = int((pd.read_csv(table)["label"].isna()).sum() * 0.38)
        browser = Browser(find_browser() or "")
        try:
            with serving(folder / "sessions", str(table)) as server, opened(browser, server.address) as hands:
                began = time.perf_counter()
                hands.see("#label-counts")
                print(f"{n_rows:,} rows: looked at in {time.perf_counter() - began:.1f} s")
                hands.page.click("#totals-form-classes")
                hands.write("#total-1", str(total))
                hands.settle()
                began = time.perf_counter()
                hands.fit()
                print(f"tree shown after {time.perf_counter() - began:.1f} s")
                model, command = hands.download("model.json"), shlex.split(hands.text("#command"))
                began = time.perf_counter()
                hands.page.click("#tree .leaf")
                hands.see("#leaf-rows")
                print(f"rows of a leaf after {time.perf_counter() - began:.2f} s")
                hands.page.click("#stop")
        finally:
            browser.close()
        command = [str(folder / part) if part in ("many.csv", "model.json") else part for part in command]
        assert run(command[1:]) == 0
        written = (folder / "model.json").read_bytes()
        print(f"same model as by the command line: {without_time(model) == without_time(written)}")


def without_time(content: bytes) -> object:
    def kept(part: object) -> object:
        if isinstance(part, dict):
            return {name: kept(value) for name, value in part.items() if name not in VOLATILE}
        return part

    return kept(json.loads(content))


def stops() -> None:
    """Seconds from the click on stop to the best tree, at several moments of a fit to many rows."""
    browser = Browser(find_browser() or "")
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            table = table_of(30_000, folder)
            with serving(folder / "sessions", str(table)) as server, opened(browser, server.address) as hands:
                hands.see("#label-counts")
                hands.page.click("#totals-form-classes")
                hands.write("#total-1", "11000")
                for delay in (0.0, 1.0, 2.0, 4.0, 6.0, 8.0):
                    time.sleep(8)  # the next process gets ready
                    hands.settle()
                    hands.page.click("#start-fit")
                    hands.see("#stop")
                    time.sleep(delay)
                    stage = hands.text("#progress dd")
                    began = time.perf_counter()
                    hands.page.click("#stop")
                    hands.wait("!document.querySelector('#stop')?.textContent.includes('best tree')")
                    seconds = time.perf_counter() - began
                    last = server.ask(f"api/sessions/{server.session}")["jobs"][-1]
                    shown = "its tree is shown" if last["has_result"] else "there was no tree yet"
                    print(f"stopped while {stage[:20]}: {seconds:.2f} s, {shown}")
                    if hands.page.evaluate("!!document.querySelector('#stop')"):
                        hands.page.click("#stop")
                        hands.wait("!document.querySelector('#stop')")
    finally:
        browser.close()


if __name__ == "__main__":
    main()
