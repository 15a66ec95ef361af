"""Stops and deaths: of the fit, of its process, of the server, of the connection. Nothing is lost."""

from __future__ import annotations

import os
import signal

import numpy as np
import pandas as pd
import pytest

from tests.app.running import Hands, opened, serving
from tests.conftest import require_package
from tests.messages import names


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """Labels without any pattern: a fit without a guide goes on to its time limit."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(500, 6)).round(3), columns=[f"x{j}" for j in range(6)])
    frame["label"] = [*rng.choice(["A", "B"], 80), *[""] * 420]
    file = tmp_path_factory.mktemp("tables") / "noise.csv"
    frame.to_csv(file, index=False)
    return file


CHOICES = {
    "label": "label",
    "totals": {"form": "classes", "amounts": {"A": "160"}},
    "options": {"guide": "none", "solver": "none", "time_limit": "3600"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sessions")


@pytest.fixture(scope="module")
def server(folder, noise):
    require_package("starlette")
    with serving(folder, str(noise)) as running:
        running.ask(f"api/sessions/{running.session}/look", CHOICES)
        yield running


def start(hands):
    """Start the long fit, and wait for its first tree that splits something."""
    hands.settle()
    hands.page.click("#start-fit")
    hands.wait("document.querySelector('#progress .rules')?.textContent.includes('if ')")


def test_stop_shows_the_best_tree_and_another_page_is_not_disturbed(server, browser):
    """How soon, bench/app.py measures: a machine that also does other work cannot tell."""
    with opened(browser, server.address) as hands:
        start(hands)
        assert names(hands.text("#progress"), "totals")
        assert "Cost" in hands.text("#progress")
        hands.page.click("#stop")
        hands.see("#verdict")
        assert names(hands.text("#verdict"), "stopped")
        assert "if " in hands.text("#rules")
        hands.wait("!document.querySelector('#stop')")
        other = server.ask(f"api/sessions/{server.session}")
        assert [job["ending"]["how"] for job in other["jobs"]] == ["stopped"]


def test_a_fit_in_one_session_does_not_disturb_one_in_another(server, browser):
    """Two pages at once: while the long fit runs, another table is sent, fitted and read."""
    rows = "\n".join(f"{i},{'AB'[i > 20] if i % 4 == 0 else ''}" for i in range(40))
    with opened(browser, server.address) as hands, opened(browser, server.base) as other:
        start(hands)
        other.drop("small.csv", f"x,label\n{rows}\n".encode())
        other.page.click("#totals-form-classes")
        other.write("#total-0", "15")
        other.fit()
        assert "x <= " in other.text("#rules")
        assert hands.page.evaluate("!!document.querySelector('#stop')")
        hands.page.click("#stop")
        hands.see("#verdict")
        assert "x <= " not in hands.text("#rules")


def test_a_killed_process_is_noticed_and_its_best_tree_shown(server, browser):
    with opened(browser, server.address) as hands:
        start(hands)
        number = str(hands.page.evaluate("document.querySelector('#progress').dataset.job"))
        pid = server.ask(f"api/sessions/{server.session}/jobs/{number}")["pid"]
        os.kill(pid, signal.SIGKILL)
        hands.see("#fit-ending")
        assert "ended unexpectedly" in hands.text("#fit-ending")
        assert "if " in hands.text("#fit pre.rules")


def test_a_killed_server_loses_nothing_and_the_fit_goes_on(server, folder, browser):
    """The last test of this file: it ends the server of the others."""
    session = server.session
    with browser.page(server.address) as page:
        hands = Hands(page)
        hands.wait("document.documentElement.dataset.ready")
        start(hands)
        server.process.kill()
        server.process.wait()
        hands.wait("document.querySelector('#progress .complaint')")
        assert "connection" in hands.text("#progress .complaint")
    with serving(folder) as second, opened(browser, f"{second.base}#{session}") as hands:
        # The button moves down when the best tree appears above it.
        hands.wait("document.querySelector('#progress .rules')")
        hands.page.click("#stop")
        hands.wait("document.querySelector('#verdict')?.textContent.includes('stopped')")
        assert hands.text("#table-heading").endswith("noise.csv")
        assert hands.page.evaluate("document.querySelector('#total-0').value") == "160"
