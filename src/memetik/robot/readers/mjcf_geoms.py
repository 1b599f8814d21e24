"""The geoms of MJCF bodies: shapes, meshes, colours, and their masses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from memetik.errors import DescriptionError, GeometryError, suggest
from memetik.files.xml_tree import Element
from memetik.geometry.inertia import Solid, ellipsoid_solid, solid_of
from memetik.geometry.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere, TriangleMesh
from memetik.geometry.tessellate import icosphere
from memetik.geometry.transforms import pose, unit
from memetik.robot.description import Geometry, Inertial
from memetik.robot.notes import Notes
from memetik.robot.readers.mesh_paths import MeshFinder
from memetik.robot.readers.mjcf_meshes import MeshAssets, fitted_sizes
from memetik.robot.readers.mjcf_settings import Settings, rotation_to
from memetik.robot.readers.mjcf_solids import inertial_of

DENSITY = 1000.0
"""MJCF's default density of geoms, kg/m^3."""

_LEFT_OUT = ("hfield", "sdf")
_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}
"""How many numbers the size of a primitive has."""
_ELLIPSOID_HALVINGS = 3


@dataclass(frozen=True, slots=True)
class Geom:
    """A geom: its element with defaults filled in, its geometry in the body's frame, what it is for, what it encloses.

    Two geoms may touch where a bit of one's `type_bits` is among the other's `affinity_bits`.
    """

    element: Element
    geometry: Geometry
    type_bits: int
    affinity_bits: int
    solid: Solid | None

    @property
    def collides(self) -> bool:
        """Whether it may touch anything."""
        return bool(self.type_bits or self.affinity_bits)

    @property
    def visible(self) -> bool:
        """Whether MuJoCo shows it unasked, or it serves no other purpose."""
        return not self.collides or self.element.number("group", 0.0) < 3.0


class GeomReader:
    """Reads the geoms of one MJCF file; `notes` collects what was left out or approximated."""

    def __init__(self, root: Element, settings: Settings, finder: MeshFinder, notes: Notes):
        self.settings, self.notes = settings, notes
        self.meshes = MeshAssets(root, settings, finder)
        assets = [asset for element in root.all("asset") for asset in element.children]
        self.materials = {asset.text("name", ""): asset for asset in assets if asset.tag == "material"}

    def read(self, element: Element, frame: np.ndarray) -> Geom | None:
        """A geom whose defaults are filled in; `frame` is where its coordinates start in the body."""
        kind = element.text("type", "mesh" if "mesh" in element.attributes else "sphere")
        if kind in _LEFT_OUT:
            consequence = "No link can be one."
            self.notes.left_out(
                f"The {kind} {element.label} is left out.", consequence, line=element.line, code="lost-shape"
            )
            return None
        try:
            shape, local, solid = self._shape(element, kind)
        except GeometryError as error:
            message = f"{element.label} is left out: {error}"
            self.notes.left_out(
                message, "Its body lacks it in collision, sight and mass.", line=element.line, code="lost-shape"
            )
            return None
        return Geom(
            element=element,
            geometry=Geometry(shape, pose_of(frame @ local), element.text("name", ""), self._color(element)),
            type_bits=int(element.number("contype", 1.0)),
            affinity_bits=int(element.number("conaffinity", 1.0)),
            solid=solid,
        )

    def _shape(self, element: Element, kind: str) -> tuple[Shape, np.ndarray, Solid | None]:
        """The shape, its pose where the geom's coordinates start, and what it encloses in the shape's coordinates."""
        if kind not in (*_SIZES, "mesh"):
            raise DescriptionError(f"{element.label} has type {kind!r}, which MJCF does not know.")
        local = self.settings.placement(element)
        shell = element.flag("shellinertia")
        if "mesh" not in element.attributes:
            if kind == "mesh":
                raise GeometryError("it names no mesh.")
            sizes, local = primitive_sizes(self.settings, element, kind)
            shape, solid = _primitive(kind, sizes)
            return shape, local, solid
        asset = self.meshes[element.text("mesh")]
        if kind == "mesh":
            self._note_missing(element, asset.shape)
            return asset.shape, local @ asset.reference, asset.solid(shell=shell)
        sizes, fitted = fitted_sizes(asset, kind, by_box=self.settings.fit_boxes, scale=element.number("fitscale", 1.0))
        shape, solid = _primitive(kind, sizes)
        return shape, local @ asset.reference @ fitted, solid

    def _note_missing(self, element: Element, shape: Mesh | TriangleMesh) -> None:
        if _is_missing(shape):
            why = self.meshes.finder.reason(shape.uri)
            message = f"The mesh {shape.uri!r:.300} of {element.label} is missing{': ' + why if why else ''}."
            consequence = "Its body lacks it in collision, sight and mass."
            self.notes.left_out(message, consequence, line=element.line, code="missing-mesh")

    def _color(self, element: Element) -> tuple[float, float, float, float] | None:
        material = self.materials.get(element.text("material", ""))
        holder = element if "rgba" in element.attributes else material
        if holder is None or "rgba" not in holder.attributes:
            return None
        r, g, b, a = holder.numbers("rgba", 4)
        return (r, g, b, a)

    def inertial(self, geom: Geom) -> Inertial | None:
        """Mass and inertia of a geom in its body's frame, from its mass or its density; None where it has no mass."""
        element, solid = geom.element, geom.solid
        low, high = self.settings.inertia_groups
        given = element.number("mass") if "mass" in element.attributes else None
        if given == 0.0 or not low <= element.number("group", 0.0) <= high:
            return None
        if solid is None:
            what = "inertia" if given is not None else "mass"
            message = f"The {what} of {element.label} is left out, for want of a mesh that encloses a volume."
            if not _is_missing(geom.geometry.shape):
                self.notes.left_out(message, "Its body is lighter than in MuJoCo.", line=element.line)
            solid = Solid(0.0, np.zeros(3), np.zeros((3, 3)))
        mass = given if given is not None else solid.volume * element.number("density", DENSITY)
        return inertial_of(solid, mass, geom.geometry.origin) if mass > 0.0 else None


def _is_missing(shape: Shape) -> TypeGuard[Mesh]:
    return isinstance(shape, Mesh) and shape.path is None


def primitive_sizes(settings: Settings, element: Element, kind: str) -> tuple[tuple[float, ...], np.ndarray]:
    """MJCF's sizes of a primitive (halves of lengths), and its pose where the element's coordinates start."""
    if kind not in _SIZES:
        raise GeometryError(f"its type {kind!r:.60} is unknown; {suggest(kind, _SIZES)}")
    sizes = list(element.numbers("size", None, ()))
    local = settings.placement(element)
    if "fromto" in element.attributes and kind != "sphere":
        ends = element.numbers("fromto", 6)
        # MuJoCo's z axis runs from the second end to the first.
        start, end = np.array(ends[:3]), np.array(ends[3:])
        along = unit(tuple(start - end))
        if along is None:
            raise GeometryError("its two ends are the same point.")
        local = pose(rotation_to(along), 0.5 * (start + end))
        half = 0.5 * float(np.linalg.norm(end - start))
        radius = sizes[0] if sizes else 0.0
        sizes = [radius, half] if kind in ("capsule", "cylinder") else [radius, radius, half]
    return tuple([*sizes, 0.0, 0.0, 0.0][: _SIZES[kind]]), local


def _primitive(kind: str, sizes: tuple[float, ...]) -> tuple[Shape, Solid]:
    """The shape of a primitive of MJCF's sizes, and what it encloses."""
    if kind == "sphere" or (kind == "capsule" and sizes[1] <= 0.0):
        shape = Sphere(sizes[0])
    elif kind == "capsule":
        shape = Capsule(sizes[0], 2.0 * sizes[1])
    elif kind == "cylinder":
        shape = Cylinder(sizes[0], 2.0 * sizes[1])
    else:
        box = Box((2.0 * sizes[0], 2.0 * sizes[1], 2.0 * sizes[2]))
        if kind == "ellipsoid":
            return ellipsoid_mesh(sizes), ellipsoid_solid(box.size)
        shape = box
    return shape, solid_of(shape)


def ellipsoid_mesh(radii: tuple[float, ...]) -> TriangleMesh:
    """A convex mesh that holds the ellipsoid and is at most 1 % larger."""
    ball = icosphere(1.0, _ELLIPSOID_HALVINGS)
    corners = ball.triangles
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    within = float(np.einsum("ij,ij->i", normals, corners[:, 0]).min())
    return TriangleMesh(ball.vertices / within * np.array(radii), ball.faces, source="ellipsoid")


def pose_of(matrix: np.ndarray) -> np.ndarray:
    """A read-only copy of a 4x4 product."""
    return pose(matrix[:3, :3], matrix[:3, 3])
