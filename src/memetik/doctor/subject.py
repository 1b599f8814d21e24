"""A description under examination: its parts, where they are written, and what its text says of limits.

Nothing needs to be complete or right: names may be missing or doubled, joints may lead nowhere.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from memetik.robot.description import LIMIT_NAMES, Description, Joint, Link
from memetik.robot.findings import Place, Places, Report
from memetik.robot.readers.urdf import Limits, Reading


class Subject:
    """What the doctor's checks look at, and the report that they write into.

    `form` is the format whose words remedies use. `links` and `joints` are by name, `parents` gives the joint above a
    link; of doubles the first counts.
    """

    def __init__(
        self,
        description: Description,
        report: Report,
        file: str = "",
        reading: Reading | None = None,
        form: Literal["URDF", "MJCF"] = "URDF",
    ):
        self.description, self.report, self.file, self.reading, self.form = description, report, file, reading, form
        self.links: dict[str, Link] = {link.name: link for link in reversed(description.links)}
        self.joints: dict[str, Joint] = {joint.name: joint for joint in reversed(description.joints)}
        self.parents: dict[str, Joint] = {joint.child: joint for joint in reversed(description.joints) if joint.child}
        self._places = reading.places if reading is not None else Places()

    def add(self, code: str, part: object, message: str, remedy: str, element: str = "") -> None:
        """Report a finding about a part. `element` names it where its text is not at hand."""
        place = self.place(part, element)
        self.report.add(code, place, message, remedy)

    def place(self, part: object, element: str = "") -> Place:
        """Where a part is written."""
        if not element:
            kind = "link" if isinstance(part, Link) else "joint"
            element = f"{kind} {part.name!r}" if isinstance(part, Link | Joint) else "robot"
        return self._places.get(part, Place(self.file, None, element))

    def limits(self, joint: Joint) -> Limits | None:
        """A joint's limits as they are stated, by name; None for a joint of unknown type."""
        if self.reading is not None:
            return self.reading.limits.get(id(joint))
        limits: Limits = {name: getattr(joint, name) for name in LIMIT_NAMES}
        return {name: values for name, values in limits.items() if any(math.isfinite(value) for value in values)}

    def reach(self) -> float:
        """The longest stretched chain from the root: sum of offsets and slides. 0 where nothing is apart."""
        lengths: dict[str, float] = {}
        for link in self.description.links:
            chain: list[Joint] = []
            name, seen = link.name, set[str]()
            while name in self.parents and name not in lengths and name not in seen:
                seen.add(name)
                chain.append(self.parents[name])
                name = self.parents[name].parent
            length = lengths.get(name, 0.0)
            for joint in reversed(chain):
                length += float(np.linalg.norm(joint.origin[:3, 3])) + _slide(joint)
                lengths[joint.child] = length
        return max(lengths.values(), default=0.0)


def _slide(joint: Joint) -> float:
    if joint.traits.angular != (False,):
        return 0.0
    # A slide of hundreds of metres stands for "unlimited" and says nothing about the size of the robot.
    return max((abs(end) for end in (*joint.lower, *joint.upper) if abs(end) < 100.0), default=0.0)
