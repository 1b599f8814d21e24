"""Random messages of any type, for tests."""

from __future__ import annotations

import random
from typing import Any

from memetik.ros.messages import message_class
from memetik.ros.messages.definitions import Field
from memetik.ros.messages.types import OCTETS, definition_of

_BITS = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64, "uint64": 64}


def random_message(name: str, rng: random.Random) -> Any:
    """A message of type `name` whose every field is drawn."""
    return message_class(name)(**{each.name: _drawn(each, rng) for each in definition_of(name).fields})


def _drawn(each: Field, rng: random.Random) -> Any:
    if not each.array:
        return _one(each, rng)
    count = each.bound or 0 if each.array == "fixed" else rng.randint(0, 3 if each.bound is None else each.bound)
    if each.base in OCTETS:
        return rng.randbytes(count)
    return [_one(each, rng) for _ in range(count)]


def _one(each: Field, rng: random.Random) -> Any:
    if "/" in each.base:
        return random_message(each.base, rng)
    if each.base == "string":
        return "".join(rng.choice("abcé_ /漢") for _ in range(rng.randint(0, 6)))
    if each.base == "bool":
        return rng.random() < 0.5
    if each.base in OCTETS:
        return rng.randint(0, 255)
    if each.base == "float32":
        return rng.randint(-1000, 1000) / 8.0
    if each.base == "float64":
        return rng.uniform(-1e3, 1e3)
    return rng.getrandbits(_BITS[each.base]) - (0 if each.base[0] == "u" else 1 << (_BITS[each.base] - 1))
