"""XML from strangers, read safely: no DTD, no entities, nothing fetched, size and depth bounded, numbers finite.

Every reader of XML descriptions works on the `Element` tree made here; every complaint names the element and its line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NoReturn
from xml.parsers import expat

from memetik.errors import DescriptionError

MAX_BYTES = 32_000_000
MAX_ELEMENTS = 60_000
MAX_DEPTH = 2_000
MAX_NAME = 1_000
MAX_MAGNITUDE = 1e9
"""No length, angle, mass or inertia of a robot is larger; larger numbers are typing errors or attacks."""

NO_LIMIT = 1e9
"""A joint limit, velocity or effort of this size or beyond stands for "none": files write 1e9, 1e16 or inf for it."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"([+-]?)inf(inity)?", re.ASCII | re.IGNORECASE)


class Element:
    """An XML element: its tag, attributes, children in order, and the line it starts at."""

    __slots__ = ("attributes", "children", "line", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], line: int):
        self.tag, self.attributes, self.line = tag, attributes, line
        self.children: list[Element] = []

    def __repr__(self) -> str:
        return f"<{self.tag}> in line {self.line}"

    def all(self, tag: str) -> Iterator[Element]:
        """The children of that tag, in order."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """The first child of that tag, or None."""
        return next(self.all(tag), None)

    def text(self, attribute: str, default: str | None = None) -> str:
        """An attribute's text without surrounding blanks; an error where it is missing and has no default."""
        value = self.attributes.get(attribute, "").strip()
        if not value:
            if default is None:
                raise DescriptionError(f"{self.label} needs the attribute {attribute!r}.")
            return default
        if len(value) > MAX_NAME:
            raise DescriptionError(
                f"{self.label} has {len(value)} characters in {attribute!r}; at most {MAX_NAME} are read."
            )
        return value

    def number(self, attribute: str, default: float | None = None) -> float:
        """A finite number from an attribute."""
        if default is not None and attribute not in self.attributes:
            return default
        return self._finite(self.text(attribute), attribute)

    def numbers(self, attribute: str, count: int | None, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """Finite numbers from an attribute, separated by blanks; `count` of them, or any where count is None."""
        if default is not None and not self.attributes.get(attribute, "").strip():
            return default
        words = self._words(attribute)
        if count is not None and len(words) != count:
            raise DescriptionError(
                f"{self.label} has {attribute}={_shorten(self.attributes[attribute])}; {count} numbers are needed."
            )
        return tuple(self._finite(word, attribute) for word in words)

    def limits(self, attribute: str) -> tuple[float, ...] | None:
        """Numbers of a limit, where beyond `NO_LIMIT` and "inf" mean infinite; None where the attribute is absent."""
        if attribute not in self.attributes:
            return None
        values = []
        for word in self._words(attribute):
            infinite = _INFINITE.fullmatch(word)
            value = float(infinite.group(1) + "inf") if infinite else self._number(word, attribute)
            values.append(math.copysign(math.inf, value) if abs(value) >= NO_LIMIT else value)
        return tuple(values)

    def flag(self, attribute: str, default: bool = False) -> bool:
        """A true or false from an attribute."""
        word = self.text(attribute, "true" if default else "false").lower()
        if word in ("true", "1", "yes"):
            return True
        if word in ("false", "0", "no"):
            return False
        raise DescriptionError(f"{self.label} has {attribute}={_shorten(word)}; 'true' or 'false' is needed.")

    @property
    def label(self) -> str:
        """How messages call this element: tag, name where it has one, line."""
        name = self.attributes.get("name")
        named = f" {_shorten(name)}" if name else ""
        return f"<{self.tag}>{named} (line {self.line})"

    def _words(self, attribute: str) -> list[str]:
        words = self.attributes.get(attribute, "").split()
        if not words:
            raise DescriptionError(f"{self.label} needs numbers in the attribute {attribute!r}.")
        return words

    def _number(self, word: str, attribute: str) -> float:
        if not _NUMBER.fullmatch(word):
            raise DescriptionError(f"{self.label} has {attribute} {_shorten(word)}; a finite number is needed.")
        return float(word)

    def _finite(self, word: str, attribute: str) -> float:
        value = self._number(word, attribute)
        if not abs(value) <= MAX_MAGNITUDE:
            raise DescriptionError(
                f"{self.label} has {attribute} {_shorten(word)}; numbers beyond {MAX_MAGNITUDE:g} are not accepted."
            )
        return value


def parse_xml(content: str | bytes, what: str) -> Element:
    """Parse a document; `what` names it in messages. Text is taken as it is, bytes in the encoding they declare."""
    encoding = None
    if isinstance(content, str):
        try:
            content = content.encode("utf-8")
        except UnicodeEncodeError as error:
            raise DescriptionError(f"{what} is not valid text: {error}.") from None
        encoding = "utf-8"
    if len(content) > MAX_BYTES:
        raise DescriptionError(f"{what} has {len(content)} bytes; at most {MAX_BYTES} are read.")
    content = content.lstrip()  # a blank line before the XML declaration is common, and harmless
    if not content:
        raise DescriptionError(f"{what} is empty.")
    builder = _Builder(what)
    parser = expat.ParserCreate(encoding)
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartElementHandler = lambda tag, attributes: builder.start(tag, attributes, parser.CurrentLineNumber)
    parser.EndElementHandler = builder.end
    parser.StartDoctypeDeclHandler = builder.refuse
    parser.EntityDeclHandler = builder.refuse
    parser.ExternalEntityRefHandler = builder.refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise DescriptionError(f"{what} is not well-formed XML: {error}.") from None
    except (ValueError, LookupError, UnicodeError) as error:
        raise DescriptionError(f"{what} is in an encoding that cannot be read: {error}.") from None
    if builder.root is None:
        raise DescriptionError(f"{what} has no XML element.")
    return builder.root


class _Builder:
    def __init__(self, what: str):
        self.what = what
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0

    def start(self, tag: str, attributes: dict[str, str], line: int) -> None:
        element = Element(tag, attributes, line)
        self.count += 1
        if self.count > MAX_ELEMENTS:
            raise DescriptionError(f"{self.what} has more than {MAX_ELEMENTS} elements.")
        if len(self.open) >= MAX_DEPTH:
            raise DescriptionError(f"{self.what} nests elements deeper than {MAX_DEPTH} levels in line {line}.")
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, _tag: str) -> None:
        self.open.pop()

    def refuse(self, *_arguments: object) -> NoReturn:
        raise DescriptionError(
            f"{self.what} declares a document type or entities; these are refused for safety. "
            "Remove the <!DOCTYPE ...> part."
        )


def _shorten(text: str | None, most: int = 60) -> str:
    text = text or ""
    return repr(text if len(text) <= most else text[: most - 3] + "...")
