"""What a command says while it works: a line that changes in a terminal, and now and then a line elsewhere."""

from __future__ import annotations

import pytest

from s2oct.cli.app import run
from s2oct.cli.progress import Ticker, live_progress, repeat_progress
from s2oct.fit.context import SEARCHING
from s2oct.p2.proof import Moment
from tests.cli.test_outputs import FIT
from tests.messages import names


def test_seconds_are_counted_from_the_first_stage_to_the_last(stepping_clock):
    ticker = Ticker(60)
    stepping_clock.advance(2)
    assert str(ticker.line()).split() == ["2.0", "of", "60", "s", "preparing"]
    ticker.stage(SEARCHING)
    stepping_clock.advance(3)
    assert str(ticker.line()).split() == ["5.0", "of", "60", "s", "searching"]


def test_outside_a_terminal_a_long_fit_says_a_line_now_and_then(stepping_clock, capsys):
    with live_progress(600) as listener:
        listener.stage(SEARCHING)
        for seconds in (1, 20, 10, 5, 40):
            stepping_clock.advance(seconds)
            listener.progress(Moment(seconds, 12.0, 3.0))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "s2oct: 31.0 of 600 s   searching   best cost 12   lower bound 3",
        "s2oct: 76.0 of 600 s   searching   best cost 12   lower bound 3",
    ]


def test_replicates_are_forecast_and_counted_outside_a_terminal(stepping_clock, capsys):
    with repeat_progress(200, "replicate", seconds_each=3.0, n_jobs=2, share=0.5) as progress:
        for done in range(1, 41):
            stepping_clock.advance(2)
            progress(done, 200)
    lines = capsys.readouterr().err.splitlines()
    assert names(lines[0], "s2oct: ", 200, "replicate", "3 s", "2 min")
    assert lines[1:] == [
        "s2oct: 10.0 s   5 of 200 replicates   about 6 min left",
        "s2oct: 40.0 s   20 of 200 replicates   about 6 min left",
        "s2oct: 70.0 s   35 of 200 replicates   about 6 min left",
    ]


def test_replicates_that_a_folder_kept_do_not_shorten_the_forecast(stepping_clock, capsys):
    with repeat_progress(200, "replicate", seconds_each=3.0, n_jobs=1) as progress:
        for done in range(150, 155):
            stepping_clock.advance(12)
            progress(done, 200)
    # 2 runs in 24 s, 48 to go; 152 runs in 36 s would leave 11 s.
    assert "36.0 s   152 of 200 replicates   about 10 min left" in capsys.readouterr().err


def test_nothing_is_said_where_nothing_is_fitted(capsys):
    with repeat_progress(0, "fit", None, 1):
        pass
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (
            [*FIT, "--report", "r.html"],
            ("s2oct: ", "r.html"),
        ),
        (
            ["estimate", "model.json", "people.csv", "--replicates", "2", "--out", "e.csv"],
            ("s2oct: ", 2, "replicate"),
        ),
    ],
    ids=["report", "estimate"],
)
def test_what_takes_long_is_said_before_it_begins(folder, capsys, command, named):
    assert run(command) == 0
    assert names(capsys.readouterr().err, *named)
