"""Readers of rules for people: they follow the text or the graph of a tree as written and know nothing of trees."""

from __future__ import annotations

import re

from s2oct.export import tree_to_dot, tree_to_text


def by_text(tree, names, classes, X):
    return read_back(tree_to_text(tree, names, classes), names, X)


def by_dot(tree, names, classes, X):
    graph = tree_to_dot(tree, names, classes)
    labels = dict(re.findall(r'^    (n\d+) \[label="(.*?)"(?:, style=rounded)?\];$', graph, re.MULTILINE))
    edges = {(a, answer): b for a, b, answer in re.findall(r'(n\d+) -> (n\d+) \[label="(holds|otherwise)"\]', graph)}

    def follow(row, node="n1"):
        while (node, "holds") in edges:
            node = edges[node, "holds" if _holds(labels[node].replace("\\n", " "), row) else "otherwise"]
        return labels[node]

    return [follow(dict(zip(names, row, strict=True))) for row in X]


def read_back(text, names, X):
    """Predict rows by following the rules as they are written; names are letters and digits."""
    return [_follow(text.splitlines(), dict(zip(names, row, strict=True))) for row in X]


def _follow(lines, row, indent=0):
    head = lines[0][indent:]
    if not head.startswith("if "):
        return head.split("  (")[0]
    otherwise = next(i for i, line in enumerate(lines) if line == " " * indent + "otherwise:")
    block = lines[1:otherwise] if _holds(head[3:-1], row) else lines[otherwise + 1 :]
    return _follow(block, row, indent + 4)


def _holds(rule, row):
    left, relation, right = re.fullmatch(r"(.*) (<=|>=) (\S+)", rule).groups()
    total = 0.0
    for sign, coefficient, name in re.findall(r"([+-]?)\s*(?:([\d.e+-]+) \* )?([a-z]\w*)", left):
        total += (-1 if sign == "-" else 1) * float(coefficient or 1) * row[name]
    return total <= float(right) if relation == "<=" else total >= float(right)
