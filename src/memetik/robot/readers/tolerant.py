"""Reading in two modes: a strict reading raises the first error, a tolerant one reports all and goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from memetik.errors import DescriptionError
from memetik.files.xml_tree import MAX_MAGNITUDE, Element
from memetik.robot.findings import Place, Places, Report
from memetik.robot.notes import Notes

T = TypeVar("T")

_REMEDIES = {
    "missing-name": 'Write name="...".',
    "missing-element": "Write what is missing.",
    "not-a-number": "Write numbers, with a decimal point.",
    "not-finite": f"Write finite numbers below {MAX_MAGNITUDE:g}.",
}


class TolerantReader:
    """Base of readers of XML: tolerant with a report, strict without one.

    `owner` is what findings and notes name as their place, `notes` what either reading left out or filled in,
    `refused` whether a tolerant reading found what a strict one refuses.
    """

    def __init__(self, report: Report | None = None, file: str = ""):
        self.report, self.file, self.owner = report, file, "robot"
        self.notes = Notes(file)
        self.refused = False
        self.places = Places()

    def attempt(self, read: Callable[[], T], instead: T) -> T:
        """What can be read; in a tolerant reading a finding, and `instead`, where it cannot."""
        try:
            return read()
        except DescriptionError as error:
            self.refuse(error)
            return instead

    def text(self, element: Element, attribute: str, default: str | None = None) -> str:
        """The text of an attribute; in a tolerant reading "" where it is missing."""
        try:
            return element.text(attribute, default)
        except DescriptionError as error:
            self.refuse(error)
            return default or ""

    def number(self, element: Element, attribute: str, default: float) -> float:
        """The number of an attribute, or the default."""
        try:
            return element.number(attribute, default)
        except DescriptionError as error:
            self.refuse(error)
            return default

    def triple(
        self, element: Element, attribute: str, default: tuple[float, float, float] = (0.0, 0.0, 0.0)
    ) -> tuple[float, float, float]:
        """The three numbers of an attribute, or the default."""
        try:
            x, y, z = element.numbers(attribute, 3, default)
        except DescriptionError as error:
            self.refuse(error)
            return default
        return x, y, z

    def refuse(self, error: DescriptionError, remedy: str = "") -> None:
        """What ends a strict reading."""
        if self.report is None:
            raise error
        self.refused = True
        remedy = remedy or _REMEDIES.get(error.code, "Correct what the message names.")
        self.report.add(error.code, Place(self.file, error.line, self.owner), str(error), remedy)

    def drop(self, code: str, element: Element, message: str, consequence: str) -> None:
        """What is left out, with a note."""
        self.notes.left_out(message, consequence, line=element.line, element=self.owner, code=code)

    def fill(self, code: str, element: Element, message: str, consequence: str) -> None:
        """What is filled in, with a note."""
        self.notes.filled_in(message, consequence, line=element.line, element=self.owner, code=code)

    def remark(self, code: str, element: Element, message: str, remedy: str) -> None:
        """What only a tolerant reading speaks of."""
        if self.report is not None:
            self.report.add(code, Place(self.file, element.line, self.owner), message, remedy)

    def mark(self, part: T, element: Element) -> T:
        """The part itself; a tolerant reading keeps its place."""
        if self.report is not None:
            self.places.add(part, Place(self.file, element.line, self.owner))
        return part
