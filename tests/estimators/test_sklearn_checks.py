"""scikit-learn's own conformance checks, with the one exemption that our contract requires.

Some checks compare two fits, and two fits that the clock ends need not be equal. At depth 1, P2 over fully labeled
rows is a linear program, which is decided within the limit; OCT-H needs depth 2 for the three classes of the checks.
"""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from s2oct import OCTHClassifier, S2OCTClassifier

pytestmark = pytest.mark.usefixtures("compiled")

EXEMPT = {
    "check_classifiers_classes": (
        "fits y in {-1, +1} without any other marker, where -1 may be a class or mark unlabeled rows: "
        "the contract is to refuse that and to say how to mark them"
    ),
}


@parametrize_with_checks(
    [
        S2OCTClassifier(depth=1, time_limit=2.0, random_state=0),
        OCTHClassifier(depth=2, time_limit=1.0, random_state=0),
    ],
    expected_failed_checks=lambda estimator: EXEMPT,
)
@pytest.mark.filterwarnings("ignore::s2oct.errors.S2OCTWarning")
def test_scikit_learn_finds_nothing_else(estimator, check):
    check(estimator)
