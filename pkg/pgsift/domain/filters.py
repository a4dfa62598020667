"""The filter language: what a filter may say, and what it means.

A filter is a JSON object. It is compiled to SQL inside the database (``sift._compile_filter``); this module
says the same in Python, for stores in memory and as the oracle that the SQL is tested against::

    {"kind": "table", "metadata.year": {"$gte": 2020, "$lt": 2025}}
    {"$or": [{"license": {"$exists": false}}, {"license": {"$in": ["CC0-1.0", "CC-BY-4.0"]}}]}

Fields are columns of the document or the chunk (:data:`FIELDS`) and ``metadata.a.b`` paths. Operators are
:data:`CONDITION_OPERATORS` under a field and :data:`LOGICAL_OPERATORS` anywhere else; several keys of one
object are joined by AND, and a bare value means ``$eq``.

Every condition is true or false, never unknown. A condition looks at the field's values: none when the field
is missing or null, one for a plain value, each element for a list (``section``, ``entity``, a metadata array).
``$eq $in $gt $gte $lt $lte`` are true when some value satisfies them, ``$ne`` and ``$nin`` are the exact
complements of ``$eq`` and ``$in``, and ``$not`` is the exact complement of what it holds. A ``language`` equals a
tag that it begins with, up to a hyphen: ``de-AT`` is ``de`` too. Values of another
type than the literal satisfy nothing: ``2020`` is not ``"2020"``. Numbers compare exactly, strings by code
point, timestamps as instants.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Literal, TypeGuard

from pgsift.domain.errors import InvalidFilter

FieldType = Literal["text", "texts", "integer", "timestamp", "json"]

#: Fields of a document and of a chunk, with the type of their values. ``section`` and ``entity`` are lists.
DOCUMENT_FIELDS: Final[Mapping[str, FieldType]] = {
    "key": "text",
    "title": "text",
    "source_uri": "text",
    "source_version": "text",
    "parser": "text",
    "chunker": "text",
    "language": "text",
    "license": "text",
    "classification": "text",
    "observed_at": "timestamp",
    "valid_from": "timestamp",
    "valid_to": "timestamp",
    "retain_until": "timestamp",
    "version": "integer",
    "length": "integer",
    "updated_at": "timestamp",
}
CHUNK_FIELDS: Final[Mapping[str, FieldType]] = {
    "kind": "text",
    "page": "integer",
    "ordinal": "integer",
    "section": "texts",
    "doc_length": "integer",
    "entity": "texts",
}
FIELDS: Final[Mapping[str, FieldType]] = {**DOCUMENT_FIELDS, **CHUNK_FIELDS}

LOGICAL_OPERATORS: Final = ("$and", "$or", "$not", "$nor")
CONDITION_OPERATORS: Final = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$not")

#: Limits: nesting of objects, conditions of one filter, elements of one list, steps of a path, bytes of JSON.
MAX_DEPTH: Final = 32
MAX_CONDITIONS: Final = 256
MAX_LIST: Final = 10_000
MAX_STEPS: Final = 16
MAX_BYTES: Final = 1_048_576

_RANGE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": lambda left, right: bool(left > right),
    "$gte": lambda left, right: bool(left >= right),
    "$lt": lambda left, right: bool(left < right),
    "$lte": lambda left, right: bool(left <= right),
}
_TAKES: Final[Mapping[FieldType, tuple[str, ...]]] = {
    "text": ("string",),
    "texts": ("string",),
    "integer": ("number",),
    "timestamp": ("string",),
    "json": ("string", "number", "boolean"),
}
_STEP: Final = re.compile(r'"(?:[^"]|"")+"|[^."]+')
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_LOWER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EXAMPLE: Final = 'Write for example {"kind": "table", "metadata.year": {"$gte": 2020}}.'


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison: the values of a field against a literal.

    ``path`` is empty except for metadata. ``value`` holds what the operator compares with, already converted:
    Decimal for numbers, str, bool, microseconds since 1970 for timestamps, a tuple of these for lists, a bool
    for ``$exists``.
    """

    field: str
    type: FieldType
    path: tuple[str, ...]
    operator: str
    value: Any


@dataclass(frozen=True, slots=True)
class Combination:
    """``$and``, ``$or`` or ``$nor`` over parts; ``$not`` over one part."""

    operator: str
    parts: tuple[Condition | Combination, ...]


Node = Condition | Combination


def parse(filter: object) -> Node | None:
    """Check a filter and convert it; ``None`` for ``None`` and for the empty object, which filter nothing.

    Raises :class:`InvalidFilter` for everything the language does not have.
    """
    if filter is None:
        return None
    if not isinstance(filter, Mapping):
        raise _invalid(f"a filter is an object, not {_article(_json_type(filter))}", _EXAMPLE)
    node, _ = _node(filter, 1)
    return node if filter else None


def matches(filter: object, document_fields: Mapping[str, Any], chunk_fields: Mapping[str, Any]) -> bool:
    """Whether a chunk passes a filter.

    ``document_fields`` has the names of :data:`DOCUMENT_FIELDS` and ``metadata`` (a JSON object as Python
    values), ``chunk_fields`` those of :data:`CHUNK_FIELDS`; a name left out or ``None`` is missing.
    Timestamps are :class:`datetime` (naive: UTC) or ISO 8601 text. Raises :class:`InvalidFilter` for an
    invalid filter, whatever the fields are.
    """
    node = parse(filter)
    return node is None or evaluate(node, document_fields, chunk_fields)


def evaluate(node: Node, document_fields: Mapping[str, Any], chunk_fields: Mapping[str, Any]) -> bool:
    """Whether a chunk passes a parsed filter; fields as for :func:`matches`."""
    if isinstance(node, Combination):
        if node.operator == "$and":
            return all(evaluate(part, document_fields, chunk_fields) for part in node.parts)
        found = any(evaluate(part, document_fields, chunk_fields) for part in node.parts)
        return found if node.operator == "$or" else not found
    if node.type == "json":
        raw: Any = _at(document_fields.get("metadata"), node.path)
    elif node.field in CHUNK_FIELDS:
        raw = chunk_fields.get(node.field)
    else:
        raw = document_fields.get(node.field)
    if node.operator == "$exists":
        present = raw is not None and (node.type != "texts" or len(raw) > 0)
        return present is bool(node.value)
    values = _values(raw, node.type)
    if node.operator in _RANGE:
        compare = _RANGE[node.operator]
        return any(_tag(value) == _tag(node.value) and compare(value, node.value) for value in values)
    wanted = node.value if node.operator in ("$in", "$nin") else (node.value,)
    tagged = {(_tag(value), value) for value in wanted}
    found = any((_tag(value), value) in tagged for value in values)
    if node.field == "language" and not found:
        found = any(value.startswith(f"{tag}-") for value in values for tag in wanted)
    return found if node.operator in ("$eq", "$in") else not found


def timestamp_microseconds(text: str) -> int | None:
    """Microseconds since 1970-01-01 UTC of an ISO 8601 date or date and time; ``None`` when it is not one.

    ``YYYY-MM-DD``, then optionally ``T`` or a blank, ``HH:MM[:SS[.ffffff]]`` and ``Z`` or ``±HH[[:]MM]``. A
    date alone is its midnight; without an offset the time is UTC, so that the answer depends on no session.
    """
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    year, month, day = (int(part) for part in found.group(1, 2, 3))
    hour, minute, second = (int(part or 0) for part in found.group(4, 5, 6))
    fraction = int((found.group(7) or "").ljust(6, "0"))
    offset = 0
    zone = found.group(8)
    if zone is not None and zone not in "Zz":
        hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
        if hours > 15 or minutes > 59:
            return None
        offset = (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)
    if hour > 23 or minute > 59 or second > 59:
        return None
    try:
        days = date(year, month, day).toordinal() - _EPOCH_DAY
    except ValueError:
        return None
    return (days * 86_400 + hour * 3600 + (minute - offset) * 60 + second) * 1_000_000 + fraction


def split_path(field: str) -> tuple[str, ...] | None:
    """Steps of a ``metadata.a."b.c"`` path without its first; ``None`` when it is malformed.

    A step that holds a dot or a quote is written in double quotes, quotes inside doubled.
    """
    rest = field.removeprefix("metadata.")
    steps = []
    position = 0
    while True:
        found = _STEP.match(rest, position)
        if found is None:
            return None
        step = found.group()
        steps.append(step[1:-1].replace('""', '"') if step.startswith('"') else step)
        position = found.end()
        if position == len(rest):
            return tuple(steps)
        if rest[position] != ".":
            return None
        position += 1


def join_path(steps: Sequence[str]) -> str:
    """The field name of a metadata path, quoted where a step needs it; the inverse of :func:`split_path`."""
    return ".".join(
        ["metadata", *('"' + s.replace('"', '""') + '"' if "." in s or '"' in s else s for s in steps)]
    )


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The name most like a misspelt one by edit distance, the first of equals; ``None`` when none is."""
    name = name[:64].translate(_LOWER)
    limit = max(1, min(3, (len(name) + 1) // 2))
    best: str | None = None
    for candidate in names:
        distance = _distance(name, candidate)
        if distance <= limit:
            best, limit = candidate, distance - 1
    return best


def to_json(filter: Mapping[str, Any] | None) -> str | None:
    """JSON text of a filter for the database, checked; ``None`` when it filters nothing.

    Raises :class:`InvalidFilter`, also for what Python can hold and JSON in PostgreSQL cannot: NaN, infinity,
    NUL characters, lone surrogates.
    """
    if parse(filter) is None:
        return None
    text = _write(filter)
    if len(text.encode()) > MAX_BYTES:
        raise _invalid(
            f"the filter has {len(text.encode())} bytes of JSON; the limit is {MAX_BYTES}",
            "Ask in several searches, or keep the long list as a metadata field of the documents.",
        )
    return text


def _node(node: Mapping[Any, Any], depth: int) -> tuple[Combination, int]:
    _check_depth(depth)
    parts: list[Node] = []
    conditions = 0
    part: Node
    for name, value in node.items():
        if not isinstance(name, str):
            raise _invalid(f"a filter field is a string, not {_article(_json_type(name))}", _EXAMPLE)
        _check_string(name)
        if name in LOGICAL_OPERATORS:
            part, count = _logical(name, value, depth)
        elif name.startswith("$"):
            if name in CONDITION_OPERATORS:
                raise _invalid(
                    f'filter operator "{name}" needs a field', f'Write {{"FIELD": {{"{name}": …}}}}.'
                )
            raise _unknown_operator(name, (*LOGICAL_OPERATORS, *CONDITION_OPERATORS))
        else:
            part, count = _field(name, value, depth)
        parts.append(part)
        conditions += count
        if conditions > MAX_CONDITIONS:
            raise _invalid(
                f"the filter has more than {MAX_CONDITIONS} conditions",
                'Many values of one field go into one list: {"key": {"$in": […]}}.',
            )
    return Combination("$and", tuple(parts)), conditions


def _logical(operator: str, value: object, depth: int) -> tuple[Combination, int]:
    if operator == "$not":
        if not isinstance(value, Mapping):
            raise _invalid(
                f'filter operator "$not" takes an object, not {_article(_json_type(value))}',
                'Write {"$not": {"kind": "table"}}.',
            )
        part, conditions = _node(value, depth + 1)
        return Combination("$not", (part,)), conditions
    if not _is_list(value) or len(value) == 0:
        got = "an empty array" if _is_list(value) else _article(_json_type(value))
        raise _invalid(
            f'filter operator "{operator}" takes an array of one or more filters, not {got}',
            f'Write {{"{operator}": [{{"kind": "table"}}, {{"page": 1}}]}}.',
        )
    parts = []
    total = 0
    for item in value:
        if not isinstance(item, Mapping):
            raise _invalid(
                f'filter operator "{operator}" takes an array of filters, not of {_json_type(item)} values',
                f'Write {{"{operator}": [{{"kind": "table"}}, {{"page": 1}}]}}.',
            )
        part, conditions = _node(item, depth + 1)
        parts.append(part)
        total += conditions
        if total > MAX_CONDITIONS:
            raise _invalid(
                f"the filter has more than {MAX_CONDITIONS} conditions",
                'Many values of one field go into one list: {"key": {"$in": […]}}.',
            )
    return Combination(operator, tuple(parts)), total


def _field(name: str, value: object, depth: int) -> tuple[Node, int]:
    if not isinstance(value, Mapping):
        return _condition(name, "$eq", value), 1
    _check_depth(depth + 1)
    if not value:
        _resolve(name)
        raise _invalid(f'filter field "{_cut(name)}" has no operator', _EXAMPLE)
    parts: list[Node] = []
    conditions = 0
    for operator, operand in value.items():
        if not isinstance(operator, str) or operator not in CONDITION_OPERATORS:
            _resolve(name)
            if operator in LOGICAL_OPERATORS:
                raise _invalid(
                    f'filter operator "{operator}" cannot stand under the field "{_cut(name)}"',
                    f'Write {{"{operator}": [{{"FIELD": …}}, {{"FIELD": …}}]}}.',
                )
            raise _unknown_operator(str(operator), CONDITION_OPERATORS)
        if operator == "$not":
            if not isinstance(operand, Mapping):
                _resolve(name)
                raise _invalid(
                    f'filter operator "$not" takes an object, not {_article(_json_type(operand))}',
                    'Write {"FIELD": {"$not": {"$gt": 5}}}.',
                )
            part, count = _field(name, operand, depth + 1)
            parts.append(Combination("$not", (part,)))
        else:
            parts.append(_condition(name, operator, operand))
            count = 1
        conditions += count
    return Combination("$and", tuple(parts)), conditions


def _condition(name: str, operator: str, value: object) -> Condition:
    field, kind, path = _resolve(name)
    if operator == "$exists":
        if not isinstance(value, bool):
            raise _wrong_type(name, operator, "true or false", value)
        return Condition(field, kind, path, operator, value)
    takes = _TAKES[kind] if operator not in _RANGE or kind != "json" else ("string", "number")
    if operator in ("$in", "$nin"):
        if not _is_list(value):
            raise _wrong_type(name, operator, "an array", value)
        if len(value) > MAX_LIST:
            raise _invalid(
                f'filter field "{_cut(name)}" with "{operator}" has {len(value)} values; '
                f"the limit is {MAX_LIST}",
                "Ask in several searches, or keep the long list as a metadata field of the documents.",
            )
        return Condition(
            field, kind, path, operator, tuple(_literal(name, operator, kind, takes, item) for item in value)
        )
    return Condition(field, kind, path, operator, _literal(name, operator, kind, takes, value))


def _literal(name: str, operator: str, kind: FieldType, takes: tuple[str, ...], value: object) -> Any:
    got = _json_type(value)
    if got not in takes:
        raise _wrong_type(name, operator, " or ".join(_article(one) for one in takes), value)
    if got == "string":
        assert isinstance(value, str)
        _check_string(value)
        if kind != "timestamp":
            return value
        microseconds = timestamp_microseconds(value)
        if microseconds is None:
            raise _invalid(
                f'filter field "{_cut(name)}" with "{operator}" takes a timestamp, not "{_cut(value)}"',
                'Write "2024-05-31", "2024-05-31T16:30:00Z" or "2024-05-31T16:30:00+02:00".',
            )
        return microseconds
    if got == "number":
        number = _number(value)
        if number is None:
            raise _invalid(
                f'filter field "{_cut(name)}" with "{operator}" takes a finite number, not {value}'
            )
        return number
    return value


def _resolve(name: str) -> tuple[str, FieldType, tuple[str, ...]]:
    if name in FIELDS:
        return name, FIELDS[name], ()
    if name.startswith("metadata."):
        path = split_path(name)
        if path is None:
            raise _invalid(
                f'filter field "{_cut(name)}" is not a path',
                "Steps are separated by single dots: metadata.a.b; one with a dot or a quote in it is "
                'quoted: metadata."a.b".',
            )
        if len(path) > MAX_STEPS:
            raise _invalid(
                f'filter field "{_cut(name)}" has {len(path)} steps; the limit is {MAX_STEPS}',
                "Keep what is filtered by nearer to the top of the metadata.",
            )
        return "metadata", "json", path
    near = nearest(name, LOGICAL_OPERATORS if name.startswith("$") else tuple(FIELDS))
    raise _invalid(
        f'unknown filter field "{_cut(name)}"',
        (f'Did you mean "{near}"? ' if near else "")
        + f"Fields: {', '.join(FIELDS)}; your own fields are written metadata.NAME.",
    )


def _unknown_operator(name: str, known: Sequence[str]) -> InvalidFilter:
    known = tuple(dict.fromkeys(known))
    near = nearest(name, known)
    return _invalid(
        f'unknown filter operator "{_cut(name)}"',
        (f'Did you mean "{near}"? ' if near else "") + f"Operators: {', '.join(known)}.",
    )


def _wrong_type(name: str, operator: str, wanted: str, value: object) -> InvalidFilter:
    got = _json_type(value)
    if got == "null":
        state, flag = ("present", "true") if operator in ("$ne", "$nin") else ("missing", "false")
        hint = f'To ask whether it is {state} write {{"{_cut(name)}": {{"$exists": {flag}}}}}.'
    elif got == "array" and operator in ("$eq", "$ne"):
        several = "$in" if operator == "$eq" else "$nin"
        hint = f'For any of several values write {{"{_cut(name)}": {{"{several}": […]}}}}.'
    else:
        hint = "docs/filters.md describes the language."
    return _invalid(
        f'filter field "{_cut(name)}" with "{operator}" takes {wanted}, not {_article(got)}', hint
    )


def _invalid(message: str, hint: str | None = None) -> InvalidFilter:
    return InvalidFilter(message, hint=hint)


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _invalid(
            f"the filter is nested more than {MAX_DEPTH} deep",
            "Flatten it: $and and $or take any number of parts.",
        )


def _check_string(text: str) -> None:
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise _invalid(
            "the filter holds a NUL character or half of a surrogate pair, which no stored text has"
        )


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float | Decimal):
        return "number"
    if isinstance(value, Mapping):
        return "object"
    if _is_list(value):
        return "array"
    return type(value).__name__


def _article(name: str) -> str:
    if name in ("null", "true or false"):
        return name
    return ("an " if name[0] in "aeiou" else "a ") + name


def _cut(text: str) -> str:
    return text if len(text) <= 100 else text[:100] + "…"


def _number(value: object) -> Decimal | None:
    if isinstance(value, float):
        value = Decimal(repr(value))  # the shortest decimal, which is what JSON carries
    elif isinstance(value, int):
        value = Decimal(value)
    if not isinstance(value, Decimal) or not value.is_finite():
        return None
    return value


def _write(value: object) -> str:
    # json.dumps has no Decimal, and a number must reach the database with every digit it was given.
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)}: {_write(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_write(item) for item in value) + "]"
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return str(_number(value))
    return json.dumps(value, ensure_ascii=False)


def _at(value: object, path: Sequence[str]) -> object:
    for step in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    return value


def _values(raw: Any, kind: FieldType) -> list[Any]:
    if raw is None:
        return []
    if kind == "json":
        items = list(raw) if _is_list(raw) else [raw]
        plain = (_number(item) if _json_type(item) == "number" else item for item in items)
        return [item for item in plain if isinstance(item, str | bool | Decimal)]
    if kind == "texts":
        return [item for item in raw if item is not None]
    if kind == "integer":
        return [Decimal(raw)]
    if kind == "timestamp":
        if isinstance(raw, datetime):
            aware = raw if raw.tzinfo is not None else raw.replace(tzinfo=UTC)
            return [(aware - _EPOCH) // timedelta(microseconds=1)]
        return [timestamp_microseconds(raw)]
    return [raw]


def _tag(value: object) -> str:
    return _json_type(value)


def _distance(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        above, row[0] = row[0], i
        for j, b in enumerate(right, start=1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (a != b))
    return row[-1]
