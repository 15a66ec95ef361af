"""Make the pictures of the page for the documentation, from the running page: python docs/app_pictures.py."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.app.running import Hands, opened, serving  # noqa: E402 (the tests are beside this folder)
from tests.browser import Browser, find_browser  # noqa: E402

PICTURES = ROOT / "docs" / "_static"
SIZE = {"width": 900, "height": 620}


def main() -> None:
    executable = find_browser()
    if executable is None:
        sys.exit("Expected Chromium or Chrome, got neither.")
    browser = Browser(executable)
    try:
        with tempfile.TemporaryDirectory() as folder:
            draw(browser, Path(folder))
    finally:
        browser.close()


def draw(browser: Browser, folder: Path) -> None:
    table = folder / "people.csv"
    subprocess.run([sys.executable, "-m", "s2oct.datasets", str(table)], check=True)
    with serving(folder / "sessions", str(table)) as server:
        with opened(browser, server.base, **SIZE) as hands:
            hands.see(".sessions")
            keep(hands, "start", "#start")
        with opened(browser, server.address, **SIZE) as hands:
            hands.choose("#role-0", "id")
            hands.wait("!document.querySelector('#kind-0')")
            keep(hands, "columns", "#columns")
            hands.page.click("#totals-form-grid")
            hands.choose("#by", "region")
            hands.write("#cell-0-0", "40")
            hands.write("#cell-1-1", "300")
            keep(hands, "totals", "#totals")
            hands.page.click("#totals-form-classes")
            hands.write("#total-1", "185")
            hands.fit()
            hands.see("#simplicity")
            hands.wait("!document.querySelector('#stop')")
            keep(hands, "result", "#result")


def keep(hands: Hands, name: str, selector: str) -> None:
    """A picture of the window with an element at its top."""
    hands.page.evaluate(f"document.querySelector({selector!r}).scrollIntoView({{behavior: 'instant'}})")
    hands.page.screenshot(PICTURES / f"app-{name}.png", full=False)
    print(f"wrote docs/_static/app-{name}.png")


if __name__ == "__main__":
    main()
