"""Filters written like SQL.

:func:`parse_filter` turns ``metadata.year >= 2020 AND kind IN ('text', 'table')`` into the JSON that the
database compiles (:mod:`pgsift.domain.filters` describes it). sqlglot reads the text as PostgreSQL would;
what it read is then converted node by node from a list of what is known, and everything else is refused
with its place in the text. Nothing of the text reaches the database as SQL.

Known are ``AND OR NOT ( )``, ``= <> < <= > >=``, ``IN``, ``BETWEEN``, ``IS [NOT] NULL``, ``IS [NOT] TRUE``,
``IS [NOT] FALSE`` and ``IS [NOT] DISTINCT FROM``, between a field and literals. Conditions are two-valued,
unlike in SQL: ``license <> 'x'`` and ``NOT (license = 'x')`` are true where there is no license.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final, NoReturn

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError, TokenError

from pgsift.domain import filters
from pgsift.domain.errors import InvalidFilter

__all__ = ["parse_filter"]

# A node of sqlglot's tree; the name of its base class changed between versions.
Node = Any

_EXAMPLE: Final = "Write for example: kind = 'table' AND metadata.year >= 2020"
_MAX_NESTING: Final = 30
_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?")
_PREFIXES: Final = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})

_OPERATORS: Final[dict[type[Any], str]] = {
    exp.EQ: "$eq",
    exp.NEQ: "$ne",
    exp.GT: "$gt",
    exp.GTE: "$gte",
    exp.LT: "$lt",
    exp.LTE: "$lte",
    exp.NullSafeEQ: "$eq",
    exp.NullSafeNEQ: "$ne",
}
_MIRRORED: Final = {"$eq": "$eq", "$ne": "$ne", "$gt": "$lt", "$gte": "$lte", "$lt": "$gt", "$lte": "$gte"}
_TIMES: Final = frozenset({"DATE", "TIMESTAMP", "TIMESTAMPTZ"})

_HINTS: Final[list[tuple[tuple[type[Any], ...], str]]] = [
    (
        (exp.Like, exp.ILike, exp.SimilarTo, exp.RegexpLike, exp.RegexpILike),
        "Filters have no patterns: search for the words, or keep what you match as a metadata field.",
    ),
    (
        (exp.JSONExtract, exp.JSONExtractScalar, exp.JSONBExtract, exp.JSONBExtractScalar),
        "Write metadata.a.b for what lies at a, b of the metadata.",
    ),
    ((exp.Bracket,), "A list matches when any of its elements does: metadata.tags = 'x'."),
    (
        (exp.Select, exp.Subquery, exp.Exists),
        "Filters have no subqueries; list the values: key IN ('a', 'b').",
    ),
    ((exp.Placeholder, exp.Parameter), "Filters have no placeholders; pass the filter as a mapping instead."),
    (
        (exp.ByteString, exp.RawString, exp.National),
        "Write the string in plain single quotes, quotes doubled.",
    ),
    ((exp.Cast, exp.TryCast), "Write the value in the type it has: 2020 is a number, '2020' a string."),
]


def parse_filter(expression: str) -> dict[str, Any]:
    """The JSON filter that an expression in SQL syntax means.

    A text that starts with ``{`` is read as the JSON itself. Names of fields are case-insensitive, names
    below ``metadata`` are taken as written; one with a dot in it is quoted: ``metadata."a.b"``. Raises
    :class:`InvalidFilter`, naming what was not understood and where, for everything a filter cannot say.
    """
    if not isinstance(expression, str):
        raise InvalidFilter(
            f"a filter expression is a string, not {type(expression).__name__}", hint=_EXAMPLE
        )
    if expression.lstrip().startswith("{"):
        return _json(expression)
    if "\x00" in expression:
        raise InvalidFilter("the filter holds a NUL character, which no stored text has")
    if len(expression) > filters.MAX_BYTES:
        raise InvalidFilter(f"the filter has {len(expression)} characters; the limit is {filters.MAX_BYTES}")
    try:
        result = _Converter(expression).convert(_parse(expression))
    except RecursionError:
        raise _nested() from None
    filters.parse(result)
    return result


def _json(text: str) -> dict[str, Any]:
    try:
        result = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidFilter(
            f"the filter is not JSON: {error}", hint="One that does not start with { is read as SQL."
        ) from None
    filters.parse(result)
    assert isinstance(result, dict)
    return result


def _parse(text: str) -> Node:
    try:
        depth = run = 0
        for token in sqlglot.tokenize(text, read="postgres"):
            # sqlglot descends by recursion; how deep is settled before it starts.
            depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
            run = run + 1 if token.token_type in _PREFIXES else 0
            if depth > _MAX_NESTING or run > _MAX_NESTING:
                raise _nested()
        return sqlglot.parse_one(text, read="postgres", into=exp.Condition)
    except TokenError as error:
        raise InvalidFilter(
            f"the filter is not understood: {_first_line(error)}", hint="Is a quote or a comment not closed?"
        ) from None
    except SqlglotError as error:
        raise InvalidFilter(_describe(error), hint=_EXAMPLE) from None


def _describe(error: SqlglotError) -> str:
    details: list[dict[str, Any]] = getattr(error, "errors", [])
    if not details:
        return "the filter is empty" if "No expression" in str(error) else "the filter is not understood"
    first = details[0]
    highlight = str(first.get("highlight") or "")
    column = max(1, int(first.get("col") or 1) - len(highlight) + 1)
    place = f"at line {first.get('line')}, column {column}"
    return f'the filter is not understood {place}, near "{_cut(highlight)}"'


def _first_line(error: Exception) -> str:
    return _cut(str(error).splitlines()[0] if str(error) else type(error).__name__)


def _nested() -> InvalidFilter:
    return InvalidFilter(
        "the filter is nested too deep", hint="Flatten it: AND and OR take any number of parts."
    )


def _cut(text: str) -> str:
    return text if len(text) <= 100 else text[:100] + "…"


class _Converter:
    """Converts a parsed expression; knows the text, to say where something stands."""

    def __init__(self, text: str) -> None:
        self._text = text

    def convert(self, node: Node) -> dict[str, Any]:
        kind = type(node)
        if kind is exp.Paren:
            self._only(node, "this")
            return self.convert(node.this)
        if kind is exp.And:
            return self._all([self.convert(part) for part in self._flatten(node, exp.And)])
        if kind is exp.Or:
            return {"$or": [self.convert(part) for part in self._flatten(node, exp.Or)]}
        if kind is exp.Not:
            self._only(node, "this")
            return self._negate(node.this)
        if kind in _OPERATORS:
            return self._comparison(node, _OPERATORS[kind])
        if kind is exp.In:
            return self._in(node, "$in")
        if kind is exp.Between:
            self._only(node, "this", "low", "high")
            name = self._field(node.this)
            return {
                name: {
                    "$gte": self._literal(node.args["low"], name),
                    "$lte": self._literal(node.args["high"], name),
                }
            }
        if kind is exp.Is:
            return self._is(node, bool(node.args.get("negate")))
        if kind in (exp.Column, exp.Dot):
            name = self._field(node)
            self._refuse(node, f"A field alone is no condition: write {name} = true or {name} IS NOT NULL.")
        self._refuse(node)

    def _negate(self, node: Node) -> dict[str, Any]:
        if type(node) is exp.In:
            return self._in(node, "$nin")
        if type(node) is exp.Is and not node.args.get("negate"):
            return self._is(node, True)
        return {"$not": self.convert(node)}

    def _all(self, parts: list[dict[str, Any]]) -> dict[str, Any]:
        names = [name for part in parts for name in part]
        if len(names) == len(set(names)):
            return {name: value for part in parts for name, value in part.items()}
        return {"$and": parts}

    def _flatten(self, node: Node, kind: type[Any]) -> Iterable[Node]:
        # A chain of a thousand ANDs is a thousand levels of a tree; it is not walked by recursion.
        parts: list[Node] = []
        rest = [node]
        while rest:
            one = rest.pop()
            if type(one) is kind:
                self._only(one, "this", "expression")
                rest += [one.args["expression"], one.this]
            else:
                parts.append(one)
        return parts

    def _comparison(self, node: Node, operator: str) -> dict[str, Any]:
        self._only(node, "this", "expression")
        left, right = node.this, node.args["expression"]
        if not self._is_field(left) and self._is_field(right):
            left, right, operator = right, left, _MIRRORED[operator]
        name = self._field(left)
        value = self._literal(right, name)
        return {name: value} if operator == "$eq" else {name: {operator: value}}

    def _in(self, node: Node, operator: str) -> dict[str, Any]:
        self._only(node, "this", "expressions")
        name = self._field(node.this)
        return {name: {operator: [self._literal(one, name) for one in node.expressions]}}

    def _is(self, node: Node, negated: bool) -> dict[str, Any]:
        self._only(node, "this", "expression", "negate")
        name = self._field(node.this)
        value = node.args["expression"]
        if type(value) is exp.Null:
            return {name: {"$exists": negated}}
        if type(value) is exp.Boolean:
            return {name: {"$ne": bool(value.this)}} if negated else {name: bool(value.this)}
        self._refuse(node)

    def _is_field(self, node: Node) -> bool:
        return type(node) in (exp.Column, exp.Dot)

    def _field(self, node: Node) -> str:
        names: list[str] = []
        while type(node) is exp.Dot:
            self._only(node, "this", "expression")
            names.append(self._name(node.args["expression"], first=False))
            node = node.this
        if type(node) is not exp.Column:
            if type(node) in (exp.Literal, exp.Boolean, exp.Null, exp.Neg):
                self._refuse(node, "A condition compares a field with a value: kind = 'table'.")
            self._refuse(node)
        self._only(node, "this", "table", "db", "catalog")
        steps = [node.args.get(part) for part in ("this", "table", "db", "catalog")]
        present = [step for step in steps if step is not None]
        for number, step in enumerate(present, start=1):
            names.append(self._name(step, first=number == len(present)))
        names.reverse()
        if len(names) == 1:
            return names[0]
        if names[0] != "metadata":
            self._refuse(node, "Only metadata has names below it: metadata.a.b.")
        return filters.join_path(names[1:])

    def _name(self, node: Node, *, first: bool) -> str:
        if type(node) is not exp.Identifier:
            self._refuse(node, 'Write a name that is a number in quotes: metadata."1".')
        name = str(node.this)
        return name.lower() if first and not node.args.get("quoted") else name

    def _literal(self, node: Node, name: str) -> Any:
        kind = type(node)
        if kind is exp.Paren:
            self._only(node, "this")
            return self._literal(node.this, name)
        if kind is exp.Literal:
            return str(node.this) if node.args["is_string"] else self._number(node, 1)
        if kind is exp.Neg and type(node.this) is exp.Literal and not node.this.args["is_string"]:
            return self._number(node.this, -1)
        if kind is exp.Boolean:
            return bool(node.this)
        if kind is exp.Null:
            self._refuse(node, f"Nothing is equal to NULL: write {name} IS NULL or {name} IS NOT NULL.")
        if kind is exp.Cast and filters.FIELDS.get(name) == "timestamp":
            value, to = node.this, node.args["to"]
            self._only(node, "this", "to")
            if type(value) is exp.Literal and value.args["is_string"] and to.this.name in _TIMES:
                return str(value.this)
        if kind is exp.Column and node.this.args.get("quoted") and len(node.parts) == 1:
            self._refuse(node, "Strings stand in single quotes; double quotes make a name.")
        self._refuse(node)

    def _number(self, node: Node, sign: int) -> int | float | Decimal:
        text = str(node.this)
        if not _NUMBER.fullmatch(text):
            self._refuse(node)
        if text.isdigit():
            if len(text) > 4000:
                self._refuse(node, "A number has at most 4000 digits.")
            return sign * int(text)
        number = float(text)
        if math.isinf(number) or Decimal(repr(number)) != Decimal(text):
            return sign * Decimal(text)
        return sign * number

    def _only(self, node: Node, *known: str) -> None:
        """Refuse a node with an argument that is not read, lest it be dropped silently."""
        for name, value in node.args.items():
            if name not in known and value is not None and value is not False and value != []:
                self._refuse(node)

    def _refuse(self, node: Node, hint: str | None = None) -> NoReturn:
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        place = ""
        if starts:
            before = self._text[: min(starts)]
            line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
            place = f" at line {line}, column {column}"
        if hint is None:
            hint = next((text for kinds, text in _HINTS if any(node.find(kind) for kind in kinds)), _EXAMPLE)
        raise InvalidFilter(
            f"the filter is not understood{place}: {_cut(node.sql(dialect='postgres'))}", hint=hint
        )
