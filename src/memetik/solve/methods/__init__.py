"""How a configuration is searched for: the default search and those of the literature, by name or with parameters.

`Native` methods run in the core, a `PythonMethod` is written in Python on a `SearchTask`. `METHODS` says what `method=`
accepts by name; a method's class is loaded when it is first used.
"""

from __future__ import annotations

from typing import Any

from memetik._moved import old_name
from memetik.solve.methods.memetic import Memetic as Memetic
from memetik.solve.methods.method import Method as Method
from memetik.solve.methods.method import Native as Native
from memetik.solve.methods.method import PythonMethod as PythonMethod
from memetik.solve.methods.registry import MethodEntry as MethodEntry
from memetik.solve.methods.registry import known_methods, public_entries
from memetik.solve.methods.registry import method_named as method_named

METHODS: dict[str, MethodEntry]


def __getattr__(name: str) -> Any:
    if name == "METHODS":
        return known_methods()
    if name in public_entries():
        return public_entries()[name].load()
    return old_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), "METHODS", *public_entries()})
