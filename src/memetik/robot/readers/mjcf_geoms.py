"""The geoms of MJCF bodies: shapes, meshes, colours, and their masses."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np

from memetik.errors import DescriptionError, GeometryError
from memetik.files.xml_tree import Element
from memetik.geometry.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from memetik.geometry.transforms import pose, rotation_from_quaternion, unit
from memetik.robot.description import Geometry, Inertial
from memetik.robot.readers.mesh_paths import MeshFinder
from memetik.robot.readers.mjcf_settings import Settings, rotation_to
from memetik.robot.readers.mjcf_solids import Solid, inertial_of, mesh_solid, primitive_solid

DENSITY = 1000.0
"""MJCF's default density of geoms, kg/m^3."""

_LEFT_OUT = ("plane", "hfield", "sdf")


@dataclass(frozen=True, slots=True)
class Geom:
    """A geom: its element with defaults filled in, its geometry in the body's frame, and what it is for."""

    element: Element
    geometry: Geometry
    collides: bool
    visible: bool


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
        collides = element.number("contype", 1.0) != 0.0 or element.number("conaffinity", 1.0) != 0.0
        return Geom(
            element=element,
            geometry=Geometry(shape, origin, element.text("name", ""), self._color(element)),
            collides=collides,
            visible=not collides or element.number("group", 0.0) < 3.0,
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

    def inertial(self, geom: Geom) -> Inertial | None:
        """Mass and inertia of a geom in its body's frame, from its mass or its density; None where it has no mass."""
        element, geometry = geom.element, geom.geometry
        low, high = self.settings.inertia_groups
        given = element.number("mass") if "mass" in element.attributes else None
        if given == 0.0 or not low <= element.number("group", 0.0) <= high:
            return None
        if isinstance(geometry.shape, Mesh):
            solid = self._mesh_solid(element, geometry.shape)
        else:
            solid = primitive_solid(element.text("type", "sphere"), geometry.shape)
            if element.flag("shellinertia"):
                self.notes.append(f"{element.label} is taken as solid, not as a shell")
        if solid is None:
            what = "inertia" if given is not None else "mass"
            self.notes.append(f"the {what} of {element.label} is left out, for want of a mesh that encloses a volume")
            solid = Solid(0.0, np.zeros(3), np.zeros((3, 3)))
        mass = given if given is not None else solid.volume * element.number("density", DENSITY)
        return inertial_of(solid, mass, geometry.origin) if mass > 0.0 else None

    def _mesh_solid(self, element: Element, mesh: Mesh) -> Solid | None:
        if mesh.path is None:
            return None
        mode = (
            "shell"
            if element.flag("shellinertia")
            else self.mesh_assets[element.text("mesh")].text("inertia", "legacy")
        )
        return mesh_solid(mesh.path, mesh.scale, mode, os.path.getmtime(mesh.path))


def pose_of(matrix: np.ndarray) -> np.ndarray:
    """A read-only copy of a 4x4 product."""
    return pose(matrix[:3, :3], matrix[:3, 3])


def _mesh_name(asset: Element) -> str:
    file = asset.text("file", "").replace("\\", "/")
    return asset.text("name", os.path.splitext(os.path.basename(file))[0])
