"""The parameters of a method as text in a field of the page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memetik.errors import InvalidInputError


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
