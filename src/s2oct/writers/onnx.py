"""A tree as an ONNX graph in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from s2oct.arrays import ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.model.tree import ObliqueTree
from s2oct.tabular.encoding import NUMBER, ORDINAL, Column, Encoding
from s2oct.writers.rules import checked_encoding

OPSET, ML_OPSET, IR_VERSION = 17, 2, 8
"""Versions that older runtimes can read."""


def tree_to_onnx(
    tree: ObliqueTree, feature_names: Sequence[str], classes: Sequence[Any], *, encoding: Encoding | None = None
) -> bytes:
    """Write a tree as an ONNX model, serialised.

    The graph takes the features as one tensor ``X`` of doubles, shape (rows, features), and gives the tensors
    ``label``, the class of each row, and ``leaf``, the id of its leaf. If the encoding has categories or fills gaps,
    there is one input of shape (rows, 1) per column instead, of doubles or strings; NaN and the empty string are gaps.
    The graph adds up sums one feature at a time, as `predict` does, because a matrix product may add in any order.
    ONNX cannot refuse a row: the output for a row that `predict` refuses has no meaning.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    feature_names : sequence of str
        A name for every feature.
    classes : sequence
        The class labels, in the order of their indices: strings, integers, floats or booleans.
    encoding : Encoding, optional
        How features come from the columns of a table; by default every feature is a column.

    Returns
    -------
    bytes
        The serialised model.
    """
    columns = checked_encoding(tree, feature_names, encoding)
    graph = _Graph()
    features = graph.read_plain(len(feature_names)) if columns.is_plain else graph.read_columns(columns)
    graph.route(tree, features, _label_tensor(classes))
    return graph.serialised(columns.names)


def _label_tensor(classes: Sequence[Any]) -> ObjectArray:
    labels = np.array([label.item() if hasattr(label, "item") else label for label in classes])
    if labels.dtype.kind not in "Uifb" and not all(isinstance(label, str) for label in labels.tolist()):
        raise InvalidProblem(f"Expected classes that are strings, numbers or booleans, got {list(classes)}.")
    kinds: dict[str, Any] = {"i": np.int64, "f": np.float64, "b": np.bool_}
    return labels.astype(kinds.get(labels.dtype.kind, object))


class _Graph:
    """Collects nodes and constants; every method that adds a node returns the name of the output of the node."""

    def __init__(self) -> None:
        try:
            import onnx
        except ModuleNotFoundError as error:
            raise InvalidProblem("ONNX export needs the package onnx: pip install 's2oct[onnx]'.") from error
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def read_plain(self, n_features: int) -> list[str]:
        """Columns of one input, each of shape (rows, 1)."""
        self._input("X", self._onnx.TensorProto.DOUBLE, n_features)
        return [
            self._add("Gather", ["X", self._constant(f"column_{j}", np.array([j]))], f"x_{j}", axis=1)
            for j in range(n_features)
        ]

    def read_columns(self, encoding: Encoding) -> list[str]:
        """Features made from one input per column, each of shape (rows, 1)."""
        features: list[str] = []
        for position, column in enumerate(encoding.columns):
            features += self._numbers(position, column) if column.kind == NUMBER else self._codes(position, column)
        return features

    def _numbers(self, position: int, column: Column) -> list[str]:
        self._input(column.name, self._onnx.TensorProto.DOUBLE, 1)
        if column.fill is None:
            return [column.name]
        gap = self._add("IsNaN", [column.name], f"gap_{position}")
        fill = self._constant(f"fill_{position}", np.array([[float(column.fill)]]))
        return [self._add("Where", [gap, fill, column.name], f"filled_{position}")]

    def _codes(self, position: int, column: Column) -> list[str]:
        self._input(column.name, self._onnx.TensorProto.STRING, 1)
        known = list(column.categories)
        codes = list(range(len(known)))
        if column.fill is not None and "" not in known:
            known.append("")
            codes.append(column.categories.index(str(column.fill)))
        code = self._add(
            "LabelEncoder",
            [column.name],
            f"code_{position}",
            domain="ai.onnx.ml",
            keys_strings=known,
            values_int64s=codes,
            default_int64=column.categories.index(str(column.reference)) if column.joins else -1,
        )
        if column.kind == ORDINAL:
            return [self._double(code, f"ordinal_{position}")]
        wanted = [column.categories.index(value) for value in column.indicated]
        return [self._indicator(code, i, f"{position}_{i}") for i in wanted]

    def _indicator(self, code: str, wanted: int, name: str) -> str:
        equal = self._add("Equal", [code, self._constant(f"wanted_{name}", np.array([[wanted]]))], f"is_{name}")
        return self._double(equal, f"indicator_{name}")

    def route(self, tree: ObliqueTree, features: Sequence[str], labels: ObjectArray) -> None:
        """From features to leaves and labels."""
        leaf = self._leaf(tree, self._side(tree, features))
        first = self._constant("first_leaf", np.array([tree.topology.n_leaves]))
        by_leaf = self._constant("label_of_leaf", labels[tree.leaf_classes])
        self._add("Gather", [by_leaf, self._add("Sub", [leaf, first], "leaf_number")], "label", axis=0)
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)
        self._outputs = [
            self._onnx.helper.make_tensor_value_info("label", kind, ["rows"]),
            self._onnx.helper.make_tensor_value_info("leaf", self._onnx.TensorProto.INT64, ["rows"]),
        ]

    def _side(self, tree: ObliqueTree, features: Sequence[str]) -> str:
        """The side of every row at every branch node, 1 for right; shape (rows, n_branches)."""
        total = self._constant("nothing", np.zeros((1, tree.topology.n_branches)))
        for j, feature in enumerate(features):
            coefficients = self._constant(f"omega_{j}", np.ascontiguousarray(tree.omega[:, j])[None, :])
            product = self._add("Mul", [feature, coefficients], f"product_{j}")
            total = self._add("Add", [total, product], f"sum_{j}")
        values = self._add("Sub", [total, self._constant("gamma", tree.gamma[None, :])], "values")
        zero = self._constant("zero", np.zeros((1, 1)))
        right = self._add("Greater", [values, zero], "goes_right")
        return self._add("Cast", [right], "side", to=self._onnx.TensorProto.INT64)

    def _leaf(self, tree: ObliqueTree, side: str) -> str:
        """The id of every row's leaf; shape (rows,)."""
        one, two = self._constant("one", np.array([[1]])), self._constant("two", np.array([[2]]))
        root = self._constant("root_column", np.array([0]))
        node = self._add("Add", [two, self._add("Gather", [side, root], "side_0", axis=1)], "node_1")
        for level in range(1, tree.topology.depth):
            column = self._add("Sub", [node, one], f"column_of_{level}")
            step = self._add("GatherElements", [side, column], f"side_{level}", axis=1)
            node = self._add("Add", [self._add("Mul", [node, two], f"twice_{level}"), step], f"node_{level + 1}")
        axis = self._constant("second_axis", np.array([1]))
        return self._add("Squeeze", [node, axis], "leaf")

    def serialised(self, columns: Sequence[str]) -> bytes:
        """The model as bytes, checked by onnx itself."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, "s2oct", self._inputs, self._outputs, list(self._constants.values()))
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="s2oct")
        helper.set_model_props(model, {"columns": "\n".join(columns)})
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
        # A column of the table may have any name, also that of one of our nodes.
        result = name if name in ("label", "leaf") else f"s2oct/{name}"
        self._nodes.append(self._onnx.helper.make_node(operator, inputs, [result], **attributes))
        return result
