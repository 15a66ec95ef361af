"""One call from a table to a fitted tree, without a command line."""

from __future__ import annotations

import pyarrow as pa
import pytest

from s2oct.errors import InvalidProblem, InvalidTable, Remedy, S2OCTWarning
from s2oct.fit.certificate import Cell
from s2oct.tables.columns import Treatment
from s2oct.tables.partly_labeled import Roles
from s2oct.tables.totals import TableTotals
from s2oct.workflow.encoded_table import FitRequest, encode_table, remembered_totals
from s2oct.workflow.fitted_table import fit_encoded
from tests.messages import names, naming

TEXT = "key,age,town,works\n" + "".join(
    f"{i:03d},{age},{'north' if i % 2 else 'south'},{works}\n"
    for i, (age, works) in enumerate(
        [(20, "no"), (25, "no"), (60, "yes"), (65, "yes"), *((a, "") for a in range(22, 70, 6))]
    )
)
QUICK = {"depth": 1, "guide": None, "solver": None, "time_limit": 2.0, "random_state": 0}
FOUR = TableTotals([("yes", "4")])


@pytest.fixture
def request_for(table):
    """``request_for(text, **parts)`` asks for a quick fit."""

    def ask(text=TEXT, **parts):
        usual = {"roles": Roles("works", ids=("key",)), "treatment": Treatment("onehot"), "totals": FOUR}
        return FitRequest(table(text), **{**usual, "parameters": QUICK, **parts})

    return ask


def test_fit_holds_all_that_outputs_need(request_for):
    fitted = fit_encoded(encode_table(request_for()))
    assert fitted.encoded.encoding.features == ("age", "town=south")
    assert fitted.classifier.encoding_ is fitted.encoded.encoding
    assert fitted.encoded.features.rows.shape == (12, 2)
    assert fitted.classifier.data_summary_.totals == (4, 4)
    assert fitted.table.row_ids[:2] == ["000", "001"]
    assert (fitted.table.n_rows, fitted.table.n_unlabeled) == (12, 8)
    assert fitted.classifier.certificate_.xi == 0
    (note,) = fitted.notes
    assert names(note, "few labels", "'no'", "'yes'", 2)


def test_completed_table_keeps_every_cell_and_adds_a_label_for_every_row(request_for):
    fitted = fit_encoded(encode_table(request_for()))
    completed = pa.concat_tables(fitted.completed())
    added = ["works_completed", "works_predicted", "works_leaf", "works_stability"]
    assert completed.column_names == ["key", "age", "town", "works", *added]
    assert completed.select(["key", "age", "town", "works"]).equals(fitted.table.cells)
    labels = completed["works_completed"].to_pylist()
    assert labels == fitted.classifier.transduction_.tolist()
    assert labels[:4] == ["no", "no", "yes", "yes"]
    assert labels[4:].count("yes") == 4
    assert fitted.classifier.contradicted_.tolist() == []
    assert set(completed["works_leaf"].to_pylist()) == {2, 3}
    assert completed["works_stability"].to_pylist()[:4] == [None] * 4


def test_minus_one_marks_unlabeled_rows_as_in_python(request_for):
    numbers = TEXT.replace(",no\n", ",0\n").replace(",yes\n", ",1\n").replace(",\n", ",-1\n")
    fitted = fit_encoded(encode_table(request_for(numbers, totals=TableTotals([("1", "4")]))))
    assert pa.concat_tables(fitted.completed())["works_completed"].to_pylist().count(1) == 6


def test_what_a_fit_warns_of_is_in_its_notes(request_for):
    """The notes come from the classifier, not from the process's warnings: fits in two threads keep theirs apart."""
    with pytest.warns(S2OCTWarning, match=naming("total", "estimate")):
        fitted = fit_encoded(encode_table(request_for(totals=TableTotals())))
    note, _ = fitted.notes
    assert names(note, "total", "estimate")


@pytest.mark.parametrize("column", ["works_completed", "works_predicted", "works_leaf", "works_stability"])
def test_columns_of_an_earlier_fit_are_no_features(request_for, column):
    with pytest.raises(InvalidTable, match=naming(f"'{column}'")) as caught:
        fit_encoded(encode_table(request_for(TEXT.replace("town", column, 1))))
    assert (caught.value.remedies, caught.value.column) == ((Remedy.LEAVE_OUT,), column)
    roles = Roles("works", ids=("key",), excluded=(column,))
    assert fit_encoded(
        encode_table(request_for(TEXT.replace("town", column, 1), roles=roles))
    ).encoded.encoding.features == ("age",)


def test_parameters_reach_the_classifier_and_unknown_ones_are_refused(request_for):
    assert fit_encoded(encode_table(request_for(parameters={**QUICK, "C": 2.5}))).classifier.C == 2.5
    with pytest.raises(InvalidProblem, match=naming("'depth'", "'deep'")):
        fit_encoded(encode_table(request_for(parameters={"deep": 3})))


@pytest.mark.parametrize(
    ("roles", "named"),
    [
        ({"label": "a", "features": ("a", "b")}, ("'a'", "label", "feature")),
        ({"label": "a", "ids": ("b",), "features": ("b",)}, ("['b']", "feature", "id")),
    ],
    ids=str,
)
def test_roles_check_themselves(roles, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        Roles(**roles)


def test_a_row_of_weight_0_gets_its_class_from_the_cells_as_the_file_writes_them(request_for):
    """The file has decimal commas, which a table in memory would not have."""
    text = TEXT.replace(",", ";").replace("age;", "age;w;", 1)
    head, *lines = text.strip().split("\n")
    rows = [line.split(";") for line in lines]
    written = [[key, f"{age},5", "0" if i == 11 else "1", *rest] for i, (key, age, *rest) in enumerate(rows)]
    request = request_for("\n".join([head, *map(";".join, written)]), roles=Roles("works", ids=("key",), weight="w"))
    completed = pa.concat_tables(fit_encoded(encode_table(request)).completed())
    assert set(completed["works_completed"].to_pylist()) == {"no", "yes"}


def test_a_file_with_many_rows_is_fitted_as_the_page_does(request_for, monkeypatch):
    monkeypatch.setattr("s2oct.problem.batches.MOST_WHOLE", 5)
    fitted = fit_encoded(encode_table(request_for(parameters={"depth": 1, "random_state": 0})))
    assert fitted.classifier.certificate_.n_register == 12
    assert fitted.classifier.data_summary_.totals == (4, 4)
    assert len(pa.concat_tables(fitted.completed())) == 12


def test_the_totals_of_a_model_keep_their_domains_even_if_their_margin_has_no_name():
    cells = [Cell("", domain, k, k + 1, k + 1, k + 1, k + 1) for domain in ("north", "south") for k in (0, 1)]
    assert remembered_totals(["a", "b"], (), cells).form == {"north": {"a": 1, "b": 2}, "south": {"a": 1, "b": 2}}


def test_the_totals_of_a_model_of_the_whole_table_have_no_domain():
    assert remembered_totals(["a", "b"], (), [Cell("", "", 0, 1, 3, 2)]).form == {"a": (1, 3)}
    assert remembered_totals(["a", "b"], (1, 2), ()).form == {"a": 1, "b": 2}
