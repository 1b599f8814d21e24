"""How a posture is searched for."""

from __future__ import annotations

from typing import Any

from memetik.errors import InvalidInputError, suggest
from memetik.solve.methods.memetic import Memetic as Memetic

METHODS: dict[str, type] = {"memetic": Memetic}
"""What `method=` accepts by name."""


def method_named(method: Any) -> Any:
    """A method object from its name, its class or itself."""
    if isinstance(method, tuple(METHODS.values())):
        return method
    if isinstance(method, type) and method in METHODS.values():
        return method()
    if isinstance(method, str) and method in METHODS:
        return METHODS[method]()
    raise InvalidInputError(f"method {method!r} is unknown; {suggest(method, METHODS)}")
