"""The scene of a session in the browser: objects, what touches, near-misses, a slice of the distance field."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from memetik.collision.fast import field_of
from memetik.errors import MemetikError
from memetik.geometry.primitives import PRIMITIVES, signed_distance
from memetik.geometry.shapes import Plane
from memetik.robot.robot import Robot
from memetik.scene.scene import SceneSnapshot
from memetik.scene.scene_object import SceneObject
from memetik.studio.session.solving import ClearanceReport
from memetik.studio.views.drawing import fresh, surface_of
from memetik.studio.views.robot_view import TOUCHING, rgb, wxyz_of

if TYPE_CHECKING:
    from viser import ImageHandle, MeshHandle, SceneApi, ViserServer

    from memetik.studio.views.robot_view import OnClick

OBJECT_COLOR = (180, 160, 130)

FAR = 0.3
"""Metres: pairs that are farther apart are not worth a line."""

_SLICE = 160  # samples along each side of a slice


class SceneView:
    """Objects of a scene, each a node; only what changes is sent."""

    def __init__(self, server: ViserServer, robot: Robot, on_click: OnClick | None = None):
        self.problems: list[str] = []
        self._server, self._robot, self._on_click = server, robot, on_click
        self._nodes: dict[str, tuple[SceneObject, MeshHandle]] = {}
        self._touching: frozenset[str] = frozenset()
        self._marks: _Marks | None = None
        self._slice: ImageHandle | None = None
        self._opacity: float | None = None
        self._covered = ""

    def show(self, content: SceneSnapshot, q: np.ndarray) -> None:
        """Brings the nodes to this content, objects on links to where a configuration puts them."""
        self.problems = []
        with self._server.atomic():
            for name in [name for name in self._nodes if name not in content.objects]:
                self._nodes.pop(name)[1].remove()
            for name, item in content.objects.items():
                shown, node = self._nodes.pop(name, (None, None))
                if shown is None or shown.shape is not item.shape or shown.color != item.color:
                    if node is not None:
                        node.remove()
                    shown, node = None, self._draw(item)
                if node is None:
                    continue
                if item.link is not None or shown is not item:
                    pose = item.pose if item.link is None else self._robot.pose(item.link, q) @ item.pose
                    node.position, node.wxyz = pose[:3, 3], wxyz_of(pose)
                self._nodes[name] = (item, node)

    def set_opacity(self, opacity: float | None) -> None:
        """How opaque all objects are; None: each as it says itself."""
        self._opacity = opacity
        for item, node in self._nodes.values():
            node.opacity = self._opacity_of(item)

    def cover(self, name: str) -> None:
        """Leaves out an object in whose place something else is drawn; "" leaves out none."""
        self._covered = name
        for item, node in self._nodes.values():
            node.visible = item.name != name

    def mark(self, clearances: ClearanceReport) -> None:
        """Contact points with their normals in red, the closest pair as a line with its clearance."""
        contacts = clearances.contacts
        near = not contacts and clearances.points is not None and clearances.clearance < FAR
        with self._server.atomic():
            if self._marks is None:
                self._marks = _Marks(self._server.scene)
            marks = self._marks
            if contacts:
                points = np.array([contact.points.mean(axis=0) for contact in contacts])
                normals = 0.05 * np.array([contact.normal for contact in contacts])
                marks.contacts.points = points.astype(np.float32)
                marks.normals.points = np.stack([points - normals, points + normals], axis=1).astype(np.float32)
            if near and clearances.points is not None:
                marks.closest.points = clearances.points[None].astype(np.float32)
                marks.label.text = f"{1e3 * clearances.clearance:.0f} mm"
                marks.label.position = clearances.points.mean(axis=0)
            marks.contacts.visible = marks.normals.visible = bool(contacts)
            marks.closest.visible = marks.label.visible = near
            self._paint(clearances.touching)

    def show_slice(self, content: SceneSnapshot, axis: int, height: float, centre: np.ndarray, extent: float) -> None:
        """Signed distances to the world's objects in a plane: red inside, then from light to blue."""
        self.hide_slice()
        items = [item for item in content.objects.values() if item.link is None]
        if not items:
            raise MemetikError("the scene is empty: there is no distance to show.")
        u, v = [k for k in range(3) if k != axis]
        grid = np.linspace(-extent, extent, _SLICE)
        points = np.zeros((_SLICE, _SLICE, 3))
        points[..., u] = centre[u] + grid[None, :]
        points[..., v] = centre[v] + grid[:, None]
        points[..., axis] = height
        distances = scene_distance(items, points.reshape(-1, 3)).reshape(_SLICE, _SLICE)
        # An image's first row is at its top, its own axes x to the right and y down.
        rotation = np.zeros((3, 3))
        rotation[u, 0], rotation[v, 1] = 1.0, 1.0
        rotation[:, 2] = np.cross(rotation[:, 0], rotation[:, 1])
        position = np.array(centre, dtype=float)
        position[axis] = height
        self._slice = self._server.scene.add_image(
            fresh("/slice"),
            _distance_colors(distances),
            2 * extent,
            2 * extent,
            format="png",
            cast_shadow=False,
            position=position,
            wxyz=wxyz_of(rotation),
        )

    def hide_slice(self) -> None:
        if self._slice is not None:
            self._slice.remove()
            self._slice = None

    def remove(self) -> None:
        for _, node in self._nodes.values():
            node.remove()
        if self._marks is not None:
            self._marks.root.remove()
        self.hide_slice()

    def _draw(self, item: SceneObject) -> MeshHandle | None:
        try:
            vertices, faces = surface_of(item.shape)
        except (MemetikError, OSError) as error:
            self.problems.append(f"Object {item.name!r} is not drawn: {error}")
            return None
        node = self._server.scene.add_mesh_simple(
            fresh(f"/scene/{_node_name(item.name)}"),
            vertices,
            faces,
            color=rgb(item.color) or OBJECT_COLOR,
            opacity=self._opacity_of(item),
            side="double",
            visible=item.name != self._covered,
        )

        if self._on_click is not None:
            node.on_click(partial(self._on_click, item.name))
        return node

    def _opacity_of(self, item: SceneObject) -> float | None:
        if self._opacity is not None:
            return self._opacity
        if isinstance(item.shape, Plane):
            return 0.35
        return item.color[3] if item.color is not None and item.color[3] < 1.0 else None

    def _paint(self, touching: frozenset[str]) -> None:
        for name, (item, node) in self._nodes.items():
            if (name in touching) != (name in self._touching):
                node.color = TOUCHING if name in touching else rgb(item.color) or OBJECT_COLOR
        self._touching = touching


class _Marks:
    """The nodes of contacts and near-misses: made once and changed, as they change ten times a second."""

    def __init__(self, scene: SceneApi):
        self.root = scene.add_frame(fresh("/marks"), show_axes=False)
        below = self.root.name
        point, line = np.zeros((1, 3), dtype=np.float32), np.zeros((1, 2, 3), dtype=np.float32)
        lines = {"points": line, "thickness_units": "screen", "visible": False}
        self.contacts = scene.add_point_cloud(
            f"{below}/contacts", point, TOUCHING, point_size=0.02, point_shape="circle", visible=False
        )
        self.normals = scene.add_line_segments(f"{below}/normals", colors=TOUCHING, thickness=3.0, **lines)
        self.closest = scene.add_line_segments(f"{below}/closest", colors=(217, 119, 6), thickness=4.0, **lines)
        self.label = scene.add_label(f"{below}/clearance", "", visible=False)


def scene_distance(items: list[SceneObject], points: np.ndarray) -> np.ndarray:
    """Signed distance (N,) of points (N, 3) to the nearest of some objects, metres; negative inside."""
    nearest = np.full(len(points), np.inf)
    for item in items:
        local = (points - item.pose[:3, 3]) @ item.pose[:3, :3]
        if isinstance(item.shape, PRIMITIVES):
            distance = signed_distance(item.shape, local)
        elif isinstance(item.shape, Plane):
            distance = local[:, 2]
        else:
            distance = field_of(item, 0.01).value(np.ascontiguousarray(local))
        nearest = np.minimum(nearest, distance - item.padding)
    return nearest


def _distance_colors(distances: np.ndarray) -> np.ndarray:
    """Red inside; outside from sand to blue over half a metre, with a line at every 5 cm."""
    share = np.clip(distances / 0.5, 0.0, 1.0)[..., None]
    outside = (1.0 - share) * np.array([254.0, 243.0, 199.0]) + share * np.array([59.0, 130.0, 246.0])
    colors = np.where(distances[..., None] <= 0.0, np.array(TOUCHING, dtype=float), outside)
    lines = np.abs(np.mod(distances / 0.05 + 0.5, 1.0) - 0.5) < 0.06
    colors[lines & (distances > 0.0)] *= 0.75
    return colors.astype(np.uint8)


def _node_name(name: str) -> str:
    """A name without the slashes that mean something in the scene's tree."""
    return "".join(letter if letter.isalnum() or letter in "-_." else f"_{ord(letter):x}_" for letter in name)
