"""MoveIt's text format of scenes (.scene), old and new.

    name of the scene
    * name of an object
    x y z                     only in the newer format: the object's pose,
    qx qy qz qw               which its shapes' poses are relative to
    number of shapes
    box                       or sphere, cylinder, cone, plane, mesh
    sx sy sz                  its dimensions (radius; radius length; a b c d; counts, vertices and triangles)
    x y z                     its pose
    qx qy qz qw
    r g b a                   its colour, all zero for none
    0                         only in the newer format: number of named frames, each a name and a pose
    .

An object of several shapes becomes several objects, "name/1", "name/2", ... A plane a x + b y + c z + d = 0 becomes
the half-space behind it, a x + b y + c z + d <= 0.
"""

from __future__ import annotations

import os
import re

import numpy as np

from memetik.errors import GeometryError, InvalidInputError
from memetik.files.schema import read_bytes
from memetik.geometry.formats.raw import MAX_TEXT_BYTES, RawMesh, check_indices, numbers
from memetik.geometry.mesh_files import clean_mesh
from memetik.geometry.shapes import Box, Cone, Cylinder, Plane, SceneShape, Sphere
from memetik.geometry.transforms import transform
from memetik.scene.scene import Scene
from memetik.scene.scene_object import plane_pose

_WORD = re.compile(r"\S+")
_DIMENSIONS = {"box": 3, "sphere": 1, "cylinder": 2, "cone": 2, "plane": 4, "mesh": 2}


def load_moveit_scene(path: str | os.PathLike[str]) -> Scene:
    """Read a scene that MoveIt wrote."""
    what = f"the scene file {os.path.basename(os.fspath(path))!r}"
    try:
        return parse_moveit_scene(read_bytes(path, what, MAX_TEXT_BYTES, GeometryError).decode("utf-8"), what)
    except UnicodeDecodeError:
        raise GeometryError(f"{what} is no text.") from None


def parse_moveit_scene(text: str, what: str = "the scene") -> Scene:
    """A scene from the text of such a file."""
    words = _Words(text, what)
    words.line()  # the scene's name
    newer = _is_newer(text)
    scene = Scene()
    while True:
        marker = words.word()
        if marker == ".":
            return scene
        if marker != "*":
            raise GeometryError(f"{what} has {marker[:40]!r} where '*' (an object) or '.' (the end) should be.")
        name = words.line().strip()
        pose = words.pose() if newer else np.eye(4)
        shapes = words.count("shapes")
        for index in range(shapes):
            shape, own_pose, color = _shape(words)
            try:
                scene.add(name if shapes == 1 else f"{name}/{index + 1}", shape, pose @ own_pose, color=color)
            except InvalidInputError as error:
                raise GeometryError(f"{what}: {error}") from None
        if newer:
            for _ in range(words.count("frames")):
                words.word()
                words.pose()


def _is_newer(text: str) -> bool:
    """In the newer format the line after an object's name has three numbers, in the older one."""
    lines = iter(text.splitlines()[1:])
    for line in lines:
        if line.startswith("*"):
            return len(next(lines, "").split()) > 1
    return False


def _shape(words: _Words) -> tuple[SceneShape, np.ndarray, tuple[float, ...] | None]:
    kind = words.word()
    if kind not in _DIMENSIONS:
        raise GeometryError(f"{words.what} has a shape {kind[:40]!r}; {', '.join(_DIMENSIONS)} are read.")
    shape: SceneShape
    own = np.eye(4)
    if kind == "mesh":
        vertex_count, triangle_count = words.count("vertices"), words.count("triangles")
        vertices = words.numbers(3 * vertex_count).reshape(-1, 3)
        triangles = words.numbers(3 * triangle_count)
        faces = np.clip(triangles, -1.0, 2.0**31).astype(np.int64).reshape(-1, 3)
        if (faces.ravel() != triangles).any():
            raise GeometryError(f"{words.what} has a triangle whose vertices are no whole numbers from zero on.")
        check_indices(words.what, faces, vertex_count)
        shape = clean_mesh(RawMesh(vertices, [faces]), words.what)[0]
    else:
        values = words.numbers(_DIMENSIONS[kind]).tolist()
        if kind == "plane":
            shape, own = Plane(), plane_pose(values[:3], -values[3])
        else:
            make = {"sphere": Sphere, "cylinder": Cylinder, "cone": Cone}.get(kind)
            shape = Box(tuple(values)) if make is None else make(*values)
    pose = words.pose() @ own
    color = tuple(np.clip(words.numbers(4), 0.0, 1.0).tolist())
    return shape, pose, color if any(color) else None


class _Words:
    """A text read word by word, or line by line where names may have blanks."""

    def __init__(self, text: str, what: str):
        self.what, self._text, self._at = what, text, 0

    def line(self) -> str:
        """The rest of the line."""
        if self._at >= len(self._text):
            raise self._short()
        end = self._text.find("\n", self._at)
        end = len(self._text) if end < 0 else end
        line, self._at = self._text[self._at : end], end + 1
        return line

    def word(self) -> str:
        """The next word."""
        found = _WORD.search(self._text, self._at)
        if found is None:
            raise self._short()
        self._at = found.end()
        return found[0]

    def numbers(self, count: int) -> np.ndarray:
        """The next finite numbers."""
        # A number takes two characters at least: what cannot be there is not waited for.
        if 2 * count > len(self._text) - self._at + 2:
            raise self._short()
        values = numbers(self.what, [self.word() for _ in range(count)])
        if not np.isfinite(values).all():
            raise GeometryError(f"{self.what} has a number that is not finite.")
        return values

    def count(self, kind: str) -> int:
        """The next word as a number of things."""
        word = self.word()
        if not word.isdecimal() or not word.isascii() or len(word) > 9:
            raise GeometryError(f"{self.what} has {word[:40]!r} where a number of {kind} should be.")
        return int(word)

    def pose(self) -> np.ndarray:
        """The next seven numbers, a place and a quaternion (x, y, z, w)."""
        values = self.numbers(7)
        if not np.linalg.norm(values[3:]) > 1e-9:
            raise GeometryError(f"{self.what} has a pose whose quaternion is zero.")
        return transform(values[:3], quat_xyzw=values[3:])

    def _short(self) -> GeometryError:
        return GeometryError(f"{self.what} is cut short: it ends before the line '.' that closes a scene.")
