"""The mesh assets of an MJCF file: their shapes, what they enclose, and primitives fitted to them as MuJoCo does."""

from __future__ import annotations

import functools
import math
import os
from dataclasses import dataclass

import numpy as np

from memetik.errors import DescriptionError, GeometryError
from memetik.files.xml_tree import Element
from memetik.geometry import inertia
from memetik.geometry.hulls import convex_hull
from memetik.geometry.inertia import Solid
from memetik.geometry.mesh_files import load_first_object, load_mesh
from memetik.geometry.shapes import Mesh, TriangleMesh
from memetik.geometry.transforms import pose, rotation_from_quaternion
from memetik.robot.readers.mesh_paths import MeshFinder
from memetik.robot.readers.mjcf_files import BESIDE
from memetik.robot.readers.mjcf_settings import Settings


@dataclass(frozen=True, slots=True)
class MeshAsset:
    """A mesh as geoms use it: a shape, at a pose in the coordinates that geoms give."""

    shape: Mesh | TriangleMesh
    reference: np.ndarray
    rule: inertia.MeshRule

    def triangles(self) -> TriangleMesh:
        """The triangles, in the shape's own coordinates; a GeometryError where the file is missing or broken."""
        return self.shape if isinstance(self.shape, TriangleMesh) else load_mesh(self.shape)

    def solid(self, *, shell: bool = False) -> Solid | None:
        """What the mesh encloses, in the coordinates of `reference`; None where it cannot be read or encloses none."""
        rule: inertia.MeshRule = "shell" if shell else self.rule
        try:
            if isinstance(self.shape, TriangleMesh):
                return inertia.mesh_solid(self.shape, rule)
            if self.shape.path is None:
                return None
            return _solid_of_file(self.shape.path, self.shape.scale, rule, os.path.getmtime(self.shape.path))
        except GeometryError:
            return None


class MeshAssets:
    """The meshes of one MJCF file by name."""

    def __init__(self, root: Element, settings: Settings, finder: MeshFinder):
        self.settings, self.finder = settings, finder
        self.elements: dict[str, Element] = {}
        self._made: dict[str, MeshAsset] = {}
        for holder in root.all("asset"):
            for element in holder.all("mesh"):
                completed = settings.complete(element, "main")
                self.elements[_name(completed)] = completed

    def __getitem__(self, name: str) -> MeshAsset:
        """The mesh of that name; a GeometryError where there is none."""
        if name not in self._made:
            element = self.elements.get(name)
            if element is None:
                raise GeometryError(f"mesh {name!r} is not among the assets.")
            self._made[name] = self._read(element)
        return self._made[name]

    def _read(self, element: Element) -> MeshAsset:
        """MJCF moves the points v by refpos p and refquat R, then scales them by S: the result is S R^T (v - p)."""
        scale = element.numbers("scale", 3, (1.0, 1.0, 1.0))
        position = np.array(element.numbers("refpos", 3, (0.0, 0.0, 0.0)))
        back = _quaternion_rotation(element, "refquat").T
        rule = element.text("inertia", "exact" if self.settings.exact_mesh_inertia else "legacy")
        if rule not in ("legacy", "exact", "convex", "shell"):
            raise element.error(f"{element.label} has inertia={rule!r}; legacy, exact, convex or shell is needed.")
        if "file" in element.attributes:
            uri = self._place(element)
            shape = Mesh(uri, self.finder.find(uri), (scale[0], scale[1], scale[2]))
            if len(set(scale)) == 1 or np.allclose(back, np.eye(3)):
                # R^T S = S R^T, so that the result is R^T (S v - S p): a pose of the scaled mesh.
                return MeshAsset(shape, pose(back, -back @ (np.array(scale) * position)), rule)
            plain = load_mesh(shape, scale=1.0)
        else:
            plain = _inline_mesh(element)
        points = (plain.vertices - position) @ back.T * scale
        faces = plain.faces if math.prod(scale) > 0.0 else plain.faces[:, ::-1]
        return MeshAsset(TriangleMesh(points, faces, source=plain.source), np.eye(4), rule)

    def _place(self, element: Element) -> str:
        uri, beside = self.settings.mesh_uri(element.text("file")), element.attributes.get(BESIDE)
        usual = os.path.join(self.finder.packages.folder or "", uri)
        return beside if beside is not None and "\0" not in uri and not os.path.isfile(usual) else uri


def _inline_mesh(element: Element) -> TriangleMesh:
    """A mesh whose vertices, and faces if it has any, stand in the file; without faces it is their convex hull."""
    if "vertex" not in element.attributes:
        raise GeometryError(f"{element.label} has neither a file nor vertices.")
    numbers = np.array(element.numbers("vertex", None))
    if len(numbers) % 3:
        raise GeometryError(f"{element.label} has {len(numbers)} numbers in 'vertex', not three a vertex.")
    points = numbers.reshape(-1, 3)
    if "face" in element.attributes:
        corners = np.array(element.numbers("face", None))
        if len(corners) % 3:
            raise GeometryError(f"{element.label} has {len(corners)} numbers in 'face', not three a face.")
        return TriangleMesh(points, corners.astype(np.int32).reshape(-1, 3), source=element.label)
    hull = convex_hull(points)
    if hull is None:
        raise GeometryError(f"the vertices of {element.label} enclose no volume.")
    return TriangleMesh(points, np.asarray(hull.faces), source=element.label)


def fitted_sizes(asset: MeshAsset, kind: str, *, by_box: bool, scale: float) -> tuple[tuple[float, ...], np.ndarray]:
    """MuJoCo's sizes of a primitive fitted to a mesh (halves of lengths), and the primitive's pose in `reference`.

    The mesh's principal frame has its axes by decreasing moment of inertia. By default the sizes are those of the box
    of equal inertia; with `by_box` (the compiler's fitaabb) they come from the box around the mesh in that frame.
    """
    solid = asset.solid()
    if solid is None:
        raise GeometryError("its mesh encloses no volume that a primitive could be fitted to.")
    moments, axes = np.linalg.eigh(solid.inertia)
    axes = axes[:, ::-1]
    if np.linalg.det(axes) < 0.0:
        axes = axes * np.array([1.0, 1.0, -1.0])
    placed = np.array(pose(axes, solid.centroid))
    a, b, c = moments[::-1]
    if not by_box:
        box = np.sqrt(np.maximum(6.0 * np.array([b + c - a, a + c - b, a + b - c]), 0.0)) / 2.0
        sizes = _sizes_of_inertia(kind, box)
    else:
        points = (asset.triangles().vertices - solid.centroid) @ axes
        low, high = points.min(axis=0), points.max(axis=0)
        middle = 0.5 * (low + high)
        placed[:3, 3] += axes @ middle
        sizes = _sizes_around(kind, high - middle)
    return tuple(scale * float(size) for size in sizes), placed


def _sizes_of_inertia(kind: str, box: np.ndarray) -> tuple[float, ...]:
    across = 0.5 * (box[0] + box[1])
    match kind:
        case "sphere":
            return (box.mean(),)
        case "capsule":
            return (across, max(0.0, box[2] - 0.5 * across))
        case "cylinder":
            return (across, box[2])
        case _:
            return tuple(box)


def _sizes_around(kind: str, half: np.ndarray) -> tuple[float, ...]:
    across = max(half[0], half[1])
    match kind:
        case "sphere":
            return (half.max(),)
        case "capsule":
            return (across, max(0.0, half[2] - across))
        case "cylinder":
            return (across, half[2])
        case _:
            return tuple(half)


@functools.lru_cache(maxsize=256)
def _solid_of_file(
    path: str, scale: tuple[float, float, float], rule: inertia.MeshRule, _changed: float
) -> Solid | None:
    """Kept by file. `_changed`, the file's time of change, keeps remembered results from outliving the file.

    MuJoCo weighs the first object of an OBJ file, but collides with, and takes the convex hull of, all of them.
    """
    mesh = load_mesh(path, scale=scale) if rule == "convex" else load_first_object(path, scale)
    return inertia.mesh_solid(mesh, rule)


def _quaternion_rotation(element: Element, attribute: str) -> np.ndarray:
    w, x, y, z = element.numbers(attribute, 4, (1.0, 0.0, 0.0, 0.0))
    length = math.sqrt(w * w + x * x + y * y + z * z)
    if length < 1e-9:
        raise DescriptionError(f"{element.label} has a quaternion of length zero.")
    return rotation_from_quaternion(w / length, x / length, y / length, z / length)


def _name(element: Element) -> str:
    file = element.text("file", "").replace("\\", "/")
    return element.text("name", os.path.splitext(os.path.basename(file))[0])
