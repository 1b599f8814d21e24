"""XML from strangers, read safely: no DTD, no entities, nothing fetched, size and depth bounded, numbers finite.

Every reader of XML descriptions works on the `Element` tree made here; every complaint names the element and its line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    """An XML element: its tag, attributes, children in order, the line it starts at, and its text where it is kept."""

    __slots__ = ("attributes", "children", "content", "line", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], line: int):
        self.tag, self.attributes, self.line = tag, attributes, line
        self.children: list[Element] = []
        self.content: Sequence[str] = ()

    def __repr__(self) -> str:
        return f"<{self.tag}> in line {self.line}"

    def all(self, *tags: str) -> Iterator[Element]:
        """The children of these tags, in order."""
        return (child for child in self.children if child.tag in tags)

    def everywhere(self) -> Iterator[Element]:
        """This element and all within it, in the order of the document."""
        stack: list[Element] = [self]
        while stack:
            element = stack.pop()
            yield element
            stack += reversed(element.children)

    def first(self, tag: str) -> Element | None:
        """The first child of that tag, or None."""
        for child in self.children:
            if child.tag == tag:
                return child
        return None

    def text(self, attribute: str, default: str | None = None) -> str:
        """An attribute's text without surrounding blanks; an error where it is missing and has no default."""
        value = self.attributes.get(attribute, "").strip()
        if not value:
            if default is None:
                code = "missing-name" if attribute == "name" else "missing-element"
                raise self.error(f"{self.label} needs the attribute {attribute!r}.", code)
            return default
        if len(value) > MAX_NAME:
            raise self.error(f"{self.label} has {len(value)} characters in {attribute!r}; at most {MAX_NAME} are read.")
        return value

    def number(self, attribute: str, default: float | None = None) -> float:
        """A finite number from an attribute."""
        written = self.attributes.get(attribute)
        if written is None and default is not None:
            return default
        values = _plain_numbers(written or "")
        return values[0] if len(values) == 1 else self._finite(self.text(attribute), attribute)

    def numbers(self, attribute: str, count: int | None, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """Finite numbers from an attribute, separated by blanks; `count` of them, or any where count is None."""
        written = self.attributes.get(attribute, "")
        if default is not None and not written.strip():
            return default
        values = _plain_numbers(written)  # the common case, in one step
        if values and (count is None or len(values) == count):
            return values
        words = self._words(attribute)
        if count is not None and len(words) != count:
            written = _shorten(self.attributes[attribute])
            raise self.error(f"{self.label} has {attribute}={written}; {count} numbers are needed.", "not-a-number")
        return tuple(self._finite(word, attribute) for word in words)

    def limits(self, attribute: str) -> tuple[float, ...] | None:
        """Numbers of a limit, where beyond `NO_LIMIT` and "inf" mean infinite; None where the attribute is absent."""
        if attribute not in self.attributes:
            return None
        values: list[float] = []
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
        raise self.error(f"{self.label} has {attribute}={_shorten(word)}; 'true' or 'false' is needed.")

    def error(self, message: str, code: str = "unreadable") -> DescriptionError:
        """An error about this element."""
        return DescriptionError(message, code, self.line)

    @property
    def label(self) -> str:
        """How messages call this element: tag, name where it has one, line."""
        name = self.attributes.get("name")
        named = f" {_shorten(name)}" if name else ""
        return f"<{self.tag}>{named} (line {self.line})"

    def _words(self, attribute: str) -> list[str]:
        words = self.attributes.get(attribute, "").split()
        if not words:
            raise self.error(f"{self.label} needs numbers in the attribute {attribute!r}.", "missing-element")
        return words

    def _number(self, word: str, attribute: str) -> float:
        if not _NUMBER.fullmatch(word):
            code = "not-finite" if word.lower().lstrip("+-") in ("nan", "inf", "infinity") else "not-a-number"
            raise self.error(f"{self.label} has {attribute} {_shorten(word)}; a finite number is needed.", code)
        return float(word)

    def _finite(self, word: str, attribute: str) -> float:
        value = self._number(word, attribute)
        if not abs(value) <= MAX_MAGNITUDE:
            message = (
                f"{self.label} has {attribute} {_shorten(word)}; numbers beyond {MAX_MAGNITUDE:g} are not accepted."
            )
            raise self.error(message, "not-finite")
        return value


@dataclass(frozen=True, slots=True)
class XmlLimits:
    """How much of a document is read."""

    bytes: int = MAX_BYTES
    elements: int = MAX_ELEMENTS
    depth: int = MAX_DEPTH


def parse_xml(content: str | bytes, what: str, *, limits: XmlLimits = XmlLimits(), keep_text: bool = False) -> Element:
    """Parse a document; `what` names it in messages. Text is taken as it is, bytes in the encoding they declare.

    keep_text: keep the text of elements, in pieces.
    """
    encoding = None
    if isinstance(content, str):
        try:
            content = content.encode("utf-8")
        except UnicodeEncodeError as error:
            raise DescriptionError(f"{what} is not valid text: {error}.") from None
        encoding = "utf-8"
    if len(content) > limits.bytes:
        raise DescriptionError(f"{what} has {len(content)} bytes; at most {limits.bytes} are read.")
    stripped = content.lstrip()  # a blank line before the XML declaration is common, and harmless
    skipped = content.count(b"\n", 0, len(content) - len(stripped))
    if not stripped:
        raise DescriptionError(f"{what} is empty.")
    parser = expat.ParserCreate(encoding)
    document = _build(parser, what, limits, skipped, keep_text)
    try:
        parser.Parse(stripped, True)
    except expat.ExpatError as error:
        reason, line = expat.ErrorString(error.code), error.lineno + skipped
        message = f"{what} is not well-formed XML: {reason}: line {line}, column {error.offset}."
        raise DescriptionError(message, "malformed-xml", line) from None
    except (ValueError, LookupError, UnicodeError) as error:
        raise DescriptionError(f"{what} is in an encoding that cannot be read: {error}.") from None
    if not document.children:
        raise DescriptionError(f"{what} has no XML element.")
    return document.children[0]


def _build(parser: expat.XMLParserType, what: str, limits: XmlLimits, skipped: int, keep_text: bool) -> Element:
    """Let a parser put its elements below the one that is returned. It stands for the document."""
    document = Element("", {}, 0)
    unfinished = [document]
    count, most, deepest = 0, limits.elements, limits.depth

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > most:
            raise DescriptionError(f"{what} has more than {most} elements.")
        line = parser.CurrentLineNumber + skipped
        if len(unfinished) > deepest:
            raise DescriptionError(f"{what} nests elements deeper than {deepest} levels in line {line}.")
        element = Element(tag, attributes, line)
        unfinished[-1].children.append(element)
        unfinished.append(element)

    def end(_tag: str) -> None:
        unfinished.pop()

    def add_text(text: str) -> None:
        element = unfinished[-1]
        element.content = (*element.content, text)

    def refuse(*_arguments: str | int | None) -> NoReturn:
        raise DescriptionError(
            f"{what} declares a document type or entities; these are refused for safety. "
            "Remove the <!DOCTYPE ...> part."
        )

    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    if keep_text:
        parser.CharacterDataHandler = add_text
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    return document


def _plain_numbers(text: str) -> tuple[float, ...]:
    """Finite numbers of usual size, separated by blanks; none where anything else is among them."""
    if "_" in text or not text.isascii():  # which Python reads as parts of numbers
        return ()
    try:
        values = tuple(map(float, text.split()))
    except ValueError:
        return ()
    for value in values:
        if not -MAX_MAGNITUDE <= value <= MAX_MAGNITUDE:
            return ()
    return values


def _shorten(text: str | None, most: int = 60) -> str:
    text = text or ""
    return repr(text if len(text) <= most else text[: most - 3] + "...")
