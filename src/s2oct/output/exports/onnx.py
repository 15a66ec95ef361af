"""A tree as an ONNX graph in double precision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from s2oct.arrays import ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.lazy import import_extra
from s2oct.output.exports.rules import checked_encoding, plain_classes
from s2oct.tables.encoding import Column, Encoding
from s2oct.trees.features import NUMBER
from s2oct.trees.tree import ObliqueTree

OPSET, ML_OPSET, IR_VERSION = 17, 2, 8
"""Versions that older runtimes can read."""


def tree_to_onnx(
    tree: ObliqueTree, feature_names: Sequence[str], classes: Sequence[Any], *, encoding: Encoding | None = None
) -> bytes:
    """Write a tree as a serialised ONNX model.

    The graph takes the features as one tensor ``X`` of doubles, shape (rows, features), and returns the tensors
    ``label``, the class of each row, and ``leaf``, the id of its leaf. If the encoding has categories, there is one
    input of shape (rows, 1) per column instead, of doubles for numbers and of strings for categories and booleans. NaN
    is a missing number; the empty string and the default marks such as ``NA`` are missing categories. Missing values
    and levels not seen in the fit are handled as in `predict`. The graph adds one feature at a time, as `predict`
    does, because a matrix product may add in any order.

    ONNX cannot refuse a row: if `predict` would refuse it, ``leaf`` is 0 and ``label`` is meaningless. If a column is
    named ``label`` or ``leaf``, that output gets a trailing underscore.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    feature_names : sequence of str
        The names of all features.
    classes : sequence
        The class labels, in the order of their indices: strings, integers, floats or booleans.
    encoding : Encoding, optional
        The encoding of columns as features; by default every feature is a column.

    Returns
    -------
    bytes
        The serialised model.
    """
    columns = checked_encoding(tree, feature_names, classes, encoding)
    graph = _Graph(columns)
    graph.route(tree, graph.read(columns), _label_tensor(classes))
    return graph.serialised()


def _label_tensor(classes: Sequence[Any]) -> ObjectArray:
    plain = plain_classes(classes)
    # In a text array, numpy would drop trailing NUL characters.
    labels = np.array(plain, dtype=object if any(isinstance(label, str) for label in plain) else None)
    if labels.dtype.kind not in "ifb" and not all(isinstance(label, str) for label in plain):
        raise InvalidProblem(f"Expected classes that are strings, numbers or booleans, got {list(classes)}.")
    kinds: dict[str, Any] = {"i": np.int64, "f": np.float64, "b": np.bool_}
    return labels.astype(kinds.get(labels.dtype.kind, object))


class _Graph:
    """Collects nodes and constants; methods that add a node return the name of its output."""

    def __init__(self, encoding: Encoding) -> None:
        self._onnx = import_extra("onnx", "ONNX exports")
        taken = () if encoding.is_numeric else encoding.names
        self._columns = encoding.names
        self._results = {name: _unlike(taken, name) for name in ("label", "leaf")}
        self._known: list[str] = []
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def read(self, encoding: Encoding) -> list[str]:
        """Compute the features, each of shape (rows, 1), from one input of all numbers or one input per column."""
        features: list[str] = []
        if encoding.is_numeric:
            self._input("X", self._onnx.TensorProto.DOUBLE, len(encoding.columns))
        for position, column in enumerate(encoding.columns):
            if column.kind != NUMBER:
                features += self._codes(position, column)
                continue
            number = column.name
            if encoding.is_numeric:
                index = self._constant(f"column_{position}", np.array([position]))
                number = self._add("Gather", ["X", index], f"x_{position}", axis=1)
            else:
                self._input(number, self._onnx.TensorProto.DOUBLE, 1)
            features += self._number(number, position, column)
        return features

    def _number(self, number: str, position: int, column: Column) -> list[str]:
        """Return the number with NaN filled, and an indicator of NaN; a number that is not finite is unknown."""
        gap = ""
        if column.fill is not None:
            gap = self._add("IsNaN", [number], f"gap_{position}")
            fill = self._constant(f"fill_{position}", np.array([[float(column.fill)]]))
            number = self._add("Where", [gap, fill, number], f"filled_{position}")
        size = self._add("Abs", [number], f"size_{position}")
        largest = self._constant("largest", np.array([[np.finfo(float).max]]))
        self._known.append(self._add("LessOrEqual", [size, largest], f"known_{position}"))
        return [number, self._double(gap, f"missing_{position}")] if column.gaps else [number]

    def _codes(self, position: int, column: Column) -> list[str]:
        self._input(column.name, self._onnx.TensorProto.STRING, 1)
        # In a measured column, missing values have the code after those of its levels.
        gap = len(column.categories) if column.is_measured else column.fill_position
        codes = dict.fromkeys(column.marks, gap) | column.readings
        code = self._add(
            "LabelEncoder",
            [column.name],
            f"code_{position}",
            domain="ai.onnx.ml",
            keys_strings=list(codes),
            values_int64s=list(codes.values()),
            default_int64=column.rest_position,
        )
        if not self._known:
            # Every text has a code: a condition that is always true has the right shape if no column is numeric.
            self._known.append(self._add("Equal", [code, code], f"known_{position}"))
        if column.is_measured:
            equal = self._equal(code, gap, f"gap_{position}")
            fill = self._constant(f"fill_{position}", np.array([[column.fill_position]]))
            place = self._add("Where", [equal, fill, code], f"filled_{position}")
            places = [self._double(place, f"ordinal_{position}")]
            return [*places, self._double(equal, f"missing_{position}")] if column.gaps else places
        wanted = [column.categories.index(value) for value in column.indicated]
        found = {i: self._equal(code, i, f"{position}_{i}") for i in wanted}
        return [self._double(equal, f"indicator_{position}_{i}") for i, equal in found.items()]

    def _equal(self, code: str, wanted: int, name: str) -> str:
        return self._add("Equal", [code, self._constant(f"wanted_{name}", np.array([[wanted]]))], f"is_{name}")

    def route(self, tree: ObliqueTree, features: Sequence[str], labels: ObjectArray) -> None:
        """Compute leaves and labels from features."""
        reached = self._leaf(tree, self._side(tree, features))
        first = self._constant("first_leaf", np.array([tree.topology.n_leaves]))
        by_leaf = self._constant("label_of_leaf", labels[tree.leaf_classes])
        self._add("Gather", [by_leaf, self._add("Sub", [reached, first], "leaf_number")], "label", axis=0)
        self._add("Where", [self._is_known(), reached, self._constant("no_leaf", np.array([0]))], "leaf")
        kinds = {
            "label": self._onnx.helper.np_dtype_to_tensor_dtype(labels.dtype),
            "leaf": self._onnx.TensorProto.INT64,
        }
        self._outputs = [
            self._onnx.helper.make_tensor_value_info(self._results[name], kind, ["rows"])
            for name, kind in kinds.items()
        ]

    def _is_known(self) -> str:
        """Compute whether `predict` accepts a row; shape (rows,)."""
        every = self._known[0]
        for i, known in enumerate(self._known[1:]):
            every = self._add("And", [every, known], f"known_so_far_{i}")
        return self._add("Squeeze", [every, self._constant("second_axis", np.array([1]))], "known")

    def _side(self, tree: ObliqueTree, features: Sequence[str]) -> str:
        """Compute the side of every row at every branch node, 1 for right; shape (rows, n_branches) or (rows, 2)."""
        # ONNX Runtime drops a product with a single number that is 1 as a float, even if not as a double.
        # Therefore a single hyperplane is written twice.
        copies = 2 if tree.topology.n_branches == 1 else 1
        omega, gamma = np.repeat(tree.omega, copies, axis=0), np.repeat(tree.gamma, copies)
        total = self._constant("nothing", np.zeros((1, len(gamma))))
        for j, feature in enumerate(features):
            coefficients = self._constant(f"omega_{j}", np.ascontiguousarray(omega[:, j])[None, :])
            product = self._add("Mul", [feature, coefficients], f"product_{j}")
            total = self._add("Add", [total, product], f"sum_{j}")
        # NaN is not at most the offset and goes right.
        left = self._add("LessOrEqual", [total, self._constant("gamma", gamma[None, :])], "goes_left")
        right = self._add("Not", [left], "goes_right")
        return self._add("Cast", [right], "side", to=self._onnx.TensorProto.INT64)

    def _leaf(self, tree: ObliqueTree, side: str) -> str:
        """Compute the leaf id of every row; shape (rows,)."""
        two = self._constant("two", np.array([[2]]))
        root = self._constant("root_column", np.array([0]))
        node = self._add("Add", [two, self._add("Gather", [side, root], "side_0", axis=1)], "node_1")
        for level in range(1, tree.topology.depth):
            column = self._add("Sub", [node, self._constant("one", np.array([[1]]))], f"column_of_{level}")
            step = self._add("GatherElements", [side, column], f"side_{level}", axis=1)
            node = self._add("Add", [self._add("Mul", [node, two], f"twice_{level}"), step], f"node_{level + 1}")
        axis = self._constant("second_axis", np.array([1]))
        return self._add("Squeeze", [node, axis], "reached")

    def serialised(self) -> bytes:
        """Return the model as bytes, checked by onnx."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, "s2oct", self._inputs, self._outputs, list(self._constants.values()))
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="s2oct")
        helper.set_model_props(model, {"columns": json.dumps(self._columns)})
        self._onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString())

    def _input(self, name: str, kind: int, width: int) -> None:
        self._inputs.append(self._onnx.helper.make_tensor_value_info(name, kind, ["rows", width]))

    def _constant(self, name: str, value: Any) -> str:
        self._constants[name] = self._onnx.numpy_helper.from_array(np.ascontiguousarray(value), f"s2oct/{name}")
        return f"s2oct/{name}"

    def _double(self, source: str, name: str) -> str:
        return self._add("Cast", [source], name, to=self._onnx.TensorProto.DOUBLE)

    def _add(self, operator: str, inputs: list[str], name: str, **attributes: Any) -> str:
        # A column may have any name, even that of a node.
        result = self._results.get(name, f"s2oct/{name}")
        self._nodes.append(self._onnx.helper.make_node(operator, inputs, [result], **attributes))
        return result


def _unlike(taken: Sequence[str], name: str) -> str:
    """Return the name, with trailing underscores until it is unique."""
    while name in taken:
        name += "_"
    return name
