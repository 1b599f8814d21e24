"""A robot's source with xacro arguments in one text, as on xacro's command line: "ur.urdf.xacro ur_type:=ur5e"."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from memetik.errors import InvalidInputError

_VALUE = r"""(?:'[^']*'|"[^"]*"|[^\s'"])*"""
_SOURCE = re.compile(rf"(?P<source>.*?)(?P<words>(?:\s+[A-Za-z_]\w*:={_VALUE})+)\s*", re.DOTALL)
_WORD = re.compile(rf"\s+([A-Za-z_]\w*):=({_VALUE})")


def split_arguments(source: str) -> tuple[str, dict[str, str]]:
    """The source itself, and the arguments after it."""
    match = _SOURCE.fullmatch(source) if ":=" in source and "<" not in source else None
    if match is None:
        return source, {}
    values = {name: "".join(shlex.split(value)) for name, value in _WORD.findall(match["words"])}
    return match["source"], values


def join_arguments(source: str, arguments: Mapping[str, str]) -> str:
    """The text that `split_arguments` takes apart."""
    return " ".join([source, *(f"{name}:={shlex.quote(value)}" for name, value in arguments.items())])


def parse_arguments(words: Iterable[str]) -> dict[str, str]:
    """{name: value} of words such as ur_type=ur5e or ur_type:=ur5e."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name = name.removesuffix(":")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise InvalidInputError(f"an argument is NAME=VALUE or NAME:=VALUE, not {word!r}.")
        found[name] = value
    return found
