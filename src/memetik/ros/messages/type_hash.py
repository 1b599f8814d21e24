"""The hash of a message type, RIHS01: SHA-256 of a JSON text that lists its fields and those of nested types."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

from memetik.ros.messages.definitions import Definition, Field, definitions

_TYPE_IDS = {
    "int8": 2, "uint8": 3, "int16": 4, "uint16": 5, "int32": 6, "uint32": 7, "int64": 8, "uint64": 9, "float32": 10,
    "float64": 11, "char": 3, "bool": 15, "byte": 16, "string": 17,
}  # fmt: skip  # ROS treats char as uint8
_NESTED, _BOUNDED_STRING = 1, 21
_ARRAY, _BOUNDED_SEQUENCE, _SEQUENCE = 48, 96, 144


@cache
def type_hash(name: str) -> str:
    """The hash "RIHS01_..." of a message or a service, by its full name."""
    known = definitions()
    if name in known:
        return _hashed(_described(known[name]), _referenced(known[name]))
    parts = [known[f"{name}_{part}"] for part in ("Request", "Response", "Event")]
    fields = [
        {"name": f"{part}_message", "type": _type(_NESTED, nested=each.name)}
        for part, each in zip(("request", "response", "event"), parts, strict=True)
    ]
    referenced: dict[str, Definition] = {}
    for each in parts:
        referenced |= {each.name: each, **_referenced(each)}
    return _hashed({"type_name": name, "fields": fields}, referenced)


def _hashed(description: dict[str, Any], referenced: dict[str, Definition]) -> str:
    text = json.dumps({
        "type_description": description,
        "referenced_type_descriptions": [_described(referenced[name]) for name in sorted(referenced)],
    }, separators=(", ", ": "), ensure_ascii=True)  # fmt: skip
    return "RIHS01_" + hashlib.sha256(text.encode()).hexdigest()


def _described(definition: Definition) -> dict[str, Any]:
    return {"type_name": definition.name, "fields": [_field(each) for each in definition.fields]}


def _field(each: Field) -> dict[str, Any]:
    kind = _NESTED if "/" in each.base else _TYPE_IDS[each.base]
    if each.string_bound is not None:
        kind = _BOUNDED_STRING
    if each.array:
        kind += _ARRAY if each.array == "fixed" else _SEQUENCE if each.bound is None else _BOUNDED_SEQUENCE
    nested = each.base if "/" in each.base else ""
    return {"name": each.name, "type": _type(kind, each.bound or 0, each.string_bound or 0, nested)}


def _type(kind: int, capacity: int = 0, string_capacity: int = 0, nested: str = "") -> dict[str, Any]:
    return {
        "type_id": kind, "capacity": capacity, "string_capacity": string_capacity, "nested_type_name": nested,
    }  # fmt: skip


def _referenced(definition: Definition) -> dict[str, Definition]:
    found: dict[str, Definition] = {}
    waiting = [definition]
    while waiting:
        for each in waiting.pop().fields:
            if "/" in each.base and each.base not in found:
                found[each.base] = definitions()[each.base]
                waiting.append(found[each.base])
    return found
