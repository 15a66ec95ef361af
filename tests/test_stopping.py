"""Deadlines and clocks, against a time that the test sets."""

from __future__ import annotations

import pickle
import threading
import time

import pytest

from s2oct import stopping
from s2oct.stopping import NO_DEADLINE, Clock, Deadline, never


class Wish:
    """A request to stop that a test can make."""

    def __init__(self) -> None:
        self.made = False

    def __call__(self) -> bool:
        return self.made


@pytest.fixture
def now(stepping_clock):
    """The time, which passes only where a test says so."""
    stepping_clock.seconds = 1000.0
    return stepping_clock


def test_a_deadline_passes_with_its_last_second(now):
    deadline = Deadline.after(5.0)
    assert deadline.at == 1005.0
    assert (deadline.passed, deadline.seconds_left) == (False, 5.0)
    now.seconds = 1005.0
    assert (deadline.passed, deadline.seconds_left) == (False, 0.0)
    now.seconds = 1007.0
    assert (deadline.passed, deadline.seconds_left) == (True, -2.0)


def test_a_request_to_stop_passes_the_deadline_at_once(now):
    wish = Wish()
    deadline = Deadline.after(5.0, wish)
    assert not deadline.passed
    wish.made = True
    assert (deadline.passed, deadline.seconds_left) == (True, 0.0)


def test_a_request_to_stop_does_not_give_back_seconds_that_are_gone(now):
    deadline = Deadline.after(5.0, lambda: True)
    now.seconds = 1008.0
    assert deadline.seconds_left == -3.0


@pytest.mark.parametrize(("seconds", "left"), [(2.0, 2.0), (5.0, 5.0), (9.0, 5.0), (float("inf"), 5.0), (-1.0, -1.0)])
def test_within_gives_the_sooner_of_two_deadlines(now, seconds, left):
    assert Deadline.after(5.0).within(seconds).seconds_left == left


def test_within_keeps_the_request_to_stop_and_the_deadline_it_comes_from(now):
    wish = Wish()
    deadline = Deadline.after(5.0, wish)
    sooner = deadline.within(2.0)
    now.seconds = 1003.0
    assert sooner.passed
    assert not deadline.passed
    wish.made = True
    assert deadline.passed
    assert deadline.within(9.0).passed


def test_another_process_gets_the_seconds_that_are_left_and_no_request_to_stop(now):
    """Clocks of two processes have nothing in common: here the other one shows 1e6 more."""
    wish = Wish()
    now.seconds = 1002.0
    sent = pickle.dumps(Deadline(1005.0, wish))
    now.seconds += 1e6
    received = pickle.loads(sent)
    assert received.seconds_left == 3.0
    assert received.stop is never
    wish.made = True
    assert not received.passed
    now.seconds += 3.5
    assert received.passed


def test_a_request_that_cannot_be_pickled_does_not_keep_a_deadline_from_being_sent():
    event = threading.Event()
    received = pickle.loads(pickle.dumps(Deadline.after(60.0, lambda: event.is_set())))
    assert 59.0 < received.seconds_left <= 60.0


def test_another_process_does_not_begin_once_a_stop_was_asked_for(now):
    received = pickle.loads(pickle.dumps(Deadline.after(60.0, lambda: True)))
    assert received.seconds_left == 0.0


def test_no_deadline_never_passes_in_any_process():
    for deadline in (NO_DEADLINE, pickle.loads(pickle.dumps(NO_DEADLINE))):
        assert not deadline.passed
        assert deadline.seconds_left == float("inf")
    assert NO_DEADLINE.within(1.0).seconds_left <= 1.0


def test_a_clock_counts_from_its_beginning_to_its_limit(now):
    clock = Clock(10.0, began=1000.0)
    assert (clock.elapsed, clock.seconds_left, clock.is_over) == (0.0, 10.0, False)
    now.seconds = 1004.0
    assert (clock.elapsed, clock.seconds_left, clock.is_over) == (4.0, 6.0, False)
    now.seconds = 1013.0
    assert (clock.elapsed, clock.seconds_left, clock.is_over) == (13.0, 0.0, True)
    assert not clock.stopped()


def test_a_clock_begins_when_it_is_made():
    before = stopping.now()
    clock = Clock(10.0)
    assert before <= clock.began <= stopping.now()


@pytest.mark.usefixtures("real_time")
def test_time_passes_as_on_the_clock_of_the_machine():
    assert time.monotonic() <= stopping.now() <= time.monotonic()


def test_a_clock_is_over_once_a_stop_is_requested(now):
    wish = Wish()
    clock = Clock(10.0, wish, began=1000.0)
    assert not clock.stopped()
    wish.made = True
    assert clock.stopped()
    assert clock.is_over
    assert clock.seconds_left == 10.0


def test_an_interrupt_from_inside_stops_the_clock_and_its_deadlines_for_good(now):
    clock = Clock(10.0, began=1000.0)
    deadline = clock.deadline(5.0)
    assert not deadline.passed
    clock.interrupt()
    assert clock.stopped()
    assert clock.is_over
    assert deadline.passed
    assert deadline.within(1.0).passed


def test_an_interrupt_stops_no_other_clock(now):
    first, second = Clock(10.0, began=1000.0), Clock(10.0, began=1000.0)
    first.interrupt()
    assert not second.stopped()


@pytest.mark.parametrize(("seconds", "left"), [(3.0, 3.0), (20.0, 6.0), (float("inf"), 6.0)])
def test_no_deadline_of_a_clock_is_later_than_its_limit(now, seconds, left):
    clock = Clock(10.0, began=1000.0)
    now.seconds = 1004.0
    assert clock.deadline(seconds).seconds_left == left
    assert clock.deadline().seconds_left == 6.0


def test_a_deadline_remembers_that_it_cut_work_and_those_derived_from_it_share_the_memory(now):
    for derive in (lambda d: d, lambda d: d.within(2.0), lambda d: d.sooner(3.0)):
        deadline = Deadline.after(5.0)
        derived = derive(deadline)
        assert not derived.passed
        assert not deadline.has_cut
        now.advance(6.0)
        assert not deadline.has_cut  # nobody asked, so nothing was cut
        assert derived.passed
        assert deadline.has_cut


def test_a_step_that_is_left_out_because_it_would_take_too_long_counts_as_cut(now):
    deadline = Deadline.after(5.0)
    assert deadline.allows(5.0)
    assert not deadline.has_cut
    assert not deadline.allows(5.5)
    assert deadline.has_cut


def test_a_request_to_stop_is_not_a_cut_by_the_time_limit(now):
    clock = Clock(10.0, lambda: True)
    now.advance(11.0)
    assert clock.is_over
    assert clock.deadline().passed
    assert not clock.deadline().allows(1.0)
    assert not clock.has_cut


def test_each_stage_of_a_fit_can_have_a_record_of_its_own(now):
    clock = Clock(10.0)
    now.advance(11.0)
    assert clock.is_over
    assert clock.has_cut
    later = clock.anew()
    assert not later.has_cut
    assert later.deadline().passed
    assert later.has_cut
