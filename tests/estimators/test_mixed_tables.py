"""Classifiers read tables as people have them: text, categories, booleans and gaps, from every library."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import get_tags

import s2oct
from s2oct import OCTHClassifier, PriorCorrectedClassifier, S2OCTClassifier, SelfTrainedForest, TopTotalClassifier
from s2oct.errors import InvalidProblem, S2OCTWarning
from s2oct.evidence.evidence import Evidence
from s2oct.export import report_html
from tests.messages import names, naming
from tests.people import EDUCATION, FEATURES, make_people


@pytest.fixture(scope="module")
def people():
    return make_people()


def classifier(**parameters):
    return S2OCTClassifier(**{"depth": 2, "max_features_per_split": 1, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def fitted(people):
    return classifier().fit(people.X, people.y, totals=people.totals)


def in_polars(frame):
    table = pl.from_pandas(frame.astype({"education": object}))
    return table.with_columns(pl.col("education").cast(pl.Enum(EDUCATION)))


LIBRARIES = {
    "pandas": lambda frame: frame,
    "pandas, nullable": lambda frame: frame.convert_dtypes().astype({"education": frame["education"].dtype}),
    "pandas, categories": lambda frame: frame.astype({"sector": "category"}),
    "polars": in_polars,
    "Arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gives_the_same_tree(people, fitted, library):
    table = LIBRARIES[library](people.X)
    clf = classifier().fit(table, people.y, totals=people.totals)
    assert clf.encoding_ == fitted.encoding_
    assert clf.rules_ == fitted.rules_
    assert clf.data_summary_ == fitted.data_summary_
    assert clf.predict(table).tolist() == fitted.predict(people.X).tolist()


def test_columns_are_read_by_their_type(fitted):
    kinds = {column.name: (column.kind, column.gaps) for column in fitted.encoding_.columns}
    assert kinds == {
        "age": ("number", True),
        "income": ("number", False),
        "sector": ("onehot", True),
        "education": ("ordinal", True),
        "owner": ("boolean", False),
    }
    assert fitted.n_features_in_ == 5
    assert fitted.feature_names_in_.tolist() == FEATURES


def test_rules_speak_of_levels_and_missing_values():
    """Each kind of column decides the class once, so that its rule must appear."""
    n = 120
    education = pd.Categorical(np.resize(EDUCATION, n), EDUCATION, ordered=True)
    frames = {
        "education >= secondary": pd.DataFrame({"education": education}),
        "not owner": pd.DataFrame({"owner": np.arange(n) % 3 == 0}),
        "sector is public": pd.DataFrame({"sector": np.resize(["public", "farming", "industry"], n)}),
        "age <= 30": pd.DataFrame({"age": np.resize([20.0, 41.0, 60.0, np.nan, 41.0], n)}),
    }
    for rule, frame in frames.items():
        first = frame.iloc[:, 0]
        truth = np.where(first == first.iloc[0], "a", "b").astype(object)
        y = np.where(np.arange(n) < 60, truth, None)
        clf = classifier(depth=1).fit(frame, y, totals={"a": int((truth[60:] == "a").sum())})
        text = clf.rules_.replace("if owner:", "if not owner:").replace(
            "education <= primary", "education >= secondary"
        )
        assert rule in text, clf.rules_


@pytest.mark.parametrize("make", [np.asarray, lambda X: pd.DataFrame(X, columns=["a", "b"])], ids=["array", "frame"])
def test_numbers_that_had_gaps_have_an_indicator_in_tables_without_gaps_too(make):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(80, 2)).astype(float)
    X[::3, 0] = np.nan
    y = np.where(np.isnan(X[:, 0]), "a", "b").astype(object)
    y[40:] = None
    clf = classifier(depth=1).fit(make(X), y, totals={"a": 13})
    assert len(clf.encoding_.features) == 3
    assert clf.rules_.splitlines()[0].endswith((" is missing:", " is not missing:"))
    assert clf.certificate_.n_terms == 1
    complete = np.array([[1.0, 2.0], [8.0, 0.0]])
    assert clf.predict(make(complete)).tolist() == ["b", "b"]
    assert clf.predict(make(np.array([[np.nan, 2.0]]))).tolist() == ["a"]


def test_a_column_that_is_called_like_an_indicator_of_gaps_is_refused():
    X = pd.DataFrame({"a": [1.0, None, 2.0, 4.0], "a=missing": [0.0, 1.0, 0.0, 0.0]})
    with pytest.raises(InvalidProblem, match=naming("'a=missing'", "column", "feature")):
        classifier(depth=1).fit(X, ["u", "v", None, None])


def test_levels_and_gaps_that_the_fit_did_not_see_are_one_warning(people, fitted):
    new = people.X.copy()
    new.loc[:1, "sector"] = "space"
    new.loc[2, "income"] = np.nan
    with pytest.warns(S2OCTWarning) as caught:
        found = fitted.predict(new)
    (warning,) = caught
    assert names(str(warning.message), "'sector'", "'space'", 2, "'farming'")
    assert names(str(warning.message), "'income'", 1)
    known = people.X.copy()
    known.loc[:1, "sector"] = "farming"
    known.loc[2, "income"] = fitted.encoding_.columns[1].fill
    assert found.tolist() == fitted.predict(known).tolist()


def test_gaps_that_the_fit_has_seen_are_no_warning(people, fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(people.X)


def test_more_columns_are_ignored_and_missing_ones_are_named(people, fitted):
    assert fitted.predict(people.frame).tolist() == fitted.predict(people.X).tolist()
    with pytest.raises(ValueError, match=naming("missing")):
        fitted.predict(people.X.drop(columns="sector"))
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(people.X[FEATURES[::-1]])


CATEGORICAL = {"names": ["region"], "positions": [1], "mask": [False, True]}


@pytest.mark.parametrize("form", CATEGORICAL)
def test_numbers_may_be_categories(form):
    frame = pd.DataFrame({"x": np.arange(60.0), "region": np.resize([1, 2, 3], 60)})
    truth = np.where(frame["region"] == 2, "a", "b").astype(object)
    y = np.where(np.arange(60) < 30, truth, None)
    clf = classifier(depth=1, categorical_features=CATEGORICAL[form]).fit(frame, y, totals={"a": 10})
    assert clf.encoding_.columns[1].categories == ("1", "2", "3")
    assert "region is 2" in clf.rules_.replace("is not", "is")


def test_text_is_refused_where_no_column_is_categorical(people):

    with pytest.raises(InvalidProblem, match=naming("'sector'", 1, "categorical_features")):
        classifier(categorical_features=None).fit(people.X, people.y, totals=people.totals)
    with pytest.raises(InvalidProblem, match="categorical_features"):
        classifier(categorical_features=["no such column"]).fit(people.X, people.y, totals=people.totals)


def test_arrays_of_objects_and_lists_of_rows_may_hold_text(people, fitted):
    rows = people.X.astype({"education": object}).to_numpy(dtype=object)
    array = classifier().fit(rows, people.y, totals=people.totals)
    listed = classifier().fit(rows.tolist(), people.y, totals=people.totals)
    assert array.encoding_.columns[2].categories == fitted.encoding_.columns[2].categories
    assert array.rules_ == listed.rules_
    assert not hasattr(array, "feature_names_in_")
    assert array.predict(rows[60:]).tolist() == array.transduction_[60:].tolist()


def test_a_column_with_another_text_in_every_row_is_not_used(people):
    X = people.X.assign(name=[f"person {i}" for i in range(len(people.X))])
    with pytest.warns(S2OCTWarning, match=naming("'name'")):
        clf = classifier().fit(X, people.y, totals=people.totals)
    assert "name" not in clf.encoding_.names
    assert clf.n_features_in_ == 6
    assert clf.predict(X.drop(columns="name")).tolist() == clf.predict(X).tolist()


@pytest.mark.parametrize("columns", [["age"], ["age", "sector"]], ids=["numbers alone", "numbers and text"])
def test_row_numbers_are_not_used(people, columns):
    X = people.X[columns].assign(rownames=range(3, len(people.X) + 3))
    with pytest.warns(S2OCTWarning, match=naming("'rownames'")):
        clf = classifier().fit(X, people.y, totals=people.totals)
    assert list(clf.encoding_.names) == columns
    assert clf.predict(X).tolist() == clf.predict(X[columns]).tolist()


def test_dates_are_refused_with_a_remedy(people):
    X = people.X.assign(born=pd.date_range("1950-01-01", periods=len(people.X)))
    for dates in (X["born"], X["born"].dt.strftime("%Y-%m-%d")):  # pandas reads dates from a CSV file as text
        with pytest.raises(InvalidProblem, match=naming("'born'", "dates", "column")):
            classifier().fit(X.assign(born=dates), people.y, totals=people.totals)


def test_waves_written_as_dates_are_levels_if_their_type_or_the_user_says_so(people):
    X = people.X.assign(wave=np.where(np.arange(len(people.X)) % 2, "2020-01", "2021-01"))
    by_type = classifier().fit(X.astype({"wave": "category"}), people.y, totals=people.totals)
    columns = ["wave", *(column.name for column in by_type.encoding_.columns if column.kind in ("onehot", "ordinal"))]
    by_name = classifier(categorical_features=columns).fit(X, people.y, totals=people.totals)
    for clf in (by_type, by_name):
        assert clf.encoding_.columns[-1].categories == ("2020-01", "2021-01")


@pytest.mark.parametrize("library", ["pandas", "polars", "Arrow"])
def test_the_labels_are_no_feature(people, library):
    y = pd.Series(people.y, name="works")
    table = LIBRARIES[library](people.X.assign(works=y))
    with pytest.raises(InvalidProblem, match=naming("'works'", "label")):
        classifier().fit(table, y, totals=people.totals)
    other = people.X.assign(works=np.resize(["a", "b"], len(y)))
    assert "works" in classifier().fit(other, y, totals=people.totals).encoding_.names


@pytest.mark.parametrize("row", [lambda X: X.iloc[0], lambda X: X["sector"], lambda X: in_polars(X)["sector"]])
def test_one_row_or_one_column_is_no_table(people, fitted, row):
    for call in (fitted.predict, lambda X: classifier().fit(X, people.y, totals=people.totals)):
        with pytest.raises(InvalidProblem, match=naming(1, "dimension")):
            call(row(people.X))


@pytest.mark.parametrize(
    "guide",
    [
        RandomForestClassifier(50, random_state=0),
        HistGradientBoostingClassifier(max_iter=20),
        SelfTrainedForest(20, random_state=0),
        TopTotalClassifier(PriorCorrectedClassifier(LogisticRegression(max_iter=1000))),
        make_pipeline(
            ColumnTransformer([("sector", OneHotEncoder(handle_unknown="ignore"), ["sector"])]), LogisticRegression()
        ),
    ],
    ids=["forest", "boosting", "self-trained", "wrapped", "pipeline"],
)
def test_any_guide_reads_the_table(people, guide):
    clf = classifier(guide=guide).fit(people.X, people.y, totals=people.totals)
    assert clf.certificate_.guide_weight
    assert clf.certificate_.xi <= 1


@pytest.mark.parametrize(
    "wrapper",
    [
        SelfTrainedForest(20, random_state=0),
        TopTotalClassifier(RandomForestClassifier(20, random_state=0)),
        PriorCorrectedClassifier(LogisticRegression(max_iter=1000)),
    ],
    ids=["forest", "top total", "prior corrected"],
)
def test_wrappers_read_the_table(people, wrapper):
    clf = wrapper.fit(people.X, people.y, totals=people.totals)
    assert (clf.transduction_[:60] == people.truth[:60]).all()
    assert (clf.predict(people.X) == people.truth).mean() > 0.6
    assert get_tags(clf).input_tags.categorical
    assert get_tags(clf).input_tags.allow_nan


@pytest.mark.filterwarnings("ignore:.*time limit")
def test_the_supervised_tree_reads_the_table(people):
    clf = OCTHClassifier(depth=1, solver=None, time_limit=1.0, random_state=0).fit(
        people.X[["sector", "owner"]], people.y
    )
    assert clf.encoding_.names == ("sector", "owner")
    assert set(clf.predict(people.X)) <= {"yes", "no"}


def test_totals_by_a_text_column_and_weights_are_known_beside_the_features(people):
    frame = people.frame
    totals = {
        region: {"yes": float(frame["w"][60:][(frame["region"][60:] == region) & (people.truth[60:] == "yes")].sum())}
        for region in ("north", "south")
    }
    X = frame.drop(columns="w")
    clf = classifier(depth=3, max_features_per_split="auto", total_price=np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # weights need not add up to totals
        clf.fit(X, people.y, totals=totals, domains="region", sample_weight=frame["w"])
    assert "region" not in clf.encoding_.names
    assert clf.certificate_.xi <= frame["w"].mean()
    table = clf.estimate(by="region", replicates=2)
    assert [row["domain"] for row in table] == ["north", "north", "south", "south"]


def test_reports_pictures_and_explanations_take_raw_rows(people, fitted):
    page = report_html(fitted, people.X, people.y, totals=people.totals, rivals=False)
    assert "A fitted tree" in page
    explanation = str(fitted.explain(people.X.iloc[0]))
    assert explanation.endswith(f"The class is '{fitted.predict(people.X[:1])[0]}'.")
    s2oct.plot_tree(fitted, people.X, people.y)
    s2oct.plot_totals(fitted, people.X, people.y)


def test_a_model_file_reads_raw_tables(people, fitted, tmp_path):
    s2oct.save(fitted, tmp_path / "model.json")
    again = s2oct.load(tmp_path / "model.json")
    assert again.predict(in_polars(people.X)).tolist() == fitted.predict(people.X).tolist()
    assert again.rules_ == fitted.rules_
    assert pickle.loads(pickle.dumps(fitted)).predict(people.X).tolist() == fitted.predict(people.X).tolist()


def test_a_simpler_tree_is_a_classifier_like_any_other(people, tmp_path):
    clf = classifier(max_features_per_split="auto").fit(people.X, people.y, totals=people.totals)
    path = clf.simplicity_path(assess=False)
    simple = clf.with_tree(path[0])
    assert simple.rules_ == path[0].rules
    assert simple.certificate_.n_terms == path[0].n_terms
    assert simple.certificate_.xi == path[0].rows_off
    fit = clf._session.fit
    evidence = Evidence.of(fit.guided_problem, clf.tree_.topology, fit.guide_weight)
    against = [evidence.total_cost(evidence.cost_of(step.tree), 0.0) for step in (path[0], path[-1])]
    assert against[0] - against[1] == pytest.approx(path[0].evidence_gap, abs=1e-6)
    price = path[0].term_price * evidence.cost_of(path[0].tree).price
    assert simple.certificate_.evidence_cost == pytest.approx(against[0] + price, abs=1e-6)
    assert clf.rules_ == path.fitted.rules
    s2oct.save(simple, tmp_path / "simple.json")
    assert s2oct.load(tmp_path / "simple.json").predict(people.X).tolist() == simple.predict(people.X).tolist()
    assert "A fitted tree" in report_html(simple, people.X, people.y, totals=people.totals, rivals=False)
    assert simple.transduction_[60:].tolist() == simple.predict(people.X[60:]).tolist()
    assert np.isnan(simple.stability_).all()
    assert len(simple.estimate(replicates=2)) == 2
    with pytest.raises(InvalidProblem, match="a step of simplicity_path"):
        clf.with_tree(3)


def test_what_is_known_already_is_not_read_again(people, fitted, monkeypatch):
    """Totals are parsed once in a fit, and not at all if they are known."""
    from s2oct.problem import known as reading

    calls = []
    parse = reading.stated_totals
    monkeypatch.setattr(reading, "stated_totals", lambda *given, **more: calls.append(1) or parse(*given, **more))
    clf = classifier(depth=1, total_price=np.inf)
    clf.fit(people.X, people.y, totals=people.totals)
    assert calls == [1]
    clf.fit(people.X, fitted._session.fit.known)
    assert calls == [1]


def test_totals_beside_what_is_known_are_refused(people, fitted):
    with pytest.raises(InvalidProblem, match=naming("total")):
        classifier().fit(people.X, fitted._session.fit.known, totals=people.totals)


def by_domain(people, column):
    """Totals of both halves of the rows, which a text column in front of the others names."""
    half = np.where(np.arange(len(people.X)) % 2, "u", "v")
    totals = {name: {"yes": int((people.truth[60:] == "yes")[half[60:] == name].sum())} for name in ("u", "v")}
    frame = people.X.copy()
    frame.insert(0, column, half)
    return frame, totals


def test_rows_of_weight_0_teach_nothing_about_columns(people):
    extra = people.X[:3].assign(age=1000.0, sector="space")
    X, y = pd.concat([people.X, extra], ignore_index=True), np.append(people.y, [None] * 3)
    weights = np.append(np.ones(len(people.X)), np.zeros(3))
    long = classifier().fit(X, y, totals=people.totals, sample_weight=weights)
    short = classifier().fit(people.X, people.y, totals=people.totals)
    assert long.encoding_ == short.encoding_
    assert long.rules_ == short.rules_
    numbers = classifier().fit(X[["age", "income"]], y, totals=people.totals, sample_weight=weights)
    assert numbers.encoding_.columns[0].fill == short.encoding_.columns[0].fill


@pytest.mark.parametrize("features", [[1], ["age"]], ids=["number", "name"])
def test_numbers_of_columns_count_a_column_of_domains(people, features):
    X, totals = by_domain(people, "half")
    clf = classifier(depth=3, features=features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one feature cannot meet all totals
        clf.fit(X, people.y, totals=totals, domains="half")
        assert clf.certificate_.features == (0, 1), "age, and whether it is missing"
        masked = classifier(depth=3, categorical_features=[False, False, False, True, True, True])
        masked.fit(X, people.y, totals=totals, domains="half")
    assert masked.encoding_.columns[2].kind == "onehot"
    with pytest.raises(InvalidProblem, match=naming("'half'", "feature")):
        classifier(features=[0]).fit(X, people.y, totals=totals, domains="half")


@pytest.mark.parametrize(
    "wrapper",
    [
        SelfTrainedForest(20, random_state=0),
        TopTotalClassifier(RandomForestClassifier(20, random_state=0)),
        TopTotalClassifier(
            make_pipeline(ColumnTransformer([("age", "passthrough", ["income"])]), LogisticRegression(max_iter=1000))
        ),
    ],
    ids=["forest", "wrapper", "pipeline"],
)
def test_wrappers_do_not_learn_from_a_text_column_of_domains(people, wrapper):
    X, totals = by_domain(people, "half")
    clf = wrapper.fit(X, people.y, totals=totals, domains="half")
    assert clf.predict(X.drop(columns="half")).tolist() == clf.predict(X).tolist()


def test_wrappers_fill_gaps_of_nullable_columns_and_forget_old_names(people):
    X = pd.DataFrame({"a": people.X["age"].astype("Int64"), "b": people.X["income"].where(people.X.index % 9 > 0)})
    clf = TopTotalClassifier(LogisticRegression(max_iter=1000)).fit(X, people.y, totals=people.totals)
    assert clf.feature_names_in_.tolist() == ["a", "b"]
    clf.fit(people.X[["income"]].to_numpy(), people.y, totals=people.totals)
    assert (clf.n_features_in_, hasattr(clf, "feature_names_in_")) == (1, False)


def test_batches_of_arrow_are_tables_and_one_row_of_arrow_is_explained(people, fitted):
    table = pa.Table.from_pandas(people.X, preserve_index=False)
    (batch,) = table.combine_chunks().to_batches()
    clf = classifier().fit(batch, people.y, totals=people.totals)
    assert clf.feature_names_in_.tolist() == FEATURES
    assert clf.predict(batch).tolist() == fitted.predict(people.X).tolist()
    assert str(fitted.explain(table.slice(0, 1))) == str(fitted.explain(people.X[:1]))


def test_what_is_no_table_of_finite_numbers_is_refused_in_a_sentence(people):
    infinite = people.X[["income"]].replace(people.X["income"].max(), np.inf)
    for table in (infinite, pa.Table.from_pandas(infinite, preserve_index=False), pl.from_pandas(infinite)):
        with pytest.raises(InvalidProblem, match=naming("inf", "'income'")):
            classifier().fit(table, people.y, totals=people.totals)
    for strange in ({"income": [1.0]}, pl.from_pandas(infinite).lazy()):
        with pytest.raises(InvalidProblem, match="Expected a table"):
            classifier().fit(strange, people.y, totals=people.totals)
    with pytest.raises(InvalidProblem, match="categorical_features"):
        classifier(categorical_features="by type").fit(people.X[["income"]], people.y, totals=people.totals)


def test_replicate_weights_may_be_named_in_an_arrow_table(people):
    weights = {f"r{k}": np.where(np.arange(240) % 4 == k, 0.0, 4 / 3) for k in range(4)}
    table = pa.Table.from_pandas(people.X.assign(**weights), preserve_index=False)
    clf = classifier(features=FEATURES).fit(table, people.y, totals=people.totals)
    assert len(clf.estimate(replicate_weights=list(weights))) == 2


def test_a_tree_that_was_chosen_keeps_path_and_notices(people):
    X = people.X.assign(name=[f"person {i}" for i in range(len(people.X))])
    with pytest.warns(S2OCTWarning, match="'name'"):
        clf = classifier().fit(X, people.y, totals=people.totals)
    path = clf.simplicity_path(assess=False)
    chosen = clf.with_tree(path[0])
    own = chosen.simplicity_path(assess=False)
    assert own.with_fitted == path.with_fitted
    assert own.fitted is path[0]
    assert any("'name'" in notice for notice in chosen.notices_)


@pytest.mark.parametrize(
    "use",
    [
        lambda clf, X, y: clf.predict_proba(X),
        lambda clf, X, y: clf.score(X[:60], y[:60]),
        lambda clf, X, y: clf.explain(X[:1]) and clf.apply(X),
        lambda clf, X, y: s2oct.plot_tree(clf, X, y),
    ],
    ids=["predict_proba", "score", "apply", "plot_tree"],
)
def test_warnings_point_at_the_line_of_the_user(people, fitted, use):
    with pytest.warns(S2OCTWarning, match="were not seen") as caught:
        use(fitted, people.X.assign(sector="space"), people.y)
    assert {warning.filename for warning in caught if "were not seen" in str(warning.message)} == {__file__}
