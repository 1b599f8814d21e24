"""What a tolerant reader and the doctor find: severity, code, place, message and remedy; and the catalogue of codes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memetik.robot.notes import Note

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a finding is: the file ("" for a text), its line (None where unknown) and the element."""

    file: str = ""
    line: int | None = None
    element: str = "robot"

    def __str__(self) -> str:
        where = ":".join(part for part in (self.file, str(self.line) if self.line else "") if part)
        return f"{where} {self.element}".strip()


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect or remark.

    An error keeps the description from meaning what its author meant, or from loading in strict readers; a warning is
    wrong or missing but leaves the kinematics usable; an info is worth knowing.
    """

    severity: Severity
    code: str
    place: Place
    message: str
    remedy: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


class Places:
    """Where the parts of a description are written. Parts are told apart by identity, as names may be missing."""

    def __init__(self) -> None:
        self._places: dict[int, tuple[object, Place]] = {}  # a part that is held keeps its id

    def add(self, part: object, place: Place) -> None:
        """Note where a part is written."""
        self._places[id(part)] = part, place

    def get(self, part: object, default: Place) -> Place:
        """Where a part is written."""
        return self._places.get(id(part), (part, default))[1]


_NOTE_REMEDIES = {
    "left out": "Nothing, if that is meant; otherwise mend what the message names, or remove it.",
    "filled in": "Nothing, if that is meant; otherwise write what is missing.",
}


class Report:
    """Collects findings; severities come from `CODES`."""

    def __init__(self) -> None:
        self._findings: dict[Finding, None] = {}

    def add(self, code: str, place: Place, message: str, remedy: str) -> None:
        """Note a finding."""
        finding = Finding(CODES[code][0], code, place, message, remedy)
        self._findings.setdefault(finding)

    def add_notes(self, notes: Iterable[Note]) -> None:
        """Add what a reader noted, where no finding has said it yet."""
        told = {(finding.code, finding.place.element) for finding in self._findings}
        for note in notes:
            if (note.code, note.place.element) not in told:
                self.add(note.code, note.place, f"{note.message} {note.consequence}", _NOTE_REMEDIES[note.kind])

    def has_errors(self) -> bool:
        """Whether any finding so far is an error."""
        return any(finding.severity == "error" for finding in self._findings)

    def sorted(self) -> list[Finding]:
        """Errors first, then warnings and infos, each in the order of the file."""
        return sorted(
            self._findings, key=lambda f: (SEVERITIES.index(f.severity), f.place.file, f.place.line or 0, f.code)
        )


CODES: dict[str, tuple[Severity, str]] = {
    # The file.
    "unreadable": ("error", "the file cannot be opened or decoded, or the reader refuses it"),
    "malformed-xml": ("error", "the text is not well-formed XML, or declares entities"),
    "not-a-robot": ("error", "the XML is not a robot description"),
    "no-links": ("error", "the robot has no link"),
    "missing-name": ("error", "a link or joint has no name"),
    "missing-element": ("error", "an element that URDF requires is missing"),
    "left-out": ("info", "something in the file that memetik does not read"),
    "lost-constraint": ("warning", "something that restrains the motion and that memetik does not honour"),
    "lost-shape": ("warning", "a shape that is left out of collision, sight and mass"),
    "filled-in": ("info", "something that the file does not say and memetik adds"),
    "unknown-element": ("info", "an element that URDF does not have, usually a misspelling; readers ignore it"),
    "not-a-number": ("error", "text where numbers are needed, or the wrong count of them"),
    "not-finite": ("error", "a number is NaN, infinite or absurdly large"),
    # The tree.
    "no-root": ("error", "every link is the child of another"),
    "several-roots": ("error", "the links are not connected into one tree"),
    "cycle": ("error", "links that are their own ancestors"),
    "unknown-parent": ("error", "a joint's parent link does not exist"),
    "unknown-child": ("error", "a joint's child link does not exist"),
    "self-parent": ("error", "a joint connects a link to itself"),
    "two-parents": ("error", "a link is the child of several joints"),
    "duplicate-link": ("error", "two links have one name"),
    "duplicate-joint": ("error", "two joints have one name"),
    # Joints.
    "unknown-joint-type": ("error", "a joint type that does not exist"),
    "zero-axis": ("error", "a moving joint's axis has no direction"),
    "unnormalised-axis": ("warning", "a moving joint's axis is not a unit vector"),
    "rotation-order": ("error", "a rotation order, or swing and twist, that the joint cannot have"),
    "bad-pose": ("error", "a pose that is not a rotation and a position"),
    "missing-limits": ("error", "a revolute or prismatic joint without position limits"),
    "one-sided-limits": ("info", "only one of lower and upper is written; the other is 0"),
    "inverted-limits": ("error", "the lower limit is above the upper"),
    "zero-range-limits": ("warning", "the lower limit equals the upper: the joint cannot move"),
    "missing-velocity": ("warning", "a moving joint without a velocity limit"),
    "missing-effort": ("info", "a moving joint without an effort limit"),
    "negative-limit": ("error", "a velocity or effort limit below zero"),
    "continuous-with-limits": ("warning", "a continuous joint with position limits, which readers ignore"),
    "soft-limits": ("warning", "soft limits are inverted or outside the hard ones"),
    "degrees": ("warning", "an angle that looks like degrees; URDF has radians"),
    "mimic-missing": ("error", "a joint mimics one that does not exist"),
    "mimic-self": ("error", "a joint mimics itself"),
    "mimic-cycle": ("error", "joints mimic each other in a circle, or in a chain too long to follow"),
    "mimic-fixed": ("error", "a joint that does not move by one number mimics or is mimicked"),
    "mimic-outside-limits": ("warning", "following its master takes a mimic joint beyond its own limits"),
    # Bodies.
    "missing-inertial": ("warning", "a moving body without mass"),
    "zero-mass": ("warning", "an inertial with mass 0"),
    "negative-mass": ("error", "a mass below zero"),
    "zero-inertia": ("warning", "a body with mass and no inertia"),
    "indefinite-inertia": ("error", "an inertia tensor with a negative principal moment"),
    "inertia-triangle": ("warning", "principal moments that no body can have"),
    "inertia-too-large": ("warning", "an inertia too large for the mass and size"),
    "inertia-too-small": ("warning", "an inertia too small for the mass and size"),
    "com-far-away": ("warning", "a centre of mass far outside the link's geometry"),
    # Geometry.
    "bad-shape": ("error", "a shape that is unknown or has a size that is not positive"),
    "missing-mesh": ("warning", "a mesh file that cannot be found"),
    "unreadable-mesh": ("warning", "a mesh file that cannot be read or is empty"),
    "mesh-scale": ("warning", "a mesh whose size does not fit the robot, as if off by a factor of 1000"),
    "no-collision-geometry": ("info", "a link that is seen but never collides, or a robot without collision geometry"),
    "unknown-material": ("warning", "a material that is used and defined nowhere"),
    "unused-material": ("info", "a material that is defined and not used"),
    "unknown-reference": ("warning", "a transmission or simulator tag for a joint or link that does not exist"),
    # Contacts, by sampling.
    "always-collide": ("warning", "two links overlap in every sampled configuration"),
    "never-collides": ("info", "a link's collision geometry met no other link in any sampled configuration"),
    "never-pairs": ("info", "pairs of links that met in no sampled configuration and are still checked"),
    # SRDF.
    "srdf-unreadable": ("error", "the SRDF cannot be read"),
    "srdf-other-robot": ("warning", "the SRDF is for a robot of another name"),
    "srdf-unknown-link": ("error", "the SRDF refers to a link that does not exist"),
    "srdf-unknown-joint": ("error", "the SRDF refers to a joint that does not exist"),
    "srdf-unknown-group": ("error", "the SRDF refers to a group that does not exist"),
    "srdf-broken-chain": ("error", "a group's chain whose base is no ancestor of its tip"),
    "srdf-group-cycle": ("error", "groups that contain each other"),
    "srdf-duplicate": ("warning", "a group, state, end effector or disabled pair is there twice"),
    "srdf-empty-group": ("warning", "a group without any joint"),
    "disabled-pair-unknown-link": ("warning", "a disabled collision pair names a link that does not exist"),
    "state-outside-limits": ("error", "a named state that the joint limits exclude"),
    "state-wrong-joint": (
        "warning",
        "a named state sets a joint that is fixed, follows another or is not in its group",
    ),
    "state-incomplete": ("info", "a named state leaves joints of its group open"),
    "state-in-collision": ("warning", "two links overlap in a named state and are not disabled"),
}
"""Every code: its severity and what it means."""
