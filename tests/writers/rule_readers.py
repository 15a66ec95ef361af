"""Readers of rules for people: they follow the text or the graph of a tree as written and know nothing of trees."""

from __future__ import annotations

import re
from functools import partial

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
    rows = (dict(zip(names, row, strict=True)) for row in X)
    return [_follow(text.splitlines(), partial(_holds, row=row)) for row in rows]


def follow_words(text, cells, levels):
    """Predict one raw row by rules in the words of its columns.

    ``cells`` are numbers, levels, or None for a missing number; ``levels`` has the levels of each other column, those
    of an ordered one in their order. What counts as what in sums is read from the lines below the rules.
    """
    lines = text.splitlines()
    fills = dict(re.findall(r"^A missing (\w+) counts as (\S+)\.$", text, re.MULTILINE))
    row = {
        name: float(fills.get(name, "nan")) if cell is None else cell
        for name, cell in cells.items()
        if name not in levels
    }
    for name, known in levels.items():
        row |= {f"{name}={level}": float(cells[name] == level) for level in known} | {name: cells[name] == "true"}
        counts = re.search(rf"^In a sum, {name} is (.*)\.$", text, re.MULTILINE)
        if counts:
            row[name] = {level: float(n) for n, level in re.findall(r"(\d+) for (\w+)", counts[1])}[cells[name]]

    def holds(rule):
        found = re.fullmatch(r"(\w+) is (not )?(\w+)", rule)
        if found:
            return (cells[found[1]] == found[3]) != bool(found[2])
        found = re.fullmatch(r"(\w+) (<=|>=|>) ([a-z]+)( or missing)?", rule)
        if found:
            name, relation, level, or_missing = found.groups()
            if cells[name] == "missing":
                return bool(or_missing)
            order = levels[name].index(cells[name]) - levels[name].index(level)
            return {"<=": order <= 0, ">=": order >= 0, ">": order > 0}[relation]
        found = re.fullmatch(r"(not )?(\w+)( or missing)?", rule)
        if found:
            return (cells[found[2]] == "true") != bool(found[1])
        return _holds(rule, row)

    return _follow(lines, holds)


def _follow(lines, holds, indent=0):
    head = lines[0][indent:]
    if not head.startswith("if "):
        return head.split("  (")[0]
    otherwise = next(i for i, line in enumerate(lines) if line == " " * indent + "otherwise:")
    block = lines[1:otherwise] if holds(head[3:-1]) else lines[otherwise + 1 :]
    return _follow(block, holds, indent + 4)


def _holds(rule, row):
    left, relation, right = re.fullmatch(r"(.*) (<=|>=) (\S+)", rule).groups()
    total = 0.0
    for sign, coefficient, name in re.findall(r"([+-]?)\s*(?:([\d.e+-]+) \* )?([a-z]\w*(?:=\w+)?)", left):
        total += (-1 if sign == "-" else 1) * float(coefficient or 1) * row[name]
    return total <= float(right) if relation == "<=" else total >= float(right)
