"""A method by its name and parameters: as files and pages state it, as an object, as code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from memetik.errors import InvalidInputError, suggest
from memetik.solve.methods import METHODS, Method, Native

DEFAULT = "memetic"


def method_of(options: Mapping[str, Any]) -> str | Method:
    """What `Problem.solve` takes as `method`, from the options "method" and "parameters" of a file."""
    name, parameters = options.get("method", DEFAULT), options.get("parameters") or {}
    if not isinstance(name, str) or name not in METHODS:
        raise InvalidInputError(f"the method {name!r:.60} is unknown; {suggest(str(name), METHODS)}")
    if not isinstance(parameters, Mapping):
        raise InvalidInputError(f"the parameters of a method are an object, not {parameters!r:.60}.")
    if not parameters:
        return name
    entry = METHODS[name]
    known = [f.name for f in fields(entry.load()) if f.init]
    for key in parameters:
        if key not in known:
            raise InvalidInputError(f"method {name!r} has no parameter {key!r:.60}; {suggest(str(key), known)}")
    try:
        made = entry.load()(**{**entry.parameters, **parameters})
        if isinstance(made, Native):
            made.core  # noqa: B018, the core says here what it does not take
    except (TypeError, ValueError) as error:
        said = str(error).partition("\n")[0]
        raise InvalidInputError(f"method {name!r} does not take {dict(parameters)!r:.80}: {said}") from None
    return made


def solve_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Such options as `Problem.solve` takes them."""
    rest = {key: value for key, value in options.items() if value is not None and key not in ("method", "parameters")}
    return rest | {"method": method_of(options)}


def method_code(options: Mapping[str, Any]) -> str:
    """The method as Python code."""
    name, parameters = options.get("method", DEFAULT), options.get("parameters") or {}
    if not parameters:
        return repr(name)
    entry = METHODS[name]
    given = ", ".join(f"{key}={value!r}" for key, value in {**entry.parameters, **parameters}.items())
    return f"mk.methods.{entry.owner}({given})"
