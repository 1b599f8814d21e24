"""The handles by which targets, and the chosen object, are dragged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from memetik.studio.session.session import State
from memetik.studio.session.targets import GoalEntry, Handle, handle_of
from memetik.studio.views.robot_view import pose_of, wxyz_of

if TYPE_CHECKING:
    from viser import TransformControlsEvent, TransformControlsHandle

    from memetik.scene.scene_object import SceneObject
    from memetik.studio.app import Studio

_SAME = 1e-6
_LARGE, _SMALL = (1.0, 0.95), (0.55, 0.4)
"""Size and opacity of the gizmo of the goal that is edited, and of the others."""


class Gizmos:
    """One gizmo for each enabled goal that has a target to drag, and one for the chosen object of the scene.

    Where gizmos overlap, that of the chosen goal is the large one; dragging one chooses its goal.
    """

    def __init__(self, studio: Studio):
        self._studio = studio
        self._nodes: dict[str, tuple[TransformControlsHandle, tuple[bool, bool]]] = {}
        self._shown: dict[str, Any] = {}
        self._object: tuple[str, TransformControlsHandle] | None = None
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
                self._nodes[goal.name] = (self._gizmo("target", goal.name, handle), kind)
            else:
                self._follow(self._nodes[goal.name][0], handle, goal.name in self.dragging)
            self._shown[goal.name] = None if goal.name in self.dragging else goal.target
        self.emphasise(self._studio.chosen_goal)

    def emphasise(self, chosen: str) -> None:
        """The gizmo of one goal large, the others small and faint; a lone one is large."""
        large = self._scale()
        for name, (node, _) in self._nodes.items():
            share, opacity = _LARGE if name == chosen or len(self._nodes) == 1 else _SMALL
            if node.opacity != opacity and name not in self.dragging:
                node.scale, node.opacity = share * large, opacity

    def _scale(self) -> float:
        return 0.16 * self._studio.robot_view.extent() ** 0.5

    def hold_object(self, item: SceneObject | None) -> None:
        """A gizmo on an object of the world; None, or an object on a link, puts it away."""
        if item is not None and item.link is not None:
            item = None
        if self._object is not None and (item is None or self._object[0] != item.name):
            self._object[1].remove()
            self._object = None
        if item is None:
            return
        handle = Handle(item.pose, True, True)
        if self._object is None:
            self._object = (item.name, self._gizmo("object", item.name, handle))
        elif item.name not in self.dragging:
            self._follow(self._object[1], handle, False)

    def node_name(self, goal: str) -> str:
        """The name of the node that stands for a goal's target."""
        return self._nodes[goal][0].name

    def clear(self) -> None:
        for name in list(self._nodes):
            self._drop(name)
        self.hold_object(None)

    def _drop(self, name: str) -> None:
        self._nodes.pop(name)[0].remove()
        self._shown.pop(name, None)

    def _gizmo(self, kind: Literal["target", "object"], name: str, handle: Handle) -> TransformControlsHandle:
        """A gizmo that drags the target of a goal, or an object."""
        studio, session = self._studio, self._studio.session
        move = session.drag if kind == "target" else session.move_object
        self._count += 1
        node = studio.server.scene.add_transform_controls(
            f"/gizmos/{kind}_{self._count}",
            scale=self._scale() * (1.0 if kind == "target" else 1.4),
            line_width=3.0,
            depth_test=False,
            opacity=0.9,
            disable_axes=not handle.slides,
            disable_sliders=not handle.slides,
            disable_rotations=not handle.turns,
            position=handle.pose[:3, 3],
            wxyz=wxyz_of(handle.pose),
        )

        def dragged(pose: np.ndarray, ended: bool) -> None:
            (self.dragging.discard if ended else self.dragging.add)(name)
            if kind == "target":
                studio.player.stop()
                studio.chosen_goal = name
            move(name, pose)
            if ended:
                session.settle()
                studio.solve_again()

        @node.on_update
        async def _(event: TransformControlsEvent) -> None:
            pose, ended = pose_of(event.target), event.phase == "end"
            studio.do(event, lambda: dragged(pose, ended), None if ended else (kind, name))

        return node

    @staticmethod
    def _follow(node: TransformControlsHandle, handle: Handle, dragged: bool) -> None:
        # What a hand holds is where the hand is; only the place of handles that sit on a moving link is set then.
        if dragged and handle.slides:
            return
        if np.abs(node.position - handle.pose[:3, 3]).max() > _SAME:
            node.position = handle.pose[:3, 3]
        if not dragged and np.abs(pose_of(node)[:3, :3] - handle.pose[:3, :3]).max() > _SAME:
            node.wxyz = wxyz_of(handle.pose)


def _stands(goal: GoalEntry) -> bool:
    """Whether a goal's handle stays where it is unless its target changes: it sits on no link that moves."""
    return getattr(goal.goal, "relative_to", None) is None and np.shape(goal.target) == (4, 4)
