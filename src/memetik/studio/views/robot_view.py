"""A robot in the browser: a node for each link, moved by one configuration; skeleton, joint axes, limits, spheres,
ghosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from memetik.collision.cover_report import link_excess
from memetik.collision.robot_spheres import fit_links
from memetik.errors import MemetikError
from memetik.geometry.transforms import quaternion_from_matrix, transform
from memetik.robot.robot import Robot
from memetik.studio.views.drawing import Surface, add_copies, arc_points, ball, fresh, joined, surface_of

if TYPE_CHECKING:
    from viser import (
        FrameHandle,
        LineSegmentsHandle,
        MeshHandle,
        SceneNodeDragEvent,
        SceneNodeHandle,
        SceneNodePointerEvent,
        ViserServer,
    )

    from memetik.geometry.sphere_fit import Fit
    from memetik.robot.description import Geometry, Link

    OnClick = Callable[[str, SceneNodePointerEvent[Any]], None]
    OnDrag = Callable[[str, SceneNodeDragEvent[MeshHandle]], None]

Color = tuple[int, int, int]

LIGHT, DARK = (226, 230, 236), (138, 150, 166)
EXACT, COVER = (251, 146, 60), (45, 212, 191)
CHOSEN, TOUCHING, NEAR = (96, 165, 250), (239, 68, 68), (251, 191, 36)

_UNMOVED = 1e-7


class RobotView:
    """The robot of a session under the node `root`."""

    def __init__(
        self,
        server: ViserServer,
        robot: Robot,
        root: str,
        on_click: OnClick | None = None,
        on_drag: OnDrag | None = None,
    ):
        self.robot, self.root = robot, fresh(root)
        self._on_click, self._on_drag = on_click, on_drag
        self._extremes: dict[int, np.ndarray] = {}
        self.problems: list[str] = []
        """What could not be drawn, in sentences."""
        self._server = server
        self._meshes: dict[str, list[tuple[MeshHandle, Color]]] = {}
        self._colors: dict[str, Color] = {}
        self._collision_nodes: list[SceneNodeHandle] = []
        self._axes: _Frames | None = None
        self._skeleton: LineSegmentsHandle | None = None
        self._bones = _bones(robot)
        drawn = _drawn_links(robot)
        with server.atomic():
            self._links = _Frames(server, self.root, drawn, [_drawn_ancestor(robot, index, drawn) for index in drawn])
            for index in drawn:
                link = robot.description.links[index]
                self._meshes[link.name] = self._draw_link(index, link)

    def show(self, q: np.ndarray) -> None:
        """Moves all links to a configuration; those that stay are not sent."""
        poses = self.robot.pose(self.robot.links, q)
        with self._server.atomic():
            self._links.move(poses)
            if self._axes is not None:
                self._axes.move(poses)
            if self._skeleton is not None:
                self._skeleton.points = poses[self._bones][:, :, :3, 3].astype(np.float32)
        self._poses = poses

    def paint(self, colors: dict[str, Color]) -> None:
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
            self._skeleton = self._lines(fresh(f"{self.root}/skeleton"), points, (37, 99, 235), thickness=4.0)

    def show_axes(self, shown: bool) -> None:
        """The axis of every joint, and an arc from its lower to its upper limit with a hand at its value."""
        if self._axes is not None:
            self._axes.remove()  # with the lines below its frames
            self._axes = None
        if not shown:
            return
        count = len(self.robot.links)
        self._axes = axes = _Frames(self._server, fresh(f"{self.root}/axes"), list(range(count)), [None] * count)
        size = 0.06 * self.extent()
        for joint in self.robot.description.joints:
            if joint.axes != 1:
                continue
            child, parent = self.robot.link_index(joint.child), self.robot.link_index(joint.parent)
            axis = np.asarray(joint.axis, dtype=float)
            self._lines(f"{axes.paths[child]}/axis", np.array([[-size * axis, size * axis]]), (14, 165, 233))
            if not joint.traits.angular[0]:
                continue
            low, high = float(joint.lower[0]), float(joint.upper[0])
            if not (np.isfinite(low) and np.isfinite(high)):
                low, high = -np.pi, np.pi
            arc = arc_points(axis, low, high, size)
            self._lines(f"{axes.paths[parent]}/arc_{child}", arc, (245, 158, 11), joint.origin)
            hand = np.array([[np.zeros(3), arc_points(axis, 0.0, 1.0, size, 1)[0, 0]]])
            self._lines(f"{axes.paths[child]}/hand", hand, (244, 63, 94))
        axes.move(self._poses)

    def show_collision(self, shown: bool) -> None:
        """The exact collision shapes, the bodies that the search takes for them over these, and by how many millimetres
        the bodies of each link reach beyond."""
        for node in self._collision_nodes:
            node.remove()
        self._collision_nodes = []
        if not shown:
            return
        by_link: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
        for fitted in fit_links(self.robot, {}, None):
            by_link.setdefault(fitted.link, []).append(_sampled(fitted.fit))
        excess = {own.link: own for own in link_excess(self.robot)}
        for link, parts in by_link.items():
            centres, radii = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
            name = fresh(f"{self._links.paths[link]}/collision")
            self._collision_nodes.append(self._server.scene.add_frame(name, show_axes=False))  # with what is below it
            described = self.robot.description.links[link]
            exact = list(chain.from_iterable(_parts(described, described.collisions, []).values()))
            if exact:
                vertices, faces = joined(exact)
                self._server.scene.add_mesh_simple(f"{name}/exact", vertices, faces, color=EXACT, side="double")
            add_copies(self._server, f"{name}/cover", ball(), centres, COVER, scales=radii, opacity=0.3)
            own = excess[described.name]
            text = f"{own.link}: {own.bodies} bodies, {1e3 * own.largest:.1f} mm"
            self._server.scene.add_label(f"{name}/label", text, position=centres.mean(axis=0))

    def extent(self) -> float:
        """How far the robot reaches at most from its base, roughly: the sum of its bones, at least 0.3 m."""
        joints = self.robot.description.joints
        bones = {joint.child: float(np.linalg.norm(np.asarray(joint.origin)[:3, 3])) for joint in joints}
        chains = ((link, *self.robot.ancestors(link)) for link in self.robot.links)
        return max(0.3, *(sum(bones.get(link, 0.0) for link in chain) for chain in chains))

    def lowest(self, q: np.ndarray) -> float:
        """The height of the robot's lowest drawn point, metres, nearly; 0 where nothing is drawn."""
        poses = self.robot.pose(self.robot.links, q)
        heights = [(points @ poses[k][2, :3]).min() + poses[k][2, 3] for k, points in self._extremes.items()]
        return float(min(heights, default=0.0))

    def remove(self) -> None:
        self._links.remove()

    def _draw_link(self, index: int, link: Link) -> list[tuple[MeshHandle, Color]]:
        """The link's visuals, else its collision shapes; those of one colour are one mesh."""
        meshes: list[tuple[MeshHandle, Color]] = []
        for number, (color, parts) in enumerate(_parts(link, link.visuals or link.collisions, self.problems).items()):
            own = self._own_color(index) if color is None else color
            vertices, faces = joined(parts)
            mesh = self._server.scene.add_mesh_simple(
                f"{self._links.paths[index]}/mesh_{number}", vertices, faces, color=own, side="double"
            )
            if self._on_click is not None:
                mesh.on_click(partial(self._on_click, link.name))
            if self._on_drag is not None:
                mesh.on_drag("left", modifier="shift")(partial(self._on_drag, link.name))
            known = self._extremes.get(index, np.zeros((0, 3)))
            self._extremes[index] = np.concatenate([known, _extreme_points(vertices)])
            meshes.append((mesh, own))
        return meshes

    def _own_color(self, index: int) -> Color:
        """Links light and dark in turns along a chain."""
        depth = sum(1 for name in self.robot.ancestors(self.robot.links[index]) if self.robot.link(name).collisions)
        return LIGHT if depth % 2 == 0 else DARK

    def _lines(
        self, name: str, points: np.ndarray, color: Color, origin: np.ndarray | None = None, thickness: float = 3.0
    ) -> LineSegmentsHandle:
        pose = np.eye(4) if origin is None else origin
        return self._server.scene.add_line_segments(
            name,
            points=points.astype(np.float32),
            colors=color,
            thickness=thickness,
            thickness_units="screen",
            position=pose[:3, 3],
            wxyz=wxyz_of(pose),
        )


class _Frames:
    """Nodes of some links, each below another's or below the root: what moves together is moved by one message."""

    def __init__(self, server: ViserServer, root: str, links: list[int], parents: list[int | None]):
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
            inverse = np.swapaxes(above[:, :3, :3], 1, 2)
            inside = local[self._nested]
            local[self._nested, :3, :3] = inverse @ inside[:, :3, :3]
            local[self._nested, :3, 3:] = inverse @ (inside[:, :3, 3:] - above[:, :3, 3:])
        change = np.abs(local - self._sent)
        moved = change[:, :3, 3].max(axis=1) > _UNMOVED
        rotated = change[:, :3, :3].max(axis=(1, 2)) > _UNMOVED
        for k in np.flatnonzero(moved).tolist():
            state, position = self.nodes[int(self._links[k])]._impl, local[k, :3, 3]
            state.position[:] = position
            state.api._queue_scene_message(SetPositionMessage(state.name, tuple(position.tolist())))
            self._sent[k, :3, 3] = position
        which = np.flatnonzero(rotated)
        if len(which):
            quaternions = Rotation.from_matrix(local[which, :3, :3]).as_quat()[:, [3, 0, 1, 2]]
            for k, wxyz in zip(which.tolist(), quaternions, strict=True):
                state = self.nodes[int(self._links[k])]._impl
                state.wxyz[:] = wxyz
                state.api._queue_scene_message(SetOrientationMessage(state.name, tuple(wxyz.tolist())))
                self._sent[k, :3, :3] = local[k, :3, :3]
        self._sent[:, 3] = local[:, 3]

    def remove(self) -> None:
        self._root.remove()


class Ghosts:
    """Configurations of a robot drawn together, each in a colour: one batch of instances for each link."""

    def __init__(self, server: ViserServer, robot: Robot, root: str):
        self._server, self._robot, self._root = server, robot, root
        self._surfaces: dict[int, Surface] = {}
        for index, link in enumerate(robot.description.links):
            # What cannot be drawn is told by the robot's own view.
            parts = list(chain.from_iterable(_parts(link, link.collisions or link.visuals, []).values()))
            if parts:
                self._surfaces[index] = joined(parts)
        self._node: FrameHandle | None = None

    def show(self, configurations: np.ndarray, colors: np.ndarray, opacity: float = 0.25) -> None:
        """Configurations (N, dof) in colours (N, 3) from 0 to 255; none hides them."""
        self.hide()
        if not len(configurations):
            return
        poses = self._robot.pose(self._robot.links, np.ascontiguousarray(configurations))
        colors = np.asarray(colors, dtype=np.uint8)
        root = fresh(self._root)
        with self._server.atomic():
            self._node = self._server.scene.add_frame(root, show_axes=False)
            for index, surface in self._surfaces.items():
                own, name = poses[:, index], f"{root}/{index}"
                wxyzs = np.array([wxyz_of(pose) for pose in own])
                add_copies(self._server, name, surface, own[:, :3, 3], colors, wxyzs=wxyzs, opacity=opacity)

    def hide(self) -> None:
        if self._node is not None:
            self._node.remove()
            self._node = None


def wxyz_of(pose: np.ndarray) -> np.ndarray:
    """The quaternion of a pose (4, 4) or a rotation (3, 3) as viser has it."""
    return np.roll(quaternion_from_matrix(pose[:3, :3]), 1)


def pose_of(handle: SceneNodeHandle) -> np.ndarray:
    """The pose (4, 4) of a node."""
    return transform(handle.position, quat_wxyz=handle.wxyz)


def _parts(
    link: Link, geometries: Iterable[Geometry], problems: list[str]
) -> dict[Color | None, list[tuple[Surface, np.ndarray]]]:
    """By colour, the surfaces of a link at their places; adds a sentence to `problems` for each that cannot be read."""
    by_color: dict[Color | None, list[tuple[Surface, np.ndarray]]] = {}
    for geometry in geometries:
        try:
            part = (surface_of(geometry.shape), np.asarray(geometry.origin))
        except (MemetikError, OSError) as error:
            problems.append(f"Link {link.name!r} is not drawn as it is: {error}")
            continue
        by_color.setdefault(rgb(geometry.color), []).append(part)
    return by_color


def rgb(color: Sequence[float] | None) -> Color | None:
    """A colour from 0 to 255 of one from 0 to 1."""
    return None if color is None else (round(255 * color[0]), round(255 * color[1]), round(255 * color[2]))


def _extreme_points(vertices: np.ndarray) -> np.ndarray:
    """The outermost of some points (N, 3) along 13 directions and their opposites."""
    directions = np.array([(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z])
    return vertices[np.unique(np.argmax(vertices @ directions.T, axis=0))]


def _drawn_links(robot: Robot) -> list[int]:
    """The links that have a shape, each after those above it: files may list children first."""
    shaped = [index for index, link in enumerate(robot.description.links) if link.visuals or link.collisions]
    return sorted(shaped, key=lambda index: len(robot.ancestors(robot.links[index])))


def _drawn_ancestor(robot: Robot, index: int, drawn: list[int]) -> int | None:
    """The nearest link above a link that is drawn; None where there is none."""
    above = (robot.link_index(name) for name in robot.ancestors(robot.links[index]))
    return next((link for link in above if link in drawn), None)


def _bones(robot: Robot) -> np.ndarray:
    """Pairs (B, 2) of link numbers that a joint connects."""
    pairs = [(robot.link_index(joint.parent), robot.link_index(joint.child)) for joint in robot.description.joints]
    return np.array(pairs, dtype=int).reshape(-1, 2)


def _sampled(fit: Fit) -> tuple[np.ndarray, np.ndarray]:
    """Spheres along the capsules of a fit: centres (N, 3) and radii (N,)."""
    centres, radii = [], []
    for start, end, radius in zip(fit.starts, fit.ends, fit.radii, strict=True):
        count = max(1, int(np.ceil(np.linalg.norm(end - start) / max(radius, 1e-6))) + 1)
        shares = np.linspace(0.0, 1.0, count)[:, None] if count > 1 else np.array([[0.5]])
        centres.append(start + shares * (end - start))
        radii.append(np.full(len(shares), radius))
    return np.concatenate(centres), np.concatenate(radii)
