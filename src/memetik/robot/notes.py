"""What a reader left out of a description, filled in or read leniently; where; and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from memetik.robot.findings import CODES, Place, Severity

NoteKind = Literal["left out", "filled in"]


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that the robot has otherwise than its file says it."""

    kind: NoteKind
    message: str
    """What was left out or filled in, a sentence."""
    consequence: str
    """What that means for the robot, a sentence."""
    place: Place = field(default_factory=Place)
    code: str = "left-out"
    """The doctor's code for it, of `memetik.robot.findings.CODES`."""

    @property
    def file(self) -> str:
        """The file that it is about, "" for a text."""
        return self.place.file

    @property
    def line(self) -> int | None:
        """The line in that file, None where it is not known."""
        return self.place.line

    @property
    def severity(self) -> Severity:
        """How grave the doctor takes it."""
        return CODES[self.code][0]

    def __str__(self) -> str:
        return f"{self.place}: {self.message} {self.consequence}"


class Notes:
    """Collects the notes of one reading, each once."""

    def __init__(self, file: str = "") -> None:
        self.file = file
        self._notes: dict[Note, None] = {}

    def left_out(
        self, message: str, consequence: str, *, line: int | None = None, element: str = "robot", code: str = "left-out"
    ) -> None:
        """Something that the file has and the robot has not."""
        self._notes.setdefault(Note("left out", message, consequence, Place(self.file, line, element), code))

    def filled_in(
        self,
        message: str,
        consequence: str,
        *,
        line: int | None = None,
        element: str = "robot",
        code: str = "filled-in",
    ) -> None:
        """Something that the robot has and the file has not, or says otherwise."""
        self._notes.setdefault(Note("filled in", message, consequence, Place(self.file, line, element), code))

    def __len__(self) -> int:
        return len(self._notes)

    def collected(self) -> tuple[Note, ...]:
        """All notes, in the order in which they were made."""
        return tuple(self._notes)


def summarised(notes: Iterable[Note], most: int = 6) -> str:
    """The messages of grave notes in one line, for a log; "" where there is none."""
    grave = [note.message.rstrip(".") for note in notes if note.severity != "info"]
    return "; ".join(grave[:most]) + (f"; and {len(grave) - most} more" if len(grave) > most else "")
