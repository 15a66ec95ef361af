"""Readers of rules for people: they follow the text or the graph of a tree as written and know nothing of trees."""

from __future__ import annotations

import operator
import re
from functools import partial

from s2oct.export import tree_to_dot, tree_to_text
from s2oct.looks import IF_SO, OTHERWISE

RELATIONS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}


def by_text(tree, names, classes, X):
    return read_back(tree_to_text(tree, names, classes), names, X)


def by_dot(tree, names, classes, X):
    graph = tree_to_dot(tree, names, classes)
    labels = dict(re.findall(r'^    (n\d+) \[label="(.*?)"(?:, style=rounded)?\];$', graph, re.MULTILINE))
    edges = {(a, answer): b for a, b, answer in re.findall(r'(n\d+) -> (n\d+) \[label="(if so|otherwise)"\]', graph)}

    def follow(row, node="n1"):
        while (node, IF_SO) in edges:
            node = edges[node, IF_SO if _holds(labels[node].replace("\\n", " "), row) else OTHERWISE]
        return labels[node]

    return [follow(dict(zip(names, row, strict=True))) for row in X]


def read_back(text, names, X):
    """Predict rows by following the rules as they are written; names are letters and digits."""
    rows = (dict(zip(names, row, strict=True)) for row in X)
    return [_follow(text.splitlines(), partial(_holds, row=row)) for row in rows]


def follow_words(text, cells, levels):
    """Predict one raw row by rules in the words of its columns.

    ``cells`` are numbers, levels, or None for a missing value; ``levels`` has the levels of each other column, those
    of an ordered one in their order. What counts as what in sums is read from the lines below the rules.
    """
    return _follow(text.splitlines(), lambda rule: holds_in_words(rule, cells, levels, text))


def holds_in_words(rule, cells, levels, remarks=""):
    """Whether a rule in the words of columns holds for a raw row, see `follow_words`."""
    said = {name: "missing" if cell is None else cell for name, cell in cells.items()}

    def level_holds(rule):
        if found := re.fullmatch(r"(\w+) is (not )?(\w+)", rule):
            return (said[found[1]] == found[3]) != bool(found[2])
        if found := re.fullmatch(r"(\w+) (not )?in \((.*)\)", rule):
            return (said[found[1]] in found[3].split(", ")) != bool(found[2])
        if found := re.fullmatch(r"(not )?(\w+)( or missing)?", rule):
            is_missing = said[found[2]] == "missing"
            return bool(found[3]) if is_missing else (said[found[2]] == "true") != bool(found[1])
        return None

    def counted(name):
        counts = re.search(rf"^In a sum, {name} is (.*)\.$", remarks, re.MULTILINE)
        numbers = {} if counts is None else {level: float(n) for n, level in re.findall(r"(\d+) for (\w+)", counts[1])}
        fill = re.search(rf"^In a sum, a missing {name} counts as (\S+)\.$", remarks, re.MULTILINE)
        cell = fill[1] if fill and said[name] == "missing" else said[name]
        return numbers.get(cell, float(cell == "true")) if name in levels else float(cell)

    found = level_holds(rule)
    if found is not None:
        return found
    found = re.fullmatch(r"(?:([\d.]+) \* )?(\w+) (<=|>=|<|>) ([\w.-]+)( or missing)?", rule)
    if found and (found[2] not in levels or found[4] in levels[found[2]]):
        factor, name, relation, limit, or_missing = found.groups()
        if said[name] == "missing":
            return bool(or_missing)
        if name in levels:
            return RELATIONS[relation](levels[name].index(said[name]), levels[name].index(limit))
        return RELATIONS[relation](float(factor or 1) * said[name], float(limit))
    left, relation, limit = re.fullmatch(r"(.*) (<=|>=|<|>) (\S+)", rule).groups()
    total = 0.0
    for sign, factor, term in re.findall(r"([+-]?) ?(?:([\d.e+-]+) \* )?(\((?:[^()]|\([^()]*\))*\)|[a-z]\w*)", left):
        value = float(level_holds(term[1:-1])) if term.startswith("(") else counted(term)
        total += (-1 if sign == "-" else 1) * float(factor or 1) * value
    return RELATIONS[relation](total, float(limit))


def _follow(lines, holds, indent=0):
    head = lines[0][indent:]
    if not head.startswith("if "):
        return head.split("  (")[0]
    otherwise = next(i for i, line in enumerate(lines) if line == " " * indent + "otherwise:")
    block = lines[1:otherwise] if holds(head[3:-1]) else lines[otherwise + 1 :]
    return _follow(block, holds, indent + 4)


def _holds(rule, row):
    """Adds up in the order of the features, as the tree does; the rule may begin with another one."""
    left, relation, right = re.fullmatch(r"(.*) (<=|>=) (\S+)", rule).groups()
    found = re.findall(r"([+-]?)\s*(?:([\d.e+-]+) \* )?([a-z]\w*(?:=\w+)?)", left)
    products = {name: (-1 if sign == "-" else 1) * float(factor or 1) * row[name] for sign, factor, name in found}
    total = sum((products[name] for name in row if name in products), start=0.0)
    return total <= float(right) if relation == "<=" else total >= float(right)
