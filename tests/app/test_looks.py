"""The checks of the page's looks find what they look for."""

from __future__ import annotations

import pytest

from tests.app.looks import faults
from tests.app.running import Hands

FAULTY = {
    "no name": "<input>",
    "no choice": "<label>x <select></select></label>",
    "two of one id": "<p id=a></p><p id=a></p>",
    "leads nowhere": "<p aria-describedby=b>x</p>",
    "without caption": "<table><tr><td>x</td></tr></table>",
    "left out": "<h1>a</h1><h3>b</h3>",
    "contrast": "<p style='color: #999; background: #fff'>x</p>",
    "too wide": "<div style='width: 5000px; height: 1px'></div>",
    "cannot scroll": "<div class=scroll style='overflow-x: auto; width: 90px'><div style='width: 900px'>x</div></div>",
}


@pytest.mark.parametrize(("found", "html"), FAULTY.items(), ids=FAULTY)
def test_a_planted_fault_is_found_and_no_other(browser, tmp_path, found, html):
    file = tmp_path / "page.html"
    file.write_text(f"<!doctype html><html lang=en><title>t</title><body>{html}")
    with browser.page(file) as page:
        (fault,) = faults(Hands(page))
    assert found in fault
