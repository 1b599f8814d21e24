"""What surrounds the bodies of an MJCF file: compiler settings, default classes, orientations."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field

import numpy as np

from memetik.errors import DescriptionError, suggest
from memetik.files.xml_tree import MAX_ELEMENTS, Element
from memetik.geometry.transforms import pose, rotation_about, rotation_from_quaternion, unit

ACTUATORS = (
    *("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion"),
    *("dcmotor", "plugin"),
)
"""The kinds of actuators, which share one set of defaults in each class, as in MuJoCo."""

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass
class Settings:
    """The <compiler> settings and default classes of an MJCF file."""

    degrees: bool = True
    euler_sequence: str = "xyz"
    mesh_folder: str = ""
    strip_path: bool = False
    fit_boxes: bool = False
    exact_mesh_inertia: bool = False
    balance_inertia: bool = False
    automatic_limits: bool = True
    inertia_from_geoms: str = "auto"
    smallest_mass: float = 0.0
    smallest_inertia: float = 0.0
    total_mass: float = -1.0
    inertia_groups: tuple[float, ...] = (0.0, 5.0)
    classes: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    """Class name to tag to attributes, inheritance resolved."""

    def angle(self, value: float) -> float:
        """An angle of the file in radians."""
        return math.radians(value) if self.degrees else value

    def complete(self, element: Element, inherited_class: str) -> Element:
        """The element with the attributes that its default class gives it."""
        name = element.text("class", inherited_class)
        if name not in self.classes:
            raise DescriptionError(f"{element.label} is of class {name!r}; {suggest(name, self.classes)}")
        defaults = self.classes[name].get(_defaults_key(element.tag))
        if not defaults:
            return element
        return Element(element.tag, {**defaults, **element.attributes}, element.line)

    def mesh_uri(self, file: str) -> str:
        """The reference to a mesh file, in the folder that the compiler settings name."""
        file = file.replace("\\", "/")
        if self.strip_path:
            file = file.rsplit("/", 1)[-1]
        return file if os.path.isabs(file) or not self.mesh_folder else f"{self.mesh_folder}/{file}"

    def placement(self, element: Element) -> np.ndarray:
        """Position and orientation of a body, frame, geom or inertial, as a pose in its parent."""
        return pose(self.rotation(element), element.numbers("pos", 3, (0.0, 0.0, 0.0)))

    def rotation(self, element: Element) -> np.ndarray:
        """The orientation of an element, in any of MJCF's five ways."""
        if "axisangle" in element.attributes:
            x, y, z, angle = element.numbers("axisangle", 4)
            return rotation_about(_direction(element, (x, y, z), "axisangle"), self.angle(angle))
        if "euler" in element.attributes:
            return self._rotation_from_euler(element)
        if "xyaxes" in element.attributes:
            values = element.numbers("xyaxes", 6)
            x = np.array(_direction(element, values[:3], "xyaxes"))
            y = np.array(values[3:]) - x * (x @ np.array(values[3:]))
            y = np.array(_direction(element, tuple(y), "xyaxes"))
            return np.column_stack([x, y, np.cross(x, y)])
        if "zaxis" in element.attributes:
            return rotation_to(_direction(element, element.numbers("zaxis", 3), "zaxis"))
        w, x, y, z = element.numbers("quat", 4, (1.0, 0.0, 0.0, 0.0))
        length = math.sqrt(w * w + x * x + y * y + z * z)
        if length < 1e-9:
            raise DescriptionError(f"{element.label} has a quaternion of length zero.")
        return rotation_from_quaternion(w / length, x / length, y / length, z / length)

    def _rotation_from_euler(self, element: Element) -> np.ndarray:
        """Lower case letters turn about the moved axes, upper case ones about the fixed axes."""
        rotation = np.eye(3)
        for letter, value in zip(self.euler_sequence, element.numbers("euler", 3), strict=True):
            turn = rotation_about(_AXES[letter.lower()], self.angle(value))
            rotation = rotation @ turn if letter.islower() else turn @ rotation
        return rotation


def read_settings(root: Element) -> Settings:
    """The settings of a whole file, in which later <compiler> elements override earlier ones."""
    attributes: dict[str, str] = {}
    line = root.line
    for element in root.all("compiler"):
        attributes |= element.attributes
        line = element.line
    compiler = Element("compiler", attributes, line)
    if compiler.text("coordinate", "local") != "local":
        raise DescriptionError(
            "<compiler coordinate='global'> is not supported; MuJoCo too only reads local coordinates."
        )
    angle = compiler.text("angle", "degree")
    if angle not in ("degree", "radian"):
        raise DescriptionError(f"{compiler.label} has angle={angle!r}; 'degree' or 'radian' is needed.")
    sequence = compiler.text("eulerseq", "xyz")
    if len(sequence) != 3 or set(sequence.lower()) - set("xyz"):
        raise DescriptionError(f"{compiler.label} has eulerseq={sequence!r}; three of x, y, z are needed.")
    return Settings(
        degrees=angle == "degree",
        euler_sequence=sequence,
        mesh_folder=compiler.text("meshdir", compiler.text("assetdir", "")).replace("\\", "/"),
        strip_path=compiler.flag("strippath"),
        fit_boxes=compiler.flag("fitaabb"),
        exact_mesh_inertia=compiler.flag("exactmeshinertia"),
        balance_inertia=compiler.flag("balanceinertia"),
        automatic_limits=compiler.flag("autolimits", True),
        inertia_from_geoms=compiler.text("inertiafromgeom", "auto").lower(),
        smallest_mass=compiler.number("boundmass", 0.0),
        smallest_inertia=compiler.number("boundinertia", 0.0),
        total_mass=compiler.number("settotalmass", -1.0),
        inertia_groups=compiler.numbers("inertiagrouprange", 2, (0.0, 5.0)),
        classes=_default_classes(root),
    )


def _default_classes(root: Element) -> dict[str, dict[str, dict[str, str]]]:
    classes: dict[str, dict[str, dict[str, str]]] = {"main": {}}
    waiting = [(element, "", element.text("class", "main")) for element in root.all("default")]
    size = 0
    while waiting:
        element, above, name = waiting.pop(0)
        tags = classes.setdefault(name, {})
        if above:
            tags.update({tag: dict(attributes) for tag, attributes in classes[above].items() if tag not in tags})
        for child in element.children:
            if child.tag == "default":
                waiting.append((child, name, child.text("class")))
            else:
                key = _defaults_key(child.tag)
                tags[key] = {**tags.get(key, {}), **child.attributes}
        size += sum(len(attributes) for attributes in tags.values())
        if size > MAX_ELEMENTS:  # each class holds a copy of what it inherits
            raise DescriptionError(f"the default classes of the MJCF hold more than {MAX_ELEMENTS} attributes.")
    return classes


def _defaults_key(tag: str) -> str:
    return "general" if tag in ACTUATORS else tag


def rotation_to(axis: tuple[float, float, float]) -> np.ndarray:
    """The smallest rotation that takes z to a unit axis."""
    x, y, z = axis
    length = math.hypot(x, y)
    if length < 1e-12:
        return np.eye(3) if z > 0 else np.diag([1.0, -1.0, -1.0])
    return rotation_about((-y / length, x / length, 0.0), math.atan2(length, z))


def _direction(element: Element, vector: tuple[float, ...], attribute: str) -> tuple[float, float, float]:
    direction = unit(vector)
    if direction is None:
        raise DescriptionError(f"{element.label} has an axis of length zero in {attribute!r}.")
    return direction
