"""The shapes, colours and rotations of URDF."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from memetik.errors import GeometryError, suggest
from memetik.files.xml_tree import Element
from memetik.geometry.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from memetik.geometry.transforms import rotation_from_quaternion
from memetik.robot.readers.mesh_paths import MeshFinder

Color = tuple[float, float, float, float]


def read_shape(element: Element, meshes: MeshFinder) -> Shape:
    """The shape of an element inside <geometry>."""
    if element.tag not in SHAPES:
        raise GeometryError(f"shape <{element.tag}> in line {element.line} is unknown; {suggest(element.tag, SHAPES)}")
    return SHAPES[element.tag](element, meshes)


def _box(element: Element, _: MeshFinder) -> Shape:
    x, y, z = element.numbers("size", 3)
    return Box((x, y, z))


def _mesh(element: Element, meshes: MeshFinder) -> Shape:
    uri, scale = element.text("filename"), element.numbers("scale", None, (1.0, 1.0, 1.0))
    if len(scale) not in (1, 3):
        message = f"{element.label} has {len(scale)} numbers in 'scale'; one or three are needed."
        raise element.error(message, "not-a-number")
    x, y, z = scale * 3 if len(scale) == 1 else scale
    return Mesh(uri, meshes.find(uri), (x, y, z))


SHAPES: dict[str, Callable[[Element, MeshFinder], Shape]] = {
    "box": _box,
    "sphere": lambda element, _: Sphere(element.number("radius")),
    "cylinder": lambda element, _: Cylinder(element.number("radius"), element.number("length")),
    "capsule": lambda element, _: Capsule(element.number("radius"), element.number("length")),
    "mesh": _mesh,
}


def read_color(element: Element) -> Color:
    """Red, green, blue and opacity."""
    values = element.numbers("rgba", None)
    if len(values) not in (3, 4):
        raise element.error(f"{element.label} has {len(values)} numbers in 'rgba'; four are needed.", "not-a-number")
    r, g, b, a = (*values, 1.0)[:4]
    return (r, g, b, a)


def read_quaternion(origin: Element, element: Element) -> np.ndarray:
    """The rotation that an <origin> gives as a quaternion."""
    x, y, z, w = origin.numbers("quat_xyzw", 4)
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if length < 1e-6:
        raise origin.error(f"{origin.label} of {element.label} has a quaternion of length zero.", "bad-pose")
    return rotation_from_quaternion(w / length, x / length, y / length, z / length)
