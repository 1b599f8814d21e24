"""The geoms of MJCF bodies: shapes, meshes, colours, and the mass and inertia that follow from them."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np

from memetik.errors import DescriptionError, GeometryError
from memetik.robot.description import Geometry, Inertial
from memetik.robot.meshes import MeshFinder
from memetik.robot.mjcf_settings import Settings, rotation_to
from memetik.robot.rotations import pose, rotation_from_quaternion, unit
from memetik.robot.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from memetik.robot.xmltree import Element

DENSITY = 1000.0
"""MJCF's default density of geoms, kg/m^3."""

_LEFT_OUT = ("plane", "hfield", "sdf")


@dataclass(frozen=True, slots=True)
class Geom:
    """A geom as it is needed here: geometry, what it is for, and its share of the body's inertia."""

    geometry: Geometry
    collides: bool
    visible: bool
    inertial: Inertial | None


class GeomReader:
    """Reads geoms; `notes` collects what was left out or approximated."""

    def __init__(self, root: Element, settings: Settings, meshes: MeshFinder, notes: list[str]):
        self.settings, self.meshes, self.notes = settings, meshes, notes
        assets = [asset for element in root.all("asset") for asset in element.children]
        self.materials = {asset.text("name", ""): asset for asset in assets if asset.tag == "material"}
        self.mesh_assets: dict[str, Element] = {}
        for asset in assets:
            if asset.tag == "mesh":
                completed = settings.complete(asset, "main")
                self.mesh_assets[_mesh_name(completed)] = completed

    def read(self, element: Element, frame: np.ndarray) -> Geom | None:
        """A geom whose defaults are filled in; `frame` is where its coordinates start in the body."""
        kind = element.text("type", "mesh" if "mesh" in element.attributes else "sphere")
        if kind in _LEFT_OUT:
            self.notes.append(f"the {kind} {element.label} is left out")
            return None
        if "fitscale" in element.attributes or ("mesh" in element.attributes and kind != "mesh"):
            self.notes.append(f"{element.label}, a {kind} to be fitted to a mesh, is left out")
            return None
        try:
            shape, local = self._shape(element, kind)
        except GeometryError as error:
            self.notes.append(f"{element.label} is left out: {error}")
            return None
        origin = pose_of(frame @ local)
        group = element.number("group", 0.0)
        collides = element.number("contype", 1.0) != 0.0 or element.number("conaffinity", 1.0) != 0.0
        low, high = self.settings.inertia_groups
        return Geom(
            geometry=Geometry(shape, origin, element.text("name", ""), self._color(element)),
            collides=collides,
            visible=not collides or group < 3.0,
            inertial=self._inertial(element, kind, shape, origin) if low <= group <= high else None,
        )

    def _shape(self, element: Element, kind: str) -> tuple[Shape, np.ndarray]:
        if kind == "mesh":
            return self._mesh(element)
        local = self.settings.placement(element)
        size = list(element.numbers("size", None, ()))
        if "fromto" in element.attributes:
            ends = element.numbers("fromto", 6)
            start, end = np.array(ends[:3]), np.array(ends[3:])
            along = unit(tuple(end - start))
            if along is None:
                raise GeometryError("its two ends are the same point.")
            local = pose(rotation_to(along), 0.5 * (start + end))
            half = 0.5 * float(np.linalg.norm(end - start))
            radius = size[0] if size else 0.0
            size = (
                [radius, half]
                if kind in ("capsule", "cylinder")
                else [radius, size[1] if len(size) > 1 else radius, half]
            )
        size = [*size, 0.0, 0.0, 0.0][:3]
        if kind == "sphere":
            return Sphere(size[0]), local
        if kind == "capsule":
            return Capsule(size[0], 2.0 * size[1]), local
        if kind == "cylinder":
            return Cylinder(size[0], 2.0 * size[1]), local
        if kind not in ("box", "ellipsoid"):
            raise DescriptionError(f"{element.label} has type {kind!r}, which MJCF does not know.")
        if kind == "ellipsoid":
            self.notes.append(f"the ellipsoid {element.label} is replaced by the box around it")
        return Box((2.0 * size[0], 2.0 * size[1], 2.0 * size[2])), local

    def _mesh(self, element: Element) -> tuple[Mesh, np.ndarray]:
        name = element.text("mesh")
        asset = self.mesh_assets.get(name)
        if asset is None:
            raise GeometryError(f"mesh {name!r} is not among the assets.")
        if "file" not in asset.attributes:
            raise GeometryError(f"mesh {name!r} is not in a file.")
        file = asset.text("file").replace("\\", "/")
        uri = file if os.path.isabs(file) or not self.settings.mesh_folder else f"{self.settings.mesh_folder}/{file}"
        scale = asset.numbers("scale", 3, (1.0, 1.0, 1.0))
        local = self.settings.placement(element) @ self._mesh_reference(asset, scale)
        return Mesh(uri, self.meshes.find(uri), scale), local  # type: ignore[arg-type]

    def _mesh_reference(self, asset: Element, scale: tuple[float, ...]) -> np.ndarray:
        """The pose P with P S v = S R^T (v - p): MJCF moves the points by refpos p and refquat R, then scales by S."""
        w, x, y, z = asset.numbers("refquat", 4, (1.0, 0.0, 0.0, 0.0))
        length = math.sqrt(w * w + x * x + y * y + z * z)
        if length < 1e-9:
            raise DescriptionError(f"{asset.label} has a quaternion of length zero.")
        back = rotation_from_quaternion(w / length, x / length, y / length, z / length).T
        if len(set(scale)) > 1 and not np.allclose(back, np.eye(3)):
            self.notes.append(f"{asset.label} is turned and scaled unevenly, which is approximated")
        position = -np.diag(scale) @ back @ np.array(asset.numbers("refpos", 3, (0.0, 0.0, 0.0)))
        return pose(back, position)

    def _color(self, element: Element) -> tuple[float, float, float, float] | None:
        material = self.materials.get(element.text("material", ""))
        holder = element if "rgba" in element.attributes else material
        if holder is None or "rgba" not in holder.attributes:
            return None
        r, g, b, a = holder.numbers("rgba", 4)
        return (r, g, b, a)

    def _inertial(self, element: Element, kind: str, shape: Shape, origin: np.ndarray) -> Inertial | None:
        """Mass and inertia of the solid shape, from its mass or its density; in the body's frame."""
        if self.settings.inertia_from_geoms == "false":
            return None
        if kind == "mesh":
            solid = self._mesh_solid(element, shape)
            if solid is None:
                return None
            volume, centre, unit_inertia = solid
        else:
            volume, unit_inertia = _solid(kind, shape)
            centre = np.zeros(3)
        mass = element.number("mass") if "mass" in element.attributes else volume * element.number("density", DENSITY)
        if mass <= 0.0:
            return None
        rotation = origin[:3, :3]
        x, y, z = (float(v) for v in rotation @ centre + origin[:3, 3])
        return Inertial(mass, (x, y, z), mass * rotation @ unit_inertia @ rotation.T)

    def _mesh_solid(self, element: Element, shape: Shape) -> tuple[float, np.ndarray, np.ndarray] | None:
        """Volume, centroid and inertia per mass of a mesh, None where the file is missing or cannot be read."""
        if element.attributes.get("mass", "").strip() in ("0", "0.0") or not isinstance(shape, Mesh):
            return None
        solid = mesh_solid(shape)
        if solid is None:
            self.notes.append(f"the mass of {element.label} is left out, for want of its mesh")
        return solid


def combined(inertials: list[Inertial]) -> Inertial | None:
    """The inertial of several bodies joined rigidly."""
    mass = sum(inertial.mass for inertial in inertials)
    if mass <= 0.0:
        return None
    centre = sum((inertial.mass * np.array(inertial.com) for inertial in inertials), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for inertial in inertials:
        offset = np.array(inertial.com) - centre
        inertia += inertial.inertia + inertial.mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))
    inertia.setflags(write=False)
    x, y, z = (float(v) for v in centre)
    return Inertial(mass, (x, y, z), inertia)


def mesh_solid(mesh: Mesh) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Volume, centroid and inertia per mass about it, of the solid that a mesh file encloses."""
    if mesh.path is None:
        return None
    import trimesh

    try:
        loaded = trimesh.load_mesh(mesh.path, process=False)
        triangles = np.asarray(loaded.vertices, dtype=float)[np.asarray(loaded.faces)] * np.array(mesh.scale)
    except Exception:  # mesh readers raise whatever a broken file makes them
        return None
    if not len(triangles) or not np.isfinite(triangles).all():
        return None
    # Signed tetrahedra from a point inside: volumes and second moments add up over the faces.
    centre = triangles.mean(axis=(0, 1))
    a, b, c = (triangles[:, k] - centre for k in range(3))
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    volume = float(volumes.sum())
    if abs(volume) < 1e-15:
        return None
    total = a + b + c
    centroid = (volumes[:, None] * total).sum(axis=0) / (4.0 * volume)
    outer = sum(np.einsum("i,ij,ik->jk", volumes, v, v) for v in (a, b, c, total)) / 20.0
    second = outer / volume - np.outer(centroid, centroid)
    inertia = np.trace(second) * np.eye(3) - second
    return abs(volume), centroid + centre, inertia


def pose_of(matrix: np.ndarray) -> np.ndarray:
    """A read-only copy of a 4x4 product."""
    return pose(matrix[:3, :3], matrix[:3, 3])


def _solid(kind: str, shape: Shape) -> tuple[float, np.ndarray]:
    """Volume and inertia per mass about the centre, in the shape's axes."""
    match shape:
        case Sphere(r):
            return 4.0 / 3.0 * math.pi * r**3, np.eye(3) * 0.4 * r * r
        case Box((x, y, z)) if kind == "ellipsoid":
            a, b, c = 0.25 * x * x, 0.25 * y * y, 0.25 * z * z
            return math.pi / 6.0 * x * y * z, np.diag([b + c, a + c, a + b]) / 5.0
        case Box((x, y, z)):
            return x * y * z, np.diag([y * y + z * z, x * x + z * z, x * x + y * y]) / 12.0
        case Cylinder(r, h):
            across = (3.0 * r * r + h * h) / 12.0
            return math.pi * r * r * h, np.diag([across, across, 0.5 * r * r])
        case Capsule(r, h):
            tube, ball = math.pi * r * r * h, 4.0 / 3.0 * math.pi * r**3
            # A half ball's centroid lies 3r/8 from its flat side.
            across = tube * (3.0 * r * r + h * h) / 12.0 + ball * (0.4 * r * r + 0.25 * h * h + 0.375 * r * h)
            along = tube * 0.5 * r * r + ball * 0.4 * r * r
            return tube + ball, np.diag([across, across, along]) / (tube + ball)
    raise DescriptionError(f"a {kind} has no known volume.")


def _mesh_name(asset: Element) -> str:
    file = asset.text("file", "").replace("\\", "/")
    return asset.text("name", os.path.splitext(os.path.basename(file))[0])
