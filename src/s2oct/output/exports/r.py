"""A tree as an R function without packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from s2oct.errors import InvalidProblem
from s2oct.output.exports.rules import (
    Language,
    checked_encoding,
    columns_used,
    missing_level,
    plain_classes,
)
from s2oct.tables.dialect import MISSING
from s2oct.tables.encoding import Column, Encoding
from s2oct.trees.features import NUMBER
from s2oct.trees.rules import Leaf, Split, SplitRule, pruned
from s2oct.trees.tree import ObliqueTree

_EXACT = 2**53
_LARGEST_INTEGER = 2**31 - 1

_HEAD = """\
# A classification tree, written by s2oct. It needs R and no packages.
#
# predict_class(data) takes a data frame and returns a vector with the class of each row. The class is NA if a column
# that the rules use has an infinite number, text that is no number, or a gap that is not filled.
# Numbers are hexadecimal, because R does not read every decimal exactly.

predict_class <- local({
"""

_READERS = r"""
  number_pattern <- "^[-+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?$"

  column <- function(data, name) {
    if (!name %in% names(data)) {
      stop("Expected a column ", encodeString(name, quote = "'"), " in the data frame, got none.", call. = FALSE)
    }
    cells <- data[[name]]
    if (is.factor(cells)) as.character(cells) else cells
  }

  is_plain_number <- function(cells) is.numeric(cells) && !inherits(cells, "integer64")

  is_gap <- function(cells) {
    if (is.character(cells)) is.na(cells) | trimws(cells) %in% gaps else is.na(cells)
  }

  # NA for a gap, and infinity for a cell that is no finite number.
  number <- function(data, name) {
    cells <- column(data, name)
    value <- rep(Inf, length(cells))
    if (is.character(cells)) {
      text <- trimws(cells)
      is_number <- grepl(number_pattern, text)
      value[is_number] <- as.double(text[is_number])
    } else if (is.logical(cells) || is_plain_number(cells)) {
      value <- as.double(cells)
    } else {
      return(value)
    }
    value[is_gap(cells)] <- NA
    value
  }

  filled <- function(value, fill) ifelse(is.na(value), fill, value)

  # The level of each cell; NA for a cell that is neither text nor a number.
  category <- function(data, name, readings, levels, missing, rest) {
    cells <- column(data, name)
    if (is.character(cells) || is.logical(cells)) {
      text <- as.character(cells)
    } else if (is_plain_number(cells)) {
      text <- as.character(cells)
      is_whole <- is.finite(cells) & cells == trunc(cells)
      text[is_whole] <- sprintf("%.0f", as.double(cells[is_whole]))
      text[is.na(cells)] <- NA
    } else {
      return(rep(NA_character_, length(cells)))
    }
    level <- levels[match(text, readings)]
    level[is.na(text)] <- missing
    other <- is.na(level)
    is_mark <- trimws(text) %in% gaps & !trimws(text) %in% readings
    level[other] <- ifelse(is_mark[other], missing, rest)
    level
  }

  # A rule does not hold for a sum that is not a number.
  holds <- function(rule) !is.na(rule) & rule

  function(data) {
    if (!is.data.frame(data)) stop("Expected a data frame, got ", class(data)[1], ".", call. = FALSE)
"""


def tree_to_r(
    tree: ObliqueTree, feature_names: Sequence[str], classes: Sequence[Any], *, encoding: Encoding | None = None
) -> str:
    """Write a tree as the source of an R function without packages.

    Its ``predict_class(data)`` takes a data frame and returns a vector of classes. It adds terms in the same order as
    the tree's own `predict`, and its numbers are hexadecimal, because R does not read every decimal exactly. It reads
    only the columns that the rules use. Levels not seen in the fit and missing values (NA, empty text and the default
    marks) are handled as in `predict`. A row with a cell that `predict` refuses gets NA. R hardly distinguishes 1 from
    1.0, so integer categories may be passed as doubles.

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
    str
        The source, in ASCII.

    Examples
    --------
    >>> import numpy as np
    >>> from s2oct import ObliqueTree, Topology
    >>> tree = ObliqueTree.of(Topology(1), np.array([[0.5, -0.125]]), np.array([17.25]))
    >>> source = tree_to_r(tree, ["age", "education"], ["no", "yes"])
    >>> print(source[source.index("    class <-") :])
        class <- ifelse(
          # 0.5 * age - 0.125 * education <= 17.25
          holds(0x1.0000000000000p-1 * v0 - 0x1.0000000000000p-3 * v1 <= 0x1.1400000000000p+4),
          1L,
          2L
        )
        class[!known] <- NA
        classes[class]
      }
    })
    <BLANKLINE>
    """
    columns = checked_encoding(tree, feature_names, classes, encoding)
    root = pruned(tree)
    first, *rest = _branches(tree, root, columns)
    if isinstance(root, Leaf):
        first = f"rep({first}, nrow(data))"
    body = [
        *_reading(columns_used(tree, root, columns)),
        f"class <- {first}",
        *rest,
        "class[!known] <- NA",
        "classes[class]",
    ]
    constants = f"  classes <- c({', '.join(_labels(plain_classes(classes)))})\n  gaps <- c({_strings(MISSING)})"
    indented = "\n".join(f"    {line}" for line in body)
    return f"{_HEAD}{constants}{_READERS}{indented}\n  }}\n}})\n"


def _reading(used: Mapping[Column, int]) -> Iterator[str]:
    """Yield the lines that read the columns, with NA for missing numbers, and determine which rows are known."""
    known = ["rep(TRUE, nrow(data))"]
    for column, place in used.items():
        name = r_string(column.name)
        if column.kind == NUMBER:
            known.append(f"is.finite(v{place})" if column.fill is None else f"!is.infinite(v{place})")
            yield f"v{place} <- number(data, {name})"
        else:
            known.append(f"!is.na(v{place})")
            levels = (column.categories[position] for position in column.readings.values())
            missing, rest = r_string(missing_level(column)), r_string(str(column.rest))
            read = f"c({_strings(column.readings)}), c({_strings(levels)}), {missing}, {rest}"
            yield f"v{place} <- category(data, {name}, {read})"
    yield f"known <- {' & '.join(known)}"


def _branches(tree: ObliqueTree, part: Leaf | Split, encoding: Encoding) -> Iterator[str]:
    """Yield the lines of the expression for the class indices of all rows."""
    if isinstance(part, Leaf):
        yield f"{part.class_index + 1}L"
        return
    rule = SplitRule.of(tree, part.node, encoding.described)
    yield "ifelse("
    # Characters outside ASCII might be misread, and one of these might end the comment.
    yield f"  # {rule.text().encode('ascii', 'backslashreplace').decode()}"
    yield f"  holds({_R.condition(rule, encoding)}),"
    *left, last = _branches(tree, part.left, encoding)
    yield from (f"  {line}" for line in (*left, f"{last},"))
    yield from (f"  {line}" for line in _branches(tree, part.right, encoding))
    yield ")"


def r_number(value: float) -> str:
    """Return a literal that R reads as exactly this double: R rounds decimals, but not integers or hexadecimals."""
    return str(int(value)) if value.is_integer() and abs(value) < _EXACT else value.hex()


def r_string(text: str) -> str:
    """Return a string literal in ASCII, because R reads other characters according to the locale."""
    if "\0" in text:
        raise InvalidProblem(f"Expected names and labels that R can write, got {text!r} with a NUL character.")
    return '"' + "".join(map(_character, text)) + '"'


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isascii() and character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}"


def _strings(texts: Iterable[str]) -> str:
    return ", ".join(map(r_string, texts))


def _labels(classes: Sequence[Any]) -> Iterator[str]:
    """Yield the classes as R literals; all have the same type, which `c` preserves."""
    kinds = {type(label) for label in classes}
    if kinds == {str}:
        return map(r_string, classes)
    if kinds == {bool}:
        return (str(label).upper() for label in classes)
    if kinds == {int} and all(abs(label) <= _LARGEST_INTEGER for label in classes):
        return (f"{label}L" for label in classes)
    if kinds <= {int, float} and all(isinstance(label, float) or abs(label) <= _EXACT for label in classes):
        return (r_number(float(label)) for label in classes)
    raise InvalidProblem(
        f"Expected classes that are strings, booleans or numbers up to 2^53, which R has, got {list(classes)}."
    )


def _position(value: str, positions: dict[str, int]) -> str:
    """Write the number of a level in a sum."""
    return f"c({', '.join(map(str, positions.values()))})[match({value}, c({_strings(positions)}))]"


_R = Language(
    number=r_number,
    string=r_string,
    position=_position,
    is_missing="is.na({0})",
    is_known="!is.na({0})",
    or_missing="is.na({0}) | {1}",
    and_known="{1}",  # a comparison with NA is NA, which does not hold
    is_in="{0} %in% c({1})",
    is_not_in="!{0} %in% c({1})",
    filled="filled({0}, {1})",
    gap="is.na({0})",
)
