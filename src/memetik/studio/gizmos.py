"""The handles by which targets, and the chosen object, are dragged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.studio.robot_view import pose_of, wxyz_of
from memetik.studio.setup import State
from memetik.studio.targets import Handle, Wanted, handle_of

if TYPE_CHECKING:
    from memetik.studio.app import Studio

_SAME = 1e-6


class Gizmos:
    """One gizmo for each enabled goal that has a target to drag, and one for the chosen object of the scene."""

    def __init__(self, studio: Studio):
        self._studio = studio
        self._nodes: dict[str, tuple[Any, tuple[bool, bool]]] = {}
        self._shown: dict[str, Any] = {}
        self._object: tuple[str, Any] | None = None
        self._count = 0
        self.dragging: set[str] = set()
        """Names of goals and objects in somebody's hand."""

    def show(self, state: State, q: np.ndarray) -> None:
        """Brings gizmos to where targets are; those that are being dragged lead, and are not touched."""
        present = {goal.name for goal in state.goals if goal.enabled}
        for name in [name for name in self._nodes if name not in present]:
            self._drop(name)
        for goal in state.goals:
            if not goal.enabled or (self._shown.get(goal.name) is goal.target and _stands(goal)):
                continue
            handle = handle_of(goal, state.robot, q)
            kind = None if handle is None else (handle.slides, handle.turns)
            if goal.name in self._nodes and self._nodes[goal.name][1] != kind:
                self._drop(goal.name)
            if handle is None or kind is None:
                continue
            if goal.name not in self._nodes:
                self._nodes[goal.name] = (self._add(goal.name, handle), kind)
            else:
                self._follow(self._nodes[goal.name][0], handle, goal.name in self.dragging)
            self._shown[goal.name] = None if goal.name in self.dragging else goal.target

    def hold_object(self, name: str | None, state: State) -> None:
        """A gizmo on an object of the world; None puts it away."""
        if self._object is not None and (self._object[0] != name or name not in state.scene.objects):
            self._object[1].remove()
            self._object = None
        if name is None or name not in state.scene.objects or state.scene.objects[name].link is not None:
            return
        pose = state.scene.objects[name].pose
        if self._object is None:
            self._object = (name, self._object_gizmo(name, pose))
        elif name not in self.dragging:
            self._follow(self._object[1], Handle(pose, True, True), False)

    def node_name(self, goal: str) -> str:
        """The name of the node that stands for a goal's target."""
        return self._nodes[goal][0].name

    def clear(self) -> None:
        for name in list(self._nodes):
            self._drop(name)
        if self._object is not None:
            self._object[1].remove()
        self._object = None

    def _drop(self, name: str) -> None:
        self._nodes.pop(name)[0].remove()
        self._shown.pop(name, None)

    def _add(self, name: str, handle: Handle) -> Any:
        studio = self._studio
        node = self._gizmo("target", handle, 0.16)

        @node.on_update
        async def _(event: Any) -> None:
            pose = pose_of(event.target)
            ended = event.phase == "end"
            studio.do(event, lambda: self._dragged(name, pose, ended), None if ended else ("drag", name))

        return node

    def _object_gizmo(self, name: str, pose: np.ndarray) -> Any:
        studio = self._studio
        node = self._gizmo("object", Handle(pose, True, True), 0.22)

        @node.on_update
        async def _(event: Any) -> None:
            placed = pose_of(event.target)
            ended = event.phase == "end"

            def move() -> None:
                self._hold(name, ended)
                studio.setup.move_object(name, placed)
                if ended:
                    studio.setup.settle()

            studio.do(event, move, None if ended else ("move", name))

        return node

    def _gizmo(self, kind: str, handle: Handle, size: float) -> Any:
        self._count += 1
        return self._studio.server.scene.add_transform_controls(
            f"/gizmos/{kind}_{self._count}",
            scale=size * self._studio.robot_view.extent() ** 0.5,
            line_width=3.0,
            depth_test=False,
            opacity=0.9,
            disable_axes=not handle.slides,
            disable_sliders=not handle.slides,
            disable_rotations=not handle.turns,
            position=handle.pose[:3, 3],
            wxyz=wxyz_of(handle.pose),
        )

    def _dragged(self, name: str, pose: np.ndarray, ended: bool) -> None:
        self._hold(name, ended)
        self._studio.player.stop()
        self._studio.setup.drag(name, pose)
        if ended:
            self._studio.setup.settle()
            self._studio.solve_again()

    def _hold(self, name: str, ended: bool) -> None:
        if ended:
            self.dragging.discard(name)
        else:
            self.dragging.add(name)

    @staticmethod
    def _follow(node: Any, handle: Handle, dragged: bool) -> None:
        # What a hand holds is where the hand is; only the place of handles that sit on a moving link is set then.
        if dragged and handle.slides:
            return
        if np.abs(node.position - handle.pose[:3, 3]).max() > _SAME:
            node.position = handle.pose[:3, 3]
        if not dragged and np.abs(pose_of(node)[:3, :3] - handle.pose[:3, :3]).max() > _SAME:
            node.wxyz = wxyz_of(handle.pose)


def _stands(goal: Wanted) -> bool:
    """Whether a goal's handle stays where it is unless its target changes: it sits on no link that moves."""
    return getattr(goal.goal, "relative_to", None) is None and np.shape(goal.target) == (4, 4)
