"""The method that a set-up is solved by: a name and parameters, as the fields of a page, as an object, as code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from memetik.errors import InvalidInputError, suggest
from memetik.solve.methods import METHODS, Method, Native

DEFAULT = "memetic"


def method_of(options: Mapping[str, Any]) -> str | Method:
    """What `Problem.solve` takes as `method`, from the options "method" and "parameters" of a set-up."""
    name, parameters = options.get("method", DEFAULT), options.get("parameters") or {}
    if not isinstance(name, str) or name not in METHODS:
        raise InvalidInputError(f"the method {name!r:.60} is unknown; {suggest(str(name), METHODS)}")
    if not isinstance(parameters, Mapping):
        raise InvalidInputError(f"the parameters of a method are an object, not {parameters!r:.60}.")
    if not parameters:
        return name
    entry = METHODS[name]
    known = [f.name for f in fields(entry.load()) if f.init]  # type: ignore[arg-type]
    for key in parameters:
        if key not in known:
            raise InvalidInputError(f"method {name!r} has no parameter {key!r:.60}; {suggest(str(key), known)}")
    try:
        made = entry.load()(**{**entry.parameters, **parameters})
        if isinstance(made, Native):
            made.core  # noqa: B018, the core says here what it does not take
    except (TypeError, ValueError) as error:
        said = str(error).partition("\n")[0]
        raise InvalidInputError(f"method {name!r} does not take {parameters_text(parameters)!r:.80}: {said}") from None
    return made


def solve_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a set-up as `Problem.solve` takes them."""
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


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """Parameters as the page shows them: "population=4, islands=2"."""
    return ", ".join(
        f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in parameters.items()
    )


def parameters_from(text: str) -> dict[str, Any]:
    """Parameters from such a text."""
    parameters: dict[str, Any] = {}
    for part in filter(str.strip, text.split(",")):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not name or not value:
            raise InvalidInputError(f"parameters are written as NAME=VALUE, NAME=VALUE, not {text!r:.60}.")
        try:
            parameters[name] = json.loads(value)
        except ValueError:
            parameters[name] = value
    return parameters
