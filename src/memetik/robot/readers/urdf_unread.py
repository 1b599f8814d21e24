"""Elements of URDF that are known and mean nothing for kinematics: noted, not read."""

from __future__ import annotations

from memetik.files.xml_tree import Element
from memetik.robot.notes import Note, Notes

UNREAD = {
    "transmission": "Gear ratios do not matter: q is in radians and metres at the joints.",
    "gazebo": "What they say to a simulator has no effect; a sensor or a closed loop that they add is missing.",
    "ros2_control": "Limits and interfaces that they state have no effect; limits are those of <limit>.",
    "sensor": "Sensors are no frames; a <link> at their place is.",
    "dynamics": "Damping and friction have no effect on kinematics and gravity torques.",
    "calibration": "Reference positions of encoders have no effect.",
    "mujoco": "What they say to MuJoCo's compiler has no effect.",
}
"""Elements that are known and not read, and what follows from that."""


def unread_elements(root: Element, file: str) -> tuple[Note, ...]:
    """One note for each kind of element that is not read."""
    inner = (child for part in root.all("link", "joint") for child in part.children)
    found: dict[str, list[Element]] = {}
    for element in (*root.children, *inner):
        if element.tag in UNREAD:
            found.setdefault(element.tag, []).append(element)
    notes = Notes(file)
    for tag, elements in found.items():
        message = f"{len(elements)} <{tag}> element{'s are' if len(elements) > 1 else ' is'} not read."
        notes.left_out(message, UNREAD[tag], line=elements[0].line)
    return notes.collected()
