"""What the studio holds: a robot, goals, a scene, postures; with undo and redo, and files that others read too.

Every change makes another `State`; undo is the one before. Changes of one kind in a row, such as the many of one drag,
are one step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from memetik.errors import GoalError, InvalidInputError, MemetikError, UnknownNameError
from memetik.goals.base import Goal
from memetik.goals.pose import Pose
from memetik.robot.robot import Robot, load_robot
from memetik.robot.transforms import as_pose
from memetik.scene.scene import Scene, SceneSnapshot
from memetik.studio.targets import Wanted, dragged, following, fresh_goal

MOST_STEPS = 200
"""As many changes can be undone."""

MOST_TIPS = 6
"""A robot with more tips than this begins with a goal on the first of them only."""

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A set-up at one moment; nothing in it changes."""

    source: str
    """What `load_robot` takes."""
    robot: Robot
    q: np.ndarray
    goals: tuple[Wanted, ...] = ()
    scene: SceneSnapshot = field(default_factory=lambda: Scene().snapshot())
    self_collision: bool = False
    margin: float = 0.0
    held: frozenset[str] = frozenset()
    """Joints that keep their value."""
    postures: Mapping[str, np.ndarray] = field(default_factory=lambda: _EMPTY)
    way: tuple[str, ...] = ()
    """Names of the postures that a motion passes."""
    options: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    """Arguments of `Problem.solve`, its method by name, and the method's "parameters"; see `memetik.studio.methods`."""

    def goal(self, name: str) -> Wanted:
        """The goal of that name."""
        for wanted in self.goals:
            if wanted.name == name:
                return wanted
        raise UnknownNameError("goal", name, "the set-up", [w.name for w in self.goals])


class SetUp:
    """A state that changes, with its history."""

    def __init__(self, robot: str | Robot, scene: Scene | None = None):
        source = robot if isinstance(robot, str) else _source_of(robot)
        model = load_robot(robot) if isinstance(robot, str) else robot
        self._state = _beginning(source, model, scene)
        self._past: list[tuple[str, State]] = []
        self._future: list[tuple[str, State]] = []
        self._merging: Any = None

    @classmethod
    def from_file(cls, path: Any) -> SetUp:
        """A set-up that was saved, or any problem file."""
        from memetik.studio.files import load_setup

        loaded = load_setup(path)
        setup = cls(loaded.robot)
        setup._state = loaded
        return setup

    @property
    def state(self) -> State:
        """What is, now."""
        return self._state

    @property
    def robot(self) -> Robot:
        return self._state.robot

    # history

    def change(self, what: str, merge: Any = None, **fields: Any) -> None:
        """Another state, one step of the history. Steps in a row with the same `merge` are one."""
        after = replace(self._state, **fields)
        if merge is None or merge != self._merging:
            self._past.append((what, self._state))
            del self._past[:-MOST_STEPS]
        self._merging = merge
        self._future.clear()
        self._state = after

    def settle(self) -> None:
        """Ends a row of merged changes: the next one is a step of its own."""
        self._merging = None

    def follow(self, q: np.ndarray) -> None:
        """Takes over a posture that was solved for: not a step of the history."""
        self._state = replace(self._state, q=q)

    def undo(self) -> str | None:
        """Goes one step back; what was undone, None where there is nothing."""
        return self._step(self._past, self._future)

    def redo(self) -> str | None:
        """Takes an undo back."""
        return self._step(self._future, self._past)

    @property
    def undoable(self) -> str | None:
        """What the next undo would take back."""
        return self._past[-1][0] if self._past else None

    @property
    def redoable(self) -> str | None:
        return self._future[-1][0] if self._future else None

    def _step(self, source: list[tuple[str, State]], target: list[tuple[str, State]]) -> str | None:
        if not source:
            return None
        what, state = source.pop()
        target.append((what, self._state))
        self._state, self._merging = state, None
        return what

    # robot and posture

    def use_robot(self, source: str) -> None:
        """Another robot, with goals at its tips; the scene and how it is solved stay."""
        robot = load_robot(source)
        fresh = _beginning(source, robot, None)
        scene = self._state.scene
        loose = {k: item for k, item in scene.objects.items() if item.link is None or item.link in robot.links}
        kept = SceneSnapshot(loose, scene.allowed, scene.version)
        changed = replace(fresh, scene=kept, options=self._state.options)
        self.change(f"robot {robot.name}", **{name: getattr(changed, name) for name in _FIELDS})

    def use_model(
        self, source: str, robot: Robot, scene: Scene | None, goals: tuple[Wanted, ...], self_collision: bool = True
    ) -> None:
        """A robot with a scene and goals as others made them, such as those of a benchmark; source: "" if unknown."""
        fresh = _beginning(source or _source_of(robot), robot, scene)
        changed = replace(fresh, goals=goals or fresh.goals, self_collision=self_collision, options=self._state.options)
        self.change(f"robot {robot.name}", **{name: getattr(changed, name) for name in _FIELDS})

    def aim(self, goals: tuple[Wanted, ...], targets: Any) -> None:
        """These goals with these targets: one for each goal that leaves it open, in their order."""
        given = iter(targets)
        aimed = tuple(
            replace(wanted, target=np.array(next(given), dtype=float)) if wanted.goal.is_open else wanted
            for wanted in goals
        )
        self.change("aim", "aim", goals=aimed)

    def set_joint(self, name: str, value: float) -> None:
        """Moves a joint; the targets of goals on the links it moves go along."""
        state = self._state
        entry = state.robot.joint_index(name)
        low, high = state.robot.lower[entry], state.robot.upper[entry]
        if not (np.isfinite(value) and low <= value <= high):
            raise InvalidInputError(f"joint {name!r} goes from {low:g} to {high:g}, so {value:g} is refused.")
        q = state.q.copy()
        q[entry] = value
        self._pose_at(q, f"joint {name}", ("joint", name))

    def set_posture(self, q: Any, what: str = "posture") -> None:
        """Puts the robot in a posture; targets go along."""
        self._pose_at(self._state.robot.q(q), what, None)

    def _pose_at(self, q: np.ndarray, what: str, merge: Any) -> None:
        state = self._state
        goals = tuple(following(wanted, state.robot, state.q, q) for wanted in state.goals)
        self.change(what, merge, q=q, goals=goals)

    def hold(self, joint: str, held: bool = True) -> None:
        """Whether a joint keeps its value while goals are solved."""
        self._state.robot.joint_index(joint)
        others = self._state.held - {joint}
        self.change(f"{'hold' if held else 'release'} {joint}", held=others | {joint} if held else others)

    # goals

    def add_goal(self, kind: str | Goal, link: str | None = None) -> str:
        """A goal of a class on a link, at the posture of now, or a goal as given. Returns its name."""
        state = self._state
        if isinstance(kind, str):
            goal = fresh_goal(kind, link or _some_link(state.robot), state.robot, state.q, state.scene.objects.values())
        else:
            goal = kind
        name = free_name(goal.name or goal.default_name(), [wanted.name for wanted in state.goals])
        self.change(f"add {name}", goals=(*state.goals, Wanted.of(goal, name)))
        return name

    def replace_goal(self, name: str, goal: Goal) -> str:
        """Another goal in the place of one; under its own name if it states one. Returns its name."""
        others = [wanted.name for wanted in self._state.goals if wanted.name != name]
        new = goal.name or name
        if new in others:
            raise GoalError(f"there is a goal {new!r} already; names of goals must differ.")
        self._put(name, Wanted.of(goal, new, self._state.goal(name).enabled), f"edit {name}")
        return new

    def drag(self, name: str, pose: Any) -> None:
        """A goal's target at a pose in the world. Drags of one goal in a row are one step."""
        state = self._state
        self._put(name, dragged(state.goal(name), as_pose(pose), state.robot, state.q), f"drag {name}", ("drag", name))

    def enable(self, name: str, enabled: bool = True) -> None:
        """Whether a goal counts."""
        self._put(
            name, replace(self._state.goal(name), enabled=enabled), f"{'enable' if enabled else 'disable'} {name}"
        )

    def remove_goal(self, name: str) -> None:
        """The set-up without a goal."""
        self._state.goal(name)
        self.change(f"remove {name}", goals=tuple(w for w in self._state.goals if w.name != name))

    def _put(self, name: str, wanted: Wanted, what: str, merge: Any = None) -> None:
        self._state.goal(name)
        self.change(what, merge, goals=tuple(wanted if w.name == name else w for w in self._state.goals))

    # scene

    def edit_scene(self, what: str, edit: Any, merge: Any = None) -> Any:
        """Changes the scene by edit(scene) on a copy; what that returns."""
        state = self._state
        scene = Scene(state.scene.objects.values(), allowed=state.scene.allowed)
        result = edit(scene)
        fields: dict[str, Any] = {"scene": scene.snapshot()}
        if scene and not state.scene.objects:
            fields["self_collision"] = True  # as a problem with a scene does by default
        self.change(what, merge, **fields)
        return result

    def add_object(self, shape: Any, pose: Any = None, name: str | None = None) -> str:
        """An object in the world. Returns its name."""
        name = free_name(name or type(shape).__name__.lower(), self._state.scene.objects)
        self.edit_scene(f"add {name}", lambda scene: scene.add(name, shape, pose))
        return name

    def move_object(self, name: str, pose: Any) -> None:
        """An object at another pose. Moves of one object in a row are one step."""
        self.edit_scene(f"move {name}", lambda scene: scene.move(name, pose), ("move", name))

    def remove_object(self, name: str) -> None:
        self.edit_scene(f"remove {name}", lambda scene: scene.remove(name))

    def use_scene(self, scene: Scene, what: str = "scene") -> None:
        """Another scene in the place of this one."""
        self.change(what, scene=scene.snapshot(), self_collision=self._state.self_collision or len(scene) > 0)

    # postures

    def keep_posture(self, name: str = "") -> str:
        """Keeps the posture of now under a name. Returns it."""
        state = self._state
        name = name.strip() or free_name("posture_1", state.postures)
        self.change(f"keep {name}", postures=MappingProxyType({**state.postures, name: state.q.copy()}))
        return name

    def drop_posture(self, name: str) -> None:
        state = self._state
        self.posture(name)
        left = {k: q for k, q in state.postures.items() if k != name}
        way = tuple(k for k in state.way if k != name)
        self.change(f"drop {name}", postures=MappingProxyType(left), way=way)

    def posture(self, name: str) -> np.ndarray:
        """A posture that was kept."""
        if name not in self._state.postures:
            raise UnknownNameError("posture", name, "the set-up", self._state.postures)
        return self._state.postures[name]

    def set_way(self, names: tuple[str, ...]) -> None:
        """The postures that a motion passes, in order."""
        for name in names:
            self.posture(name)
        self.change("way points", way=tuple(names))

    # files

    def save(self, path: Any) -> None:
        """Writes the set-up as a problem file, its scene beside it; see `memetik.studio.files`."""
        from memetik.studio.files import save_setup

        save_setup(self._state, path)

    def load(self, path: Any) -> None:
        """Takes over a set-up, or any problem file; one step of the history."""
        from memetik.studio.files import load_setup

        loaded = load_setup(path)
        self.change("load", **{name: getattr(loaded, name) for name in _FIELDS})

    def script(self) -> str:
        """The Python script that makes the same thing."""
        from memetik.studio.script import script_of

        return script_of(self._state)


_FIELDS = tuple(State.__dataclass_fields__)


def _beginning(source: str, robot: Robot, scene: Scene | None) -> State:
    """A robot at a posture of its own with a pose goal on each tip."""
    q = _first_posture(robot)
    goals: list[Wanted] = []
    tips = robot.tips if len(robot.tips) <= MOST_TIPS else robot.tips[:5]
    for link in tips or (_some_link(robot),):
        goal = Pose(link, robot.pose(link, q))
        goals.append(Wanted.of(goal, free_name(goal.default_name(), [w.name for w in goals])))
    content = (scene or Scene()).snapshot()
    return State(source, robot, q, tuple(goals), content, self_collision=bool(content.objects))


def _source_of(robot: Robot) -> str:
    """The name that a robot is loaded by; empty where there is none, as for a part of one."""
    from memetik.robot import bundled

    return robot.name if bundled.known(robot.name) and load_robot(robot.name) == robot else ""


def _first_posture(robot: Robot) -> np.ndarray:
    """A named posture that reads like a rest, else the middle of the limits."""
    for name in ("ready", "home", "rest", "stand", "standing", "untucked"):
        if name in robot.named_states:
            try:
                return robot.clip(robot.state(name))
            except MemetikError:
                continue
    return robot.neutral.copy()


def _some_link(robot: Robot) -> str:
    if robot.tips:
        return robot.tips[0]
    return robot.links[-1]


def open_goals(goals: Iterable[Goal]) -> tuple[Wanted, ...]:
    """Goals whose targets are still to come, under names that differ."""
    result: list[Wanted] = []
    for goal in goals:
        name = free_name(goal.name or goal.default_name(), [wanted.name for wanted in result])
        result.append(Wanted(name, replace(goal, name=name)))
    return tuple(result)


def free_name(wanted: str, taken: Any) -> str:
    """A name that is not taken: the one wanted, or with a number behind it."""
    name, number = wanted, 2
    stem = wanted.removesuffix("_1")
    while name in taken:
        name, number = f"{stem}_{number}", number + 1
    return name
