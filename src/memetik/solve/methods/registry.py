"""Methods by name. Those of the literature are found when one of them is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING

from memetik.errors import InvalidInputError, suggest
from memetik.solve.methods.method import Method, Native, PythonMethod

if TYPE_CHECKING:
    from memetik.solve.options import MethodLike


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """Where a method is: a class in a module below `memetik.solve`, and the parameters that the name stands for."""

    module: str
    owner: str
    parameters: Mapping[str, object] = field(default_factory=dict)

    def load(self) -> type[Method]:
        return getattr(import_module(f"memetik.solve.{self.module}"), self.owner)

    def make(self) -> Method:
        return self.load()(**self.parameters)


@cache
def known_methods() -> dict[str, MethodEntry]:
    """What `method=` accepts by name."""
    literature = import_module("memetik.solve.literature")
    return {"memetic": MethodEntry("methods.memetic", "Memetic"), **literature.METHODS}


@cache
def public_entries() -> dict[str, MethodEntry]:
    """The classes of methods and what goes with them, by their own names."""
    presets = (MethodEntry("methods.presets", name) for name in ("Preset", "load_preset", "preset_from_moveit"))
    others = import_module("memetik.solve.literature").OTHERS
    return {entry.owner: entry for entry in (*known_methods().values(), *others, *presets)}


def method_named(method: MethodLike) -> Method:
    """A method object from its name, its class, a preset or the path of one, or itself."""
    if isinstance(method, Method):
        return method
    if isinstance(method, type) and issubclass(method, Method) and method not in (Method, Native, PythonMethod):
        return method()
    if isinstance(method, str) and method in known_methods():
        return known_methods()[method].make()
    from memetik.solve.methods.presets import Preset, load_preset

    if isinstance(method, Preset):
        return method.method
    if isinstance(method, str | PathLike) and str(method).endswith(".json"):
        return load_preset(method).method
    raise InvalidInputError(f"method {method!r} is unknown; {suggest(method, known_methods())}")
