"""Registers in files: one pass learns the encoding and takes the sample, and the fit reads the file again."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from s2oct import S2OCTClassifier
from s2oct.fit.register import Register
from s2oct.fit.register_passes import mark_rows
from s2oct.problem.batches import ArrayBatches, Batch
from s2oct.stopping import NO_DEADLINE
from s2oct.tables.partly_labeled import Roles
from s2oct.tables.source import Source
from s2oct.tables.totals import TableTotals
from s2oct.workflow.encoded_table import EncodedTable, FitRequest
from s2oct.workflow.fitted_table import fit_encoded
from s2oct.workflow.register_table import FileBatches, LookAtRows, cluster_client, encode_register, unchanged
from tests.conftest import require_package
from tests.fit.register_tables import PLAIN, Table
from tests.fit.register_tables import table as small_table

MOST = 150


@pytest.fixture(scope="module")
def small() -> Table:
    return small_table()


@pytest.fixture(params=["parquet", "csv"])
def path(request: Any, small: Table, tmp_path: Path) -> Path:
    return write(small, tmp_path / f"people.{request.param}")


def write(small: Table, path: Path, **more: Any) -> Path:
    columns = {f"x{j}": small.X[:, j] for j in range(3)} | {"status": pa.array(small.y.tolist(), pa.string())} | more
    cells = pa.table(columns)
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(cells, path)
    else:
        pq.write_table(cells, path, row_group_size=300)
    return path


def asked(path: Path, small: Table, **parameters: Any) -> FitRequest:
    known = TableTotals([("A", str(small.totals["A"]))])
    return FitRequest(Source(path), Roles("status"), totals=known, parameters={"random_state": 3, **parameters})


def count_rows(batch: Batch) -> int:
    return len(batch.X)


def encoded_here(path: Path, small: Table, **parameters: Any) -> EncodedTable:
    return encode_register(asked(path, small, **parameters), most=MOST)


def test_a_file_has_the_sample_the_totals_and_the_rows_of_the_same_table_in_memory(path: Path, small: Table) -> None:
    register, expected = encoded_here(path, small).register, small.register(most=MOST)
    assert register is not None
    assert np.array_equal(register.positions, expected.positions)
    assert np.array_equal(register.rows, expected.rows)
    assert register.targets.low.tolist() == expected.targets.low.tolist()
    assert register.known.targets.class_totals().tolist() == expected.known.targets.class_totals().tolist()
    marks = [one.batches.total(mark_rows, NO_DEADLINE) for one in (register, expected)]
    assert marks[0] is not None
    assert marks[1] is not None
    assert marks[0].tolist() == marks[1].tolist()
    assert register.batches.total(count_rows, NO_DEADLINE) == 1960


def test_a_fit_to_a_file_gives_the_tree_of_the_array_and_completes_every_row(small: Table, tmp_path: Path) -> None:
    path = write(small, tmp_path / "people.parquet")
    fitted = fit_encoded(encoded_here(path, small, depth=2))
    in_memory = S2OCTClassifier(depth=2, random_state=3)._fit_register(small.register(most=MOST), PLAIN)
    assert fitted.classifier.rules_ == in_memory.rules_
    assert fitted.classifier.data_summary_ == in_memory.data_summary_
    completed = pa.concat_tables(fitted.completed())
    assert completed.num_rows == 2000
    labels = np.array(completed["status_completed"].to_pylist(), dtype=object)
    assert (labels[40:] == "A").sum() == small.totals["A"]
    assert labels[:40].tolist() == small.y[:40].tolist()


def test_domains_and_weights_of_a_file_are_those_of_the_same_table_in_memory(small: Table, tmp_path: Path) -> None:
    region = np.array(["north", "south", "west"], dtype=object)[np.arange(2000) * 7 % 3]
    sex = np.array([1, 2])[(small.X[:, 2] > 0).astype(int)]
    weight = np.random.default_rng(0).integers(1, 9, 2000) / 4
    path = write(small, tmp_path / "people.parquet", region=pa.array(region, pa.string()), sex=sex, weight=weight)
    sums = [
        {name: float(weight[40:][part[40:] == name].sum()) for name in set(part.tolist())} for part in (region, sex)
    ]
    totals = [{str(name): {"A": 0.4 * rows} for name, rows in given.items()} for given in sums]
    files = []
    for name, given in zip(("region", "sex"), totals, strict=True):
        files.append(tmp_path / f"{name}.csv")
        lines = [f"{domain},{classes['A']!r},{1.5 * classes['A']!r}" for domain, classes in given.items()]
        files[-1].write_text("\n".join([f"{name},A,B", *lines]) + "\n")
    roles = Roles("status", margins=(("region",), ("sex",)), weight="weight")
    known = TableTotals(files=tuple(Source(file) for file in files))
    request = FitRequest(Source(path), roles, totals=known, parameters={"random_state": 3})
    register = encode_register(request, most=MOST).register
    both = {name: {**given, "B": 1.5 * given["A"]} for name, given in {**totals[0], **totals[1]}.items()}
    expected = replace(
        small,
        totals=[{name: both[name] for name in part} for part in totals],
        options={"domains": {"region": region, "sex": sex.astype(str)}, "sample_weight": weight},
    ).register(most=MOST)
    assert register is not None
    assert register.unit == pytest.approx(expected.unit)
    assert register.n_unlabeled == expected.n_unlabeled
    assert register.targets.low == pytest.approx(expected.targets.low)
    assert np.array_equal(register.positions, expected.positions)
    for one, other in zip(register.known.targets.margins, expected.known.targets.margins, strict=True):
        assert one.codes.tolist() == other.codes.tolist()
        assert one.low == pytest.approx(other.low)
    marks = [one.batches.total(mark_rows, NO_DEADLINE) for one in (register, expected)]
    assert marks[0] is not None
    assert marks[1] is not None
    assert marks[0].tolist() == marks[1].tolist()


def test_rows_of_weight_0_in_a_file_do_not_count_and_teach_no_category(small: Table, tmp_path: Path) -> None:
    region = np.array(["north", "south"], dtype=object)[np.arange(2000) % 2]
    weight = np.where(np.isin(np.arange(2000), [3, 45, 46, 1999]), 0.0, 2.0)
    weight[50] = 3.0
    region[1999] = "island"
    path = write(small, tmp_path / "p.parquet", region=pa.array(region, pa.string()), weight=weight)
    known = TableTotals([("A", str(0.4 * weight[40:].sum()))])
    request = FitRequest(Source(path), Roles("status", weight="weight"), totals=known, parameters={"random_state": 3})
    encoded = encode_register(request, most=MOST)
    register = encoded.register
    assert register is not None
    assert (register.n_labeled, register.n_unlabeled) == (39, 1957)
    assert register.unit == pytest.approx(weight[40:].sum() / 1957)
    assert not set(register.positions.tolist()) & {3, 45, 46, 1999}
    assert encoded.encoding.columns[-1].categories == ("north", "south")
    assert register.batches.total(count_rows, NO_DEADLINE) == 1957
    completed = pa.concat_tables(fit_encoded(encoded).completed())
    assert completed.num_rows == 2000
    assert completed["status_completed"][3].as_py() == small.y[3]


def test_a_category_that_only_one_row_has_is_known_although_the_sample_lacks_it(small: Table, tmp_path: Path) -> None:
    region = np.array(["north", "south"], dtype=object)[np.arange(2000) % 2]
    sampled = small.register(most=MOST).positions
    region[next(row for row in range(1500, 2000) if row not in sampled)] = "island"
    encoded = encoded_here(write(small, tmp_path / "p.parquet", region=pa.array(region, pa.string())), small)
    assert encoded.register is not None
    assert encoded.encoding.columns[-1].categories == ("island", "north", "south")
    assert encoded.encoding.columns[-1].rest == "island"
    assert encoded.register.batches.total(mark_rows, NO_DEADLINE) is not None


def test_gaps_are_filled_and_counted_in_all_rows(small: Table, tmp_path: Path) -> None:
    age = small.X[:, 0].copy()
    age[[1234, 1777]] = np.nan
    path = write(small, tmp_path / "people.parquet", age=age)
    encoded = encoded_here(path, small)
    assert [use.n_missing for use in encoded.uses if use.name == "age"] == [2]


def test_what_is_seen_in_parts_is_what_is_seen_in_the_whole(small: Table, tmp_path: Path) -> None:
    words = pa.array([f"w{row % 7}" for row in range(2000)], pa.string())
    source = Source(write(small, tmp_path / "people.parquet", words=words))
    look = LookAtRows(Roles("status"), ("x0", "words"), source.dialect, 3, MOST)
    cells = source.whole()
    whole = look(cells, 0)
    parts = [look(cells.slice(first, 170), first) for first in range(0, 2000, 170)]
    added = parts[0]
    for part in parts[1:]:
        added = added + part
    for one, other in ((whole.labeled, added.labeled), (whole.sampled, added.sampled), (whole.shown, added.shown)):
        assert one.equals(other)
    assert (whole.n_rows, whole.n_gaps.tolist()) == (added.n_rows, added.n_gaps.tolist())


@pytest.mark.slow
def test_the_workers_of_a_cluster_give_the_same_tree(small: Table, tmp_path: Path) -> None:
    distributed = require_package("distributed")
    path = write(small, tmp_path / "people.parquet")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
        ) as cluster,
        cluster_client(cluster.scheduler_address) as client,
    ):
        there = fit_encoded(encode_register(asked(path, small, depth=2), client, MOST))
    here = fit_encoded(encoded_here(path, small, depth=2))
    assert there.classifier.rules_ == here.classifier.rules_
    assert there.classifier.data_summary_ == here.classifier.data_summary_


def test_what_is_sent_to_workers_can_be_sent(small: Table, tmp_path: Path) -> None:
    source = Source(write(small, tmp_path / "people.parquet"))
    encoded = encoded_here(source.path, small)
    assert encoded.register is not None
    look = LookAtRows(Roles("status"), ("x0",), source.dialect, 3, 50)
    looks = pickle.loads(pickle.dumps(FileBatches(source, source.columns, 100, look)))
    assert min(looks.total_here(unchanged, 1, 300).sampled[""].to_pylist()) >= 300
    batches = pickle.loads(pickle.dumps(encoded.register.batches))
    assert sum(batches.total_here(count_rows, group, 300 * group) for group in range(7)) == 1960


def test_an_array_and_a_register_of_it_have_the_same_unlabeled_rows(small: Table) -> None:
    register = Register.of_arrays(small.X, small.known, seed=0, most=MOST)
    assert isinstance(register.batches, ArrayBatches)
    assert sum(len(batch.X) for batch in register.batches) == register.n_unlabeled
