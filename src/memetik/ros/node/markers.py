"""What RViz and Foxglove show: goals, solutions, plans with the tool's way, contacts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from memetik.collision.exact import Contact
from memetik.motion.planning.plan import Plan
from memetik.ros.conversions import header, pose_message
from memetik.ros.messages import message_class
from memetik.ros.node.world import World
from memetik.ros.recordings.recording import display_trajectory
from memetik.ros.transports.base import LATCHED, RosTransport

Marker: Any = message_class("visualization_msgs/msg/Marker")
_Point = message_class("geometry_msgs/msg/Point")
_Color = message_class("std_msgs/msg/ColorRGBA")
_RED, _GREEN, _BLUE, _ORANGE = (0.9, 0.2, 0.2, 1.0), (0.2, 0.8, 0.3, 1.0), (0.2, 0.4, 0.9, 1.0), (1.0, 0.6, 0.1, 1.0)


class Display:
    """The topics on which a node shows what it does: /display_planned_path, and below its own name markers and
    solution (MoveIt's DisplayRobotState)."""

    def __init__(self, transport: RosTransport, world: World, link: str):
        make, own = transport.publisher, f"/{transport.node}"
        self._world, self._link = world, link
        self._path = make("/display_planned_path", "moveit_msgs/msg/DisplayTrajectory", LATCHED)
        self._markers = make(f"{own}/markers", "visualization_msgs/msg/MarkerArray", LATCHED)
        self._solution = make(f"{own}/solution", "moveit_msgs/msg/DisplayRobotState")

    def goal(self, pose: np.ndarray) -> None:
        self._markers.publish(goal_markers(pose, self._world.planning_frame))

    def solution(self, q: np.ndarray) -> None:
        if self._solution.subscribers:  # services answer thousands of times a second
            shown = message_class("moveit_msgs/msg/DisplayRobotState")
            self._solution.publish(shown(state=self._world.robot_state(q)))

    def plan(self, plan: Plan) -> None:
        if plan.trajectory is not None:
            self._path.publish(display_trajectory(plan.robot, plan.trajectory))
            self._markers.publish(plan_markers(plan, self._link, self._world.planning_frame))

    def contacts(self, contacts: Sequence[Contact]) -> None:
        self._markers.publish(contact_markers(contacts, self._world.planning_frame))


def goal_markers(pose: np.ndarray, frame: str, size: float = 0.1) -> Any:
    """The axes of a goal."""
    found = []
    for k, color in enumerate((_RED, _GREEN, _BLUE)):
        marker = _marker("goal", k, Marker.ARROW, frame, color)
        marker.points = _points([pose[:3, 3], pose[:3, 3] + size * pose[:3, k]])
        marker.scale.x, marker.scale.y, marker.scale.z = 0.01, 0.02, 0.0
        found.append(marker)
    return _array(found)


def plan_markers(plan: Plan, link: str, frame: str) -> Any:
    """The way of a link along a plan."""
    assert plan.trajectory is not None
    times = np.linspace(0.0, plan.trajectory.duration, 100)
    robot, q = plan.robot, np.tile(plan.start, (100, 1))
    for k, name in enumerate(plan.trajectory.joint_names):
        q[:, robot.joint_index(name)] = plan.trajectory.at(times)[:, k]
    marker = _marker("plan", 0, Marker.LINE_STRIP, frame, _ORANGE)
    marker.points = _points(robot.pose(link, q)[:, :3, 3])
    marker.scale.x = 0.005
    return _array([marker])


def contact_markers(contacts: Sequence[Contact], frame: str) -> Any:
    """A ball at every contact; without contacts, those of before are taken away."""
    found = [_marker("contacts", 0, Marker.SPHERE, frame, _RED)]
    found[0].action = Marker.DELETEALL
    for k, contact in enumerate(contacts):
        marker = _marker("contacts", k + 1, Marker.SPHERE, frame, _RED)
        at = np.eye(4)
        at[:3, 3] = contact.points.mean(axis=0)
        marker.pose = pose_message(at)
        marker.scale.x = marker.scale.y = marker.scale.z = 0.02
        found.append(marker)
    return _array(found)


def _marker(space: str, number: int, kind: int, frame: str, color: Sequence[float]) -> Any:
    marker = Marker(header=header(frame), ns=space, id=number, type=kind)
    marker.color = _Color(r=color[0], g=color[1], b=color[2], a=color[3])
    return marker


def _points(rows: Iterable[np.ndarray]) -> list[Any]:
    return [_Point(x=float(row[0]), y=float(row[1]), z=float(row[2])) for row in rows]


def _array(markers: list[Any]) -> Any:
    return message_class("visualization_msgs/msg/MarkerArray")(markers=markers)
