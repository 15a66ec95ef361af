"""The manifest, the loader and the sampling designs."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from s2oct.errors import InvalidProblem
from s2oct.study import StudyData, biased_draw, load_instance, manifest, simple_draw


def test_the_manifest_lists_the_papers_97_instances():
    facts = manifest()
    assert len(facts) == 97
    assert next(iter(facts)) == "prnn_synth"
    assert (facts["adult"].n_rows, facts["adult"].n_features) == (48790, 14)
    assert facts["postoperative_patient_data"].class_a == 0.0


def test_loading_drops_duplicates_and_incomplete_rows_and_merges_classes(tmp_path):
    """The label column may stand anywhere."""
    with gzip.open(tmp_path / "iris.tsv.gz", "wt") as out:
        out.write("a\ttarget\tb\n1\t1\t2\n1\t1\t2\n3\t0\t4\n5\t2\t6\n7\t\t8\n")
    data = load_instance("iris", tmp_path)
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(data.is_a, [True, False, False])


def write_four_classes(folder):
    with gzip.open(folder / "iris.tsv.gz", "wt") as out:
        out.write("a\ttarget\n1\t1\n2\t0\n3\t2\n4\t3\n5\t0\n6\t1\n")


@pytest.mark.parametrize(("n_classes", "labels"), [(2, "ABBBBA"), (3, "ABCCBA"), (4, "ABCDBA"), (9, "ABCDBA")], ids=str)
def test_classes_are_kept_apart_up_to_a_number_with_class_a_first(tmp_path, n_classes, labels):
    """Class A is the manifest's, the others follow in ascending order, and those beyond the number are one class."""
    write_four_classes(tmp_path)
    data = load_instance("iris", tmp_path, n_classes)
    assert "".join(data.classes[data.codes]) == labels
    assert data.n_classes == min(n_classes, 4)
    np.testing.assert_array_equal(data.is_a, load_instance("iris", tmp_path).is_a)


def test_an_unknown_instance_is_named(tmp_path):
    with pytest.raises(InvalidProblem, match="Table 1, got 'irises'"):
        load_instance("irises", tmp_path)


def test_draws_label_a_tenth_of_the_rows_and_the_biased_one_prefers_class_a():
    data = StudyData.of_targets("iris", np.arange(1000.0)[:, None], np.arange(1000) < 500)
    shares = {
        design: np.mean([draw(data, seed).data.is_a[draw(data, seed).is_labeled].mean() for seed in range(20)])
        for design, draw in (("biased", biased_draw), ("simple", simple_draw))
    }
    assert biased_draw(data, 0).is_labeled.sum() == 100
    assert 0.75 < shares["biased"] < 0.9
    assert 0.45 < shares["simple"] < 0.55


def test_a_draw_is_the_same_whenever_it_is_drawn_and_its_totals_are_true():
    data = StudyData.of_targets("iris", np.arange(50.0)[:, None], np.arange(50) % 3 == 0)
    first, again, other = biased_draw(data, 3), biased_draw(data, 3), biased_draw(data, 4)
    np.testing.assert_array_equal(first.is_labeled, again.is_labeled)
    assert (first.is_labeled != other.is_labeled).any()
    unlabeled = ~first.is_labeled
    assert first.totals == {"A": data.is_a[unlabeled].sum(), "B": (~data.is_a[unlabeled]).sum()}
    assert first.problem().totals.tolist() == list(first.totals.values())


def three_classes(n_rows):
    return StudyData("iris", np.arange(float(n_rows))[:, None], np.arange(n_rows) % 3)


def test_a_biased_draw_of_three_classes_prefers_class_a_and_treats_the_others_alike():
    data = three_classes(1500)
    shares = np.mean(
        [np.bincount(data.codes[biased_draw(data, seed).is_labeled], minlength=3) / 150 for seed in range(20)], axis=0
    )
    # .85 of .85 + .15 + .15, and a little less because rows of class A run out.
    assert 0.65 < shares[0] < 0.75
    assert shares[1] == pytest.approx(shares[2], abs=0.03)


def test_a_draw_of_three_classes_labels_the_rows_of_the_draw_of_two():
    """The odds depend on class A alone, so that both studies see the same labeled rows."""
    data = three_classes(90)
    two = StudyData.of_targets("iris", data.X, data.codes == 0)
    np.testing.assert_array_equal(biased_draw(data, 1).is_labeled, biased_draw(two, 1).is_labeled)


def test_a_draw_of_three_classes_has_a_label_and_a_true_total_for_each():
    draw = simple_draw(three_classes(60), seed=0, share=0.5)
    assert set(draw.y[draw.is_labeled]) == {"A", "B", "C"}
    assert set(draw.y[~draw.is_labeled]) == {None}
    truth = np.array(list("ABC" * 20))[~draw.is_labeled]
    assert draw.totals == {name: int((truth == name).sum()) for name in "ABC"}
    assert draw.problem().totals.tolist() == list(draw.totals.values())
