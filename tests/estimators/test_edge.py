"""Where a fit meets its user: Ctrl-C, printing, and scikit-learn's callbacks."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from s2oct import OCTHClassifier, S2OCTClassifier
from s2oct.errors import S2OCTWarning
from s2oct.p2.prepared import prepare
from tests.clocks import clock_of_fits
from tests.conftest import require_package
from tests.messages import naming

# These fits are cut short.
pytestmark = pytest.mark.filterwarnings("ignore:.*total.* row", "ignore:.*time limit")


@pytest.fixture(scope="module")
def noise():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 4))
    return X, np.array([*rng.choice(["A", "B"], 80), *[None] * 320], dtype=object), {"A": 100}


def fit(noise, **parameters):
    X, y, totals = noise
    return S2OCTClassifier(guide=None, solver=None, random_state=0, **parameters).fit(X, y, totals=totals)


def test_a_second_ctrl_c_raises_as_usual(noise, ctrl_c, monkeypatch):
    """A user who presses twice wants to quit. The search is made deaf, so that the first press has no effect."""
    monkeypatch.setattr("s2oct.stopping.Clock.stopped", lambda self: False)
    with ctrl_c(0.5), ctrl_c(1.0), pytest.raises(KeyboardInterrupt):
        fit(noise, time_limit=5.0)


@pytest.fixture
def ctrl_c_while_preparing(monkeypatch):
    """Presses Ctrl-C while a fit prepares its rows."""

    def press(*arguments, **keywords):
        signal.raise_signal(signal.SIGINT)
        return prepare(*arguments, **keywords)

    monkeypatch.setattr("s2oct.fit.training.prepare", press)


@pytest.mark.usefixtures("ctrl_c", "ctrl_c_while_preparing")
@pytest.mark.parametrize("guide", [None, "auto"])
def test_ctrl_c_before_there_is_a_tree_raises_and_leaves_an_earlier_fit_as_it_was(noise, survey, guide):
    X, y, totals = survey
    clf = S2OCTClassifier(depth=1, guide=None, solver=None, time_limit=20.0)
    with pytest.MonkeyPatch.context() as undisturbed:
        undisturbed.setattr("s2oct.fit.training.prepare", prepare)
        clf.fit(X, y, totals=totals)
    before = clf.tree_
    X, y, totals = noise
    with pytest.raises(KeyboardInterrupt, match=naming("interrupt", "split")):
        clf.set_params(guide=guide).fit(X, y, totals=totals)
    assert clf.tree_ is before


@pytest.mark.usefixtures("ctrl_c", "ctrl_c_while_preparing")
def test_a_caller_who_asked_to_stop_gets_the_constant_tree(noise):
    X, y, totals = noise
    with pytest.warns(S2OCTWarning, match=naming("interrupt", "split")):
        clf = S2OCTClassifier(solver=None).fit(X, y, totals=totals, stop=lambda: True)
    assert not clf.certificate_.is_worth_keeping


@pytest.mark.usefixtures("ctrl_c", "ctrl_c_while_preparing")
def test_a_proof_about_p2_does_not_stand_for_a_guided_fit_that_was_interrupted():
    """One class for all rows costs nothing in P2, which needs no search; but nobody asked for P2."""
    X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", None, None]
    with pytest.raises(KeyboardInterrupt):
        S2OCTClassifier(depth=1, solver=None).fit(X, y, totals={"a": 2, "b": 0})


def test_the_handler_of_ctrl_c_is_put_back(noise):
    before = signal.getsignal(signal.SIGINT)
    fit(noise, time_limit=0.2)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_program_with_a_handler_of_its_own_keeps_it_during_a_fit(noise):
    pressed = []
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    try:
        clock_of_fits().call_after(0.5, lambda: signal.raise_signal(signal.SIGINT))
        clf = fit(noise, time_limit=1.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == [True]
    assert clf.certificate_.ended == "time limit"


class CtrlCAtFirstSplit:
    """Presses Ctrl-C when a fit has found its first tree with splits."""

    def __init__(self) -> None:
        self.pressed = False

    def stage(self, name):
        """Nothing to do."""

    def progress(self, moment):
        """Nothing to do."""

    def found(self, tree):
        if tree.omega.any() and not self.pressed:
            self.pressed = True
            signal.raise_signal(signal.SIGINT)


def test_a_handler_that_raises_keyboard_interrupt_stops_the_fit_instead(noise):
    def raises(*_):
        raise KeyboardInterrupt

    X, y, totals = noise
    clf = S2OCTClassifier(guide=None, solver=None, random_state=0, time_limit=600.0)
    before = signal.signal(signal.SIGINT, raises)
    try:
        with pytest.warns(S2OCTWarning, match="interrupted"):
            clf.fit(X, y, totals=totals, listener=CtrlCAtFirstSplit())
        assert signal.getsignal(signal.SIGINT) is raises
    finally:
        signal.signal(signal.SIGINT, before)
    assert clf.certificate_.ended == "interrupted"
    assert clf.notices_[0].startswith("The fit was interrupted")


def test_the_warning_of_an_interrupted_fit_points_to_the_call_of_fit(noise):
    X, y, totals = noise
    with pytest.warns(S2OCTWarning, match="interrupted") as caught:
        S2OCTClassifier(guide=None, solver=None).fit(X, y, totals=totals, stop=lambda: True)
    assert caught[0].filename == __file__


def test_a_verbose_fit_prints_stages_and_costs_to_standard_error(survey, capsys):
    X, y, totals = survey
    S2OCTClassifier(depth=1, guide=None, solver=None, verbose=1).fit(X, y, totals=totals)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "searching" in printed.err
    assert "cost 0" in printed.err


class Hooks:
    """A callback of scikit-learn that writes down what it hears, and may stop a fit."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.heard, self.calls, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, metadata=None):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.heard.append((context.task_name, metadata))
        return self.stop_after is not None and len(self.heard) >= self.stop_after


@pytest.fixture
def _callbacks():
    """scikit-learn 1.9 and later."""
    require_package("sklearn.callback")


@pytest.mark.usefixtures("_callbacks")
def test_callbacks_of_scikit_learn_hear_stages_and_improvements(survey):
    X, y, totals = survey
    hooks = Hooks()
    clf = S2OCTClassifier(depth=1, guide=None, solver=None, random_state=0).set_callbacks(hooks)
    clf.fit(X, y, totals=totals)
    improvements = [metadata for name, metadata in hooks.heard if name == "improvement"]
    assert [entry["objective"] for entry in improvements] == [now.objective for now in clf.certificate_.history]
    assert hooks.heard[0] == ("stage", {"stage": "preparing"})
    assert hooks.heard[-1][0] == "fit"
    assert (hooks.calls[0], hooks.calls[1], hooks.calls[-1]) == ("setup", "begin fit", "teardown")


@pytest.mark.usefixtures("_callbacks")
@pytest.mark.parametrize("estimator", [S2OCTClassifier, OCTHClassifier])
def test_a_callback_that_returns_true_stops_the_fit(noise, estimator):
    X, y, totals = noise
    clf = estimator(solver=None, time_limit=20.0, random_state=0).set_callbacks(Hooks(stop_after=3))
    given = {"totals": totals} if estimator is S2OCTClassifier else {}
    if estimator is S2OCTClassifier:
        clf.set_params(guide=None)
    with pytest.warns(S2OCTWarning, match="interrupted"):
        clf.fit(X, y, **given)
    assert clf.certificate_.ended == "interrupted"


@pytest.mark.usefixtures("_callbacks")
def test_callbacks_are_torn_down_after_an_error(survey):
    X, y, _ = survey
    hooks = Hooks()

    def broken() -> bool:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        S2OCTClassifier(depth=1, guide=None, solver=None).set_callbacks(hooks).fit(X, y, {"yes": 5}, stop=broken)
    assert hooks.calls[-1] == "teardown"


def test_stop_and_listener_are_no_metadata_of_rows():
    """scikit-learn would otherwise ask meta-estimators to route them."""
    requests = S2OCTClassifier().get_metadata_routing()
    of_rows = {"totals", "population_totals", "domains", "as_shares", "sample_weight"}
    assert set(requests.fit.requests) == of_rows
