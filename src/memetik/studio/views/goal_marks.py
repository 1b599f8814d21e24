"""What goals ask for, drawn in the world: names, rays, cones, lines, distances; and the path of a planned motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik import goals as g
from memetik.robot.robot import Robot
from memetik.studio.session.session import State
from memetik.studio.session.targets import GoalEntry, along, handle_of
from memetik.studio.views.drawing import arc_points, fresh

if TYPE_CHECKING:
    from viser import LabelHandle, LineSegmentsHandle, SceneNodeHandle, ViserServer

HARD, SOFT = (37, 99, 235), (217, 119, 6)
PATH = (22, 163, 74)

_UNMOVED = 1e-4
_ABOVE = np.array([0.0, 0.0, 0.03])
"""From a point to its label, metres."""
_NOTHING = np.zeros((1, 2, 3), dtype=np.float32)
_CHOSEN, _OTHER = 1.0, 0.75
"""Sizes of labels."""
_ARROW = 0.2
_LINE = 1.0
"""Metres to both sides that an endless line is drawn, and the half side of a plane."""


class GoalMarks:
    """The marks of all enabled goals: a label each, and one node of lines for hard and one for soft goals."""

    def __init__(self, server: ViserServer):
        self._server = server
        self._lines: dict[bool, LineSegmentsHandle] = {}
        self._labels: dict[str, LabelHandle] = {}
        self._sent: dict[bool, np.ndarray] = {}
        self.visible = True

    def show(self, state: State, q: np.ndarray, chosen: str = "") -> None:
        """Brings the marks to a configuration, the label of one goal large; what did not move is not sent."""
        entries = state.enabled if self.visible else ()
        for name in set(self._labels) - {entry.name for entry in entries}:
            self._labels.pop(name).remove()
        segments: dict[bool, list[np.ndarray]] = {False: [], True: []}
        for entry in entries:
            segments[entry.goal.priority > 0].append(goal_lines(entry, state.robot, q))
            self._label(entry, state.robot, q, _CHOSEN if entry.name == chosen or len(entries) == 1 else _OTHER)
        for soft, parts in segments.items():
            self._draw(soft, np.concatenate([*parts, np.zeros((0, 2, 3))]))

    def clear(self) -> None:
        """Removes every mark."""
        for node in (*self._labels.values(), *self._lines.values()):
            node.remove()
        self._labels, self._lines, self._sent = {}, {}, {}

    def _draw(self, soft: bool, points: np.ndarray) -> None:
        before = self._sent.get(soft)
        if before is not None and before.shape == points.shape and np.allclose(before, points, atol=_UNMOVED):
            return
        if before is None and not len(points):
            return
        self._sent[soft] = points
        if soft not in self._lines:
            self._lines[soft] = self._server.scene.add_line_segments(
                fresh("/goals/lines"), _NOTHING, colors=SOFT if soft else HARD, thickness=2.5, thickness_units="screen"
            )
        node = self._lines[soft]
        node.points = points.astype(np.float32) if len(points) else _NOTHING
        node.visible = len(points) > 0

    def _label(self, entry: GoalEntry, robot: Robot, q: np.ndarray, size: float) -> None:
        place = _place(entry, robot, q)
        if place is None:
            if entry.name in self._labels:
                self._labels.pop(entry.name).remove()
            return
        place = place + _ABOVE
        label = self._labels.get(entry.name)
        if label is None:
            text = entry.name.removeprefix("pose_") if isinstance(entry.goal, g.Pose) else entry.name
            self._labels[entry.name] = self._server.scene.add_label(
                fresh("/goals/label"), text, position=place, font_screen_scale=size
            )
            return
        if np.abs(label.position - place).max() > _UNMOVED:
            label.position = place
        if label.font_screen_scale != size:
            label.font_screen_scale = size


class PathMarks:
    """The path of a link along a planned motion, with the waypoints that it passes."""

    def __init__(self, server: ViserServer):
        self._server = server
        self._nodes: list[SceneNodeHandle] = []

    def show(self, points: np.ndarray, waypoints: list[tuple[str, np.ndarray]]) -> None:
        """Points (N, 3) along the path; a name and a place for each waypoint."""
        self.hide()
        scene, root = self._server.scene, fresh("/path")
        lines = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
        self._nodes.append(
            scene.add_line_segments(f"{root}/line", lines, colors=PATH, thickness=4.0, thickness_units="screen")
        )
        if waypoints:
            places = np.array([place for _, place in waypoints], dtype=np.float32)
            self._nodes.append(
                scene.add_point_cloud(f"{root}/points", places, PATH, point_size=0.02, point_shape="circle")
            )
        for number, (name, place) in enumerate(waypoints, 1):
            text = f"{number}: {name}"
            self._nodes.append(
                scene.add_label(f"{root}/{number}", text, position=place + _ABOVE, anchor="bottom-right")
            )

    def hide(self) -> None:
        for node in self._nodes:
            node.remove()
        self._nodes = []


def goal_lines(entry: GoalEntry, robot: Robot, q: np.ndarray) -> np.ndarray:
    """Segments (N, 2, 3) in the world that show what a goal asks for; none where its gizmo says all."""
    draw = _DRAWINGS.get(type(entry.goal))
    if draw is None:
        return np.zeros((0, 2, 3))
    goal = entry.stated
    link = robot.pose(goal.links[0], q)
    offset = getattr(goal, "offset", None)
    frame = link if offset is None else link @ np.asarray(offset)
    reference = getattr(goal, "relative_to", None)
    world = np.eye(4) if reference is None else robot.pose(reference, q)
    return np.asarray(draw(goal, frame, world), dtype=float).reshape(-1, 2, 3)


def _place(entry: GoalEntry, robot: Robot, q: np.ndarray) -> np.ndarray | None:
    """Where a goal's name stands: at its handle, else at its link; nowhere for goals of the whole robot."""
    handle = handle_of(entry, robot, q)
    if handle is not None:
        return handle.pose[:3, 3]
    return robot.pose(entry.goal.links[0], q)[:3, 3] if entry.goal.links else None


def _direction(world: np.ndarray, vector: Any) -> np.ndarray:
    rotated = world[:3, :3] @ np.asarray(vector, dtype=float)
    return rotated / max(float(np.linalg.norm(rotated)), 1e-12)


def _point(world: np.ndarray, point: Any) -> np.ndarray:
    return world[:3, :3] @ np.asarray(point, dtype=float) + world[:3, 3]


def _circle(centre: np.ndarray, axis: np.ndarray, radius: float) -> np.ndarray:
    return arc_points(axis, 0.0, 2.0 * np.pi, radius, 48) + centre


def _axis_line(frame: np.ndarray, axis: Any) -> np.ndarray:
    start = frame[:3, 3]
    return np.array([[start, start + _ARROW * _direction(frame, axis)]])


def _look_at(goal: g.LookAt, frame: np.ndarray, world: np.ndarray) -> Any:
    return [[frame[:3, 3], _point(world, goal.point)]]


def _align(goal: Any, frame: np.ndarray, world: np.ndarray) -> np.ndarray:
    wanted = goal.to if isinstance(goal, g.AlignAxis) else goal.direction
    start = frame[:3, 3]
    return np.concatenate([_axis_line(frame, goal.axis), [[start, start + 1.5 * _ARROW * _direction(world, wanted)]]])


def _cone(goal: g.Cone, frame: np.ndarray, world: np.ndarray) -> np.ndarray:
    axis, tip = _direction(world, goal.direction), frame[:3, 3]
    rim = _circle(tip + _ARROW * np.cos(goal.angle) * axis, axis, _ARROW * np.sin(goal.angle))
    sides = np.stack([np.broadcast_to(tip, (8, 3)), rim[::6, 0]], axis=1)
    return np.concatenate([rim, sides, _axis_line(frame, goal.axis)])


def _line(goal: g.Line, frame: np.ndarray, world: np.ndarray) -> Any:
    point, direction = _point(world, goal.point), _direction(world, goal.direction)
    return [[point - _LINE * direction, point + _LINE * direction]]


def _plane(goal: g.Plane, frame: np.ndarray, world: np.ndarray) -> np.ndarray:
    normal = _direction(world, goal.normal)
    centre = _point(world, goal.point)
    x, y, _ = along(normal).T
    corners = [centre + 0.5 * _LINE * (a * x + b * y) for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    return np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)


def _distance(goal: Any, frame: np.ndarray, world: np.ndarray) -> np.ndarray:
    if isinstance(goal.to, str):
        return np.zeros((0, 2, 3))
    centre = _point(world, goal.to)
    radii = np.unique(np.atleast_1d(goal.distance))
    circles = [_circle(centre, axis, float(r)) for r in radii if np.isfinite(r) for axis in np.eye(3)]
    return np.concatenate([*circles, [[frame[:3, 3], centre]]])


def _pivot(goal: g.Pivot, frame: np.ndarray, world: np.ndarray) -> Any:
    point = _point(world, goal.point)
    return np.concatenate([[[frame[:3, 3], point]], *(_circle(point, axis, 0.03) for axis in np.eye(3))])


def _touch(goal: Any, frame: np.ndarray, world: np.ndarray) -> Any:
    point, normal = _point(world, goal.point), _direction(world, goal.normal)
    return [[point, point + _ARROW * normal], [frame[:3, 3], point]]


_DRAWINGS: dict[type[Any], Callable[[Any, np.ndarray, np.ndarray], Any]] = {
    g.LookAt: _look_at,
    g.AlignAxis: _align,
    g.AvoidDirection: _align,
    g.Cone: _cone,
    g.Line: _line,
    g.Plane: _plane,
    g.Distance: _distance,
    g.MaxDistance: _distance,
    g.MinDistance: _distance,
    g.Pivot: _pivot,
    g.Touch: _touch,
    g.Viewpoint: _touch,
}
