"""NAME=VALUE in texts of users: flags, specifications, fields of the studio."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memetik.errors import InvalidInputError


def named_values(words: Iterable[str], what: str, form: str = "NAME=VALUE") -> dict[str, str]:
    """{name: value} of words such as "damping=0.1". `what` and `form` say in errors what takes them, and how."""
    found = named_words(words)
    for word, value in found.items():
        if not word or not value:
            given = word if value is None else f"{word}={value}"
            raise InvalidInputError(f"{what} takes {form}, not {given!r}.")
    return {name: value for name, value in found.items() if value is not None}


def named_words(words: Iterable[str]) -> dict[str, str | None]:
    """As `named_values`, with None for words without "="."""
    parts = (word.partition("=") for word in words if word.strip())
    return {name.strip(): value.strip() if equals else None for name, equals, value in parts}


def as_numbers(values: Mapping[str, str], what: str) -> dict[str, float]:
    """The values as numbers."""
    return {name: as_number(value, f"{what} {name}") for name, value in values.items()}


def as_number(word: str, what: str) -> float:
    """A word as a number."""
    try:
        return float(word)
    except ValueError:
        raise InvalidInputError(f"{what}: {word!r} is not a number.") from None
