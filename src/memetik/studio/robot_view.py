"""A robot in the browser: a node for each link, moved by one posture; skeleton, joint axes, limits, spheres, ghosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from memetik.errors import MemetikError
from memetik.robot.robot import Robot
from memetik.robot.transforms import quaternion_from_matrix
from memetik.studio.drawing import arc_points, ball, fresh, joined, surface_of

LIGHT, DARK = (226, 230, 236), (138, 150, 166)
CHOSEN, TOUCHING, NEAR = (96, 165, 250), (239, 68, 68), (251, 191, 36)

_UNMOVED = 1e-7


class RobotView:
    """The robot of a set-up under the node `root`."""

    def __init__(self, server: Any, robot: Robot, root: str, on_click: Callable[[str, Any], None] | None = None):
        self.robot, self.root = robot, fresh(root)
        self.problems: list[str] = []
        """What could not be drawn, in sentences."""
        self._server = server
        self._meshes: dict[str, list[tuple[Any, tuple[int, int, int]]]] = {}
        self._colors: dict[str, tuple[int, int, int]] = {}
        self._overlays: dict[str, list[Any]] = {}
        self._axes: _Frames | None = None
        self._skeleton: Any = None
        self._bones = _bones(robot)
        drawn = [index for index, link in enumerate(robot.description.links) if link.visuals or link.collisions]
        with server.atomic():
            self._links = _Frames(server, self.root, drawn, [_drawn_ancestor(robot, index, drawn) for index in drawn])
            for index in drawn:
                link = robot.description.links[index]
                self._meshes[link.name] = self._draw_link(index, link, on_click)

    def show(self, q: np.ndarray) -> None:
        """Moves all links to a posture; those that stay are not sent."""
        poses = self.robot.pose(self.robot.links, q)
        with self._server.atomic():
            self._links.move(poses)
            if self._axes is not None:
                self._axes.move(poses)
            if self._skeleton is not None:
                self._skeleton.points = poses[self._bones][:, :, :3, 3].astype(np.float32)
        self._poses = poses

    def paint(self, colors: dict[str, tuple[int, int, int]]) -> None:
        """Gives some links a colour, the others their own."""
        if colors == self._colors:
            return
        with self._server.atomic():
            for name, meshes in self._meshes.items():
                if colors.get(name) != self._colors.get(name):
                    for mesh, own in meshes:
                        mesh.color = colors.get(name, own)
        self._colors = dict(colors)

    def show_meshes(self, shown: bool, opacity: float | None = None) -> None:
        """Whether the links are drawn, and how opaque."""
        with self._server.atomic():
            for meshes in self._meshes.values():
                for mesh, _ in meshes:
                    mesh.visible = shown
                    mesh.opacity = opacity

    def show_skeleton(self, shown: bool, q: np.ndarray) -> None:
        """Lines from link to link, and a dot at each joint."""
        if self._skeleton is not None:
            self._skeleton.remove()
            self._skeleton = None
        if shown and len(self._bones):
            points = self.robot.pose(self.robot.links, q)[self._bones][:, :, :3, 3]
            self._skeleton = self._server.scene.add_line_segments(
                fresh(f"{self.root}/skeleton"),
                points=points.astype(np.float32),
                colors=(37, 99, 235),
                thickness=4.0,
                thickness_units="screen",
            )

    def show_axes(self, shown: bool) -> None:
        """The axis of every joint, and an arc from its lower to its upper limit with a hand at its value."""
        wanted = self._overlay("axes", shown)
        if self._axes is not None:
            self._axes.remove()
            self._axes = None
        if not wanted:
            return
        count = len(self.robot.links)
        self._axes = axes = _Frames(self._server, fresh(f"{self.root}/axes"), list(range(count)), [None] * count)
        size = 0.06 * self.extent()
        for joint in self.robot.description.joints:
            if joint.kind not in ("revolute", "continuous", "prismatic"):
                continue
            child, parent = self.robot.link_index(joint.child), self.robot.link_index(joint.parent)
            axis = np.asarray(joint.axis, dtype=float)
            line = np.array([[-size * axis, size * axis]], dtype=np.float32)
            self._add_lines("axes", f"{axes.paths[child]}/axis", line, (14, 165, 233), None)
            if joint.kind == "prismatic":
                continue
            low, high = float(joint.lower[0]), float(joint.upper[0])
            if not (np.isfinite(low) and np.isfinite(high)):
                low, high = -np.pi, np.pi
            arc = arc_points(axis, low, high, size)
            self._add_lines("axes", f"{axes.paths[parent]}/arc_{child}", arc, (245, 158, 11), joint.origin)
            start = arc_points(axis, 0.0, 1.0, size, 1)[0, 0]
            hand = np.array([[np.zeros(3), start]], dtype=np.float32)
            self._add_lines("axes", f"{axes.paths[child]}/hand", hand, (244, 63, 94), None)
        axes.move(self._poses)

    def show_spheres(self, shown: bool) -> None:
        """The spheres and capsules that the search takes for the links."""
        if not self._overlay("spheres", shown):
            return
        from memetik.scene.robot_bodies import robot_pieces

        by_link: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
        for piece in robot_pieces(self.robot, {}, None):
            centres, radii = _sampled(piece.fit)
            by_link.setdefault(piece.link, []).append((centres, radii))
        vertices, faces = ball()
        for link, parts in by_link.items():
            centres = np.concatenate([c for c, _ in parts])
            radii = np.concatenate([r for _, r in parts])
            self._overlays["spheres"].append(
                self._server.scene.add_batched_meshes_simple(
                    fresh(f"{self._links.paths[link]}/spheres"),
                    vertices,
                    faces,
                    np.tile([1.0, 0.0, 0.0, 0.0], (len(centres), 1)),
                    centres,
                    batched_scales=radii,
                    batched_colors=(45, 212, 191),
                    opacity=0.35,
                    cast_shadow=False,
                    receive_shadow=False,
                )
            )

    def extent(self) -> float:
        """How far the robot reaches at most from its base, roughly: the sum of its bones, at least 0.3 m."""
        lengths: dict[str, float] = {}
        for link in self.robot.links:
            joint = self.robot.parent_joint(link)
            parent = self.robot.parent(link)
            before = lengths.get(parent, 0.0) if parent is not None else 0.0
            lengths[link] = before + (0.0 if joint is None else float(np.linalg.norm(np.asarray(joint.origin)[:3, 3])))
        return max(0.3, max(lengths.values(), default=0.3))

    def drawn_pose(self, link: int) -> np.ndarray:
        """Where a browser draws a link: its node's pose below those of the nodes above it."""
        pose = np.eye(4)
        for index, path in self._links.paths.items():  # from the base outwards
            if f"{self._links.paths[link]}/".startswith(f"{path}/"):
                pose = pose @ pose_of(self._links.nodes[index])
        return pose

    def remove(self) -> None:
        self._links.remove()

    def _draw_link(self, index: int, link: Any, on_click: Callable[[str, Any], None] | None) -> list[tuple[Any, Any]]:
        """The link's visuals, else its collision shapes; those of one colour are one mesh."""
        by_color: dict[Any, list[Any]] = {}
        for geometry in link.visuals or link.collisions:
            try:
                part = (surface_of(geometry.shape), np.asarray(geometry.origin))
            except (MemetikError, OSError) as error:
                self.problems.append(f"Link {link.name!r} is not drawn as it is: {error}")
                continue
            by_color.setdefault(geometry.color, []).append(part)
        meshes = []
        for number, (color, parts) in enumerate(by_color.items()):
            own = self._own_color(index) if color is None else tuple(round(255 * c) for c in color[:3])
            vertices, faces = joined(parts)
            mesh = self._server.scene.add_mesh_simple(
                f"{self._links.paths[index]}/mesh_{number}", vertices, faces, color=own, side="double"
            )
            if on_click is not None:
                _on_click(mesh, link.name, on_click)
            meshes.append((mesh, own))
        return meshes

    def _own_color(self, index: int) -> tuple[int, int, int]:
        """Links light and dark in turns along a chain."""
        depth = sum(1 for name in self.robot.ancestors(self.robot.links[index]) if self.robot.link(name).collisions)
        return LIGHT if depth % 2 == 0 else DARK

    def _overlay(self, name: str, shown: bool) -> bool:
        for node in self._overlays.pop(name, []):
            node.remove()
        if shown:
            self._overlays[name] = []
        return shown

    def _add_lines(self, overlay: str, name: str, points: np.ndarray, color: Any, origin: Any) -> None:
        place = {} if origin is None else {"position": np.asarray(origin)[:3, 3], "wxyz": wxyz_of(np.asarray(origin))}
        self._overlays[overlay].append(
            self._server.scene.add_line_segments(
                name, points=points.astype(np.float32), colors=color, thickness=3.0, thickness_units="screen", **place
            )
        )


class _Frames:
    """Nodes of some links, each below another's or below the root: what moves together is moved by one message."""

    def __init__(self, server: Any, root: str, links: list[int], parents: list[int | None]):
        self.paths: dict[int, str] = {}
        """By number of the link, the name of its node."""
        for link, parent in zip(links, parents, strict=True):
            self.paths[link] = f"{root if parent is None else self.paths[parent]}/{link}"
        self._root = server.scene.add_frame(root, show_axes=False)
        self.nodes = {link: server.scene.add_frame(path, show_axes=False) for link, path in self.paths.items()}
        self._links = np.array(links, dtype=int)
        self._nested = np.array([k for k, parent in enumerate(parents) if parent is not None], dtype=int)
        self._parents = np.array([parent for parent in parents if parent is not None], dtype=int)
        self._sent = np.full((len(links), 4, 4), np.inf)

    def move(self, poses: np.ndarray) -> None:
        """Brings the nodes to the poses (all links, 4, 4) of their links in the world.

        As setting `position` and `wxyz` of each that changed, in a fraction of the time: those look at every number
        again to find out whether it did.
        """
        from viser._messages import SetOrientationMessage, SetPositionMessage

        local = poses[self._links]
        if len(self._nested):
            above = poses[self._parents]
            turned = np.swapaxes(above[:, :3, :3], 1, 2)
            inside = local[self._nested]
            local[self._nested, :3, :3] = turned @ inside[:, :3, :3]
            local[self._nested, :3, 3:] = turned @ (inside[:, :3, 3:] - above[:, :3, 3:])
        change = np.abs(local - self._sent)
        moved = change[:, :3, 3].max(axis=1) > _UNMOVED
        turned = change[:, :3, :3].max(axis=(1, 2)) > _UNMOVED
        for k in np.flatnonzero(moved).tolist():
            state, position = self.nodes[int(self._links[k])]._impl, local[k, :3, 3]
            state.position[:] = position
            state.api._queue_scene_message(SetPositionMessage(state.name, tuple(position.tolist())))
            self._sent[k, :3, 3] = position
        which = np.flatnonzero(turned)
        if len(which):
            turns = Rotation.from_matrix(local[which, :3, :3]).as_quat()[:, [3, 0, 1, 2]]
            for k, turn in zip(which.tolist(), turns, strict=True):
                state = self.nodes[int(self._links[k])]._impl
                state.wxyz[:] = turn
                state.api._queue_scene_message(SetOrientationMessage(state.name, tuple(turn.tolist())))
                self._sent[k, :3, :3] = local[k, :3, :3]
        self._sent[:, 3] = local[:, 3]

    def remove(self) -> None:
        self._root.remove()


class Ghosts:
    """Postures of a robot drawn together, each in a colour: one batch of instances for each link."""

    def __init__(self, server: Any, robot: Robot, root: str):
        self._server, self._robot, self._root = server, robot, root
        self._surfaces = {}
        for index, link in enumerate(robot.description.links):
            parts = []
            for geometry in link.collisions or link.visuals:
                try:
                    parts.append((surface_of(geometry.shape), np.asarray(geometry.origin)))
                except (MemetikError, OSError):
                    continue  # the robot's own view says so already
            if parts:
                self._surfaces[index] = joined(parts)
        self._node: Any = None

    def show(self, postures: np.ndarray, colors: np.ndarray, opacity: float = 0.25) -> None:
        """Postures (N, dof) in colours (N, 3) from 0 to 255; none hides them."""
        self.hide()
        if not len(postures):
            return
        poses = self._robot.pose(self._robot.links, np.ascontiguousarray(postures))
        root = fresh(self._root)
        with self._server.atomic():
            self._node = self._server.scene.add_frame(root, show_axes=False)
            for index, (vertices, faces) in self._surfaces.items():
                own = poses[:, index]
                self._server.scene.add_batched_meshes_simple(
                    f"{root}/{index}",
                    vertices,
                    faces,
                    np.array([wxyz_of(pose) for pose in own]),
                    own[:, :3, 3],
                    batched_colors=np.asarray(colors, dtype=np.uint8),
                    opacity=opacity,
                    cast_shadow=False,
                    receive_shadow=False,
                    lod="off",
                )

    def hide(self) -> None:
        if self._node is not None:
            self._node.remove()
            self._node = None


def wxyz_of(pose: np.ndarray) -> np.ndarray:
    """The quaternion of a pose as viser has it."""
    x, y, z, w = quaternion_from_matrix(pose[:3, :3])
    return np.array([w, x, y, z])


def pose_of(handle: Any) -> np.ndarray:
    """The pose (4, 4) of a node."""
    from memetik.robot.transforms import matrix_from_quaternion

    w, x, y, z = handle.wxyz
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = matrix_from_quaternion((x, y, z, w)), handle.position
    return pose


def _on_click(mesh: Any, link: str, on_click: Callable[[str, Any], None]) -> None:
    @mesh.on_click
    def _(event: Any) -> None:
        on_click(link, event)


def _drawn_ancestor(robot: Robot, index: int, drawn: list[int]) -> int | None:
    """The nearest link above a link that is drawn; None where there is none."""
    name = robot.parent(robot.links[index])
    while name is not None and robot.link_index(name) not in drawn:
        name = robot.parent(name)
    return None if name is None else robot.link_index(name)


def _bones(robot: Robot) -> np.ndarray:
    """Pairs (B, 2) of link numbers that a joint connects."""
    pairs = [(robot.link_index(joint.parent), robot.link_index(joint.child)) for joint in robot.description.joints]
    return np.array(pairs, dtype=int).reshape(-1, 2)


def _sampled(fit: Any) -> tuple[np.ndarray, np.ndarray]:
    """Spheres along the capsules of a fit: centres (N, 3) and radii (N,)."""
    centres, radii = [], []
    for start, end, radius in zip(fit.starts, fit.ends, fit.radii, strict=True):
        count = max(1, int(np.ceil(np.linalg.norm(end - start) / max(radius, 1e-6))) + 1)
        shares = np.linspace(0.0, 1.0, count)[:, None] if count > 1 else np.array([[0.5]])
        centres.append(start + shares * (end - start))
        radii.append(np.full(len(shares), radius))
    return np.concatenate(centres), np.concatenate(radii)


def fitness_colors(costs: Iterable[float]) -> np.ndarray:
    """Colours (N, 3) from green for the least cost to red for the greatest, on a logarithmic scale."""
    values = np.log10(np.maximum(np.asarray(list(costs), dtype=float), 1e-16))
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    share = (values - low) / (high - low) if high > low else np.zeros_like(values)
    green, amber, red = (np.array(c, dtype=float) for c in ((34, 197, 94), (250, 204, 21), (239, 68, 68)))
    first = (1.0 - 2.0 * share)[:, None]
    return np.where(first >= 0.0, first * green + (1.0 - first) * amber, -first * red + (1.0 + first) * amber).astype(
        int
    )
