"""The store: what is written is read back, torn ends are cut off, and only one process writes."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from s2oct.errors import StudyError
from s2oct.study.measures import Confusion
from s2oct.study.records import (
    FILE_NAME,
    Fit,
    Plan,
    StudySettings,
    Task,
    TaskRecord,
    from_line,
    open_store,
    read_store,
    to_line,
)
from tests.messages import naming

SETTINGS = StudySettings(labeled_share=0.1, time_limit=5.0, solver="highs", seed=0)
RECORD = TaskRecord(
    task=Task("iris", 0, "biased", "s2oct"),
    n_rows=147,
    n_features=4,
    n_labeled=15,
    n_labeled_a=8,
    n_unlabeled_a=42,
    origin="local file",
    draw_digest="c438cc35",
    fit=Fit(
        seconds=0.5,
        all_rows=Confusion(((43, 11), (7, 86))),
        unlabeled_rows=Confusion(((35, 11), (7, 79))),
        digest="2aadafe6",
        warnings=("a “warning”\nof two lines",),
        n_splits=1,
        n_terms=2,
        objective=0.5,
        lower_bound=-math.inf,
        settled=False,
    ),
    error=None,
    versions={"Python": "3.11"},
    system="Linux",
    processor="a processor",
    cores=2,
    finished="2026-01-01T00:00:00+00:00",
)
FAILED = dataclasses.replace(RECORD, task=Task("iris", 1, "biased", "s2oct"), fit=None, error="MemoryError: ")
PLAN = Plan(("iris", "lupus"), 2, ("biased",), ("s2oct",), missing={"lupus": "no file"})


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path, SETTINGS) as store:
        for entry in (PLAN, RECORD, FAILED):
            store.append(entry)
    return tmp_path


@pytest.mark.parametrize("entry", [SETTINGS, PLAN, RECORD, FAILED], ids=lambda e: type(e))
def test_an_entry_survives_its_line(entry):
    line = to_line(entry)
    assert "\n" not in line
    assert from_line(line) == entry


def test_a_store_gives_back_what_was_written(store):
    contents = read_store(store)
    assert contents.settings == SETTINGS
    assert contents.plans == [PLAN]
    assert contents.missing == {"lupus": "no file"}
    assert list(contents.records.values()) == [RECORD, FAILED]


def test_counts_of_three_classes_are_kept(tmp_path):
    counts = Confusion(((4, 0, 0), (1, 3, 0), (0, 1, 3)))
    record = dataclasses.replace(RECORD, fit=dataclasses.replace(RECORD.fit, all_rows=counts))
    with open_store(tmp_path, dataclasses.replace(SETTINGS, classes=3)) as store:
        store.append(record)
    assert read_store(tmp_path).records[RECORD.task] == record


def test_a_study_of_two_classes_is_not_continued_with_three(store):
    with (
        pytest.raises(StudyError, match=naming(2, 3)),
        open_store(store, dataclasses.replace(SETTINGS, classes=3)),
    ):
        pass


def test_the_last_record_of_a_task_counts(store):
    mended = dataclasses.replace(FAILED, fit=RECORD.fit, error=None)
    with open_store(store, SETTINGS) as again:
        again.append(mended)
    assert read_store(store).records[FAILED.task] == mended


def test_a_store_torn_at_any_byte_loses_only_its_last_line(store):
    path = store / FILE_NAME
    content = path.read_bytes()
    last = content.rstrip(b"\n").rfind(b"\n") + 1
    for end in (*range(last, last + 40), len(content) - 1):
        path.write_bytes(content[:end])
        assert list(read_store(store).records) == [RECORD.task]
        with open_store(store, SETTINGS) as again:
            again.append(FAILED)
        assert path.read_bytes() == content


def test_a_store_torn_in_its_first_line_starts_again(tmp_path):
    (tmp_path / FILE_NAME).write_text('{"schema": 1, "kind": "stu')
    with open_store(tmp_path, SETTINGS) as store:
        store.append(PLAN)
    assert read_store(tmp_path).settings == SETTINGS


def test_a_damaged_line_in_the_middle_is_named(store):
    path = store / FILE_NAME
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:2], "{]\n", *lines[2:]]))
    with pytest.raises(StudyError, match=naming(3, "records.jsonl")):
        read_store(store)


@pytest.mark.parametrize("change", [{"schema": 99}, {"kind": "poem"}, {"unknown": 1}])
def test_an_entry_of_another_version_is_refused(change):
    with pytest.raises(StudyError, match="another version of s2oct"):
        from_line(json.dumps({**json.loads(to_line(RECORD)), **change}))


def test_a_second_writer_is_kept_out_until_the_first_is_done(tmp_path):
    with (
        open_store(tmp_path, SETTINGS),
        pytest.raises(StudyError, match="Another run is writing"),
        open_store(tmp_path, SETTINGS),
    ):
        pass
    with open_store(tmp_path, SETTINGS) as store:
        store.append(PLAN)


def test_other_settings_need_another_folder(store):
    with (
        pytest.raises(StudyError, match=naming("time_limit 5.0", "time_limit 60.0", "folder")),
        open_store(store, dataclasses.replace(SETTINGS, time_limit=60.0)),
    ):
        pass


def test_a_folder_without_a_study_is_named(tmp_path):
    with pytest.raises(StudyError, match=naming("study", "folder")):
        read_store(tmp_path)
