"""What the studio holds: a robot, goals, a scene, configurations; with undo and redo, and files that others read too.

Every change makes another `State`; undo is the one before. Changes of one kind in a row, such as the many of one drag,
are one step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from memetik._moved import serve_old_names
from memetik.errors import GoalError, InvalidInputError, UnknownNameError
from memetik.geometry.shapes import SceneShape
from memetik.geometry.transforms import as_pose
from memetik.goals.base import Goal
from memetik.goals.pose import Pose, Position
from memetik.robot import bundled
from memetik.robot.robot import Robot, load_robot
from memetik.scene.scene import Scene, SceneSnapshot
from memetik.studio.session.beginning import apart, first_configuration, goal_links
from memetik.studio.session.targets import GoalEntry, dragged, following, fresh_goal

MOST_STEPS = 200
"""As many changes can be undone."""

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A session at one moment; nothing in it changes."""

    source: str
    """What `load_robot` takes."""
    robot: Robot
    q: np.ndarray
    goals: tuple[GoalEntry, ...] = ()
    scene: SceneSnapshot = field(default_factory=lambda: Scene().snapshot())
    self_collision: bool = False
    margin: float = 0.0
    held: frozenset[str] = frozenset()
    """Joints that keep their value."""
    configurations: Mapping[str, np.ndarray] = field(default_factory=lambda: _EMPTY)
    waypoints: tuple[str, ...] = ()
    """Names of the configurations that a motion passes."""
    options: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    """Arguments of `Problem.solve`, its method by name, and the method's "parameters"."""

    def goal(self, name: str) -> GoalEntry:
        """The goal of that name."""
        for entry in self.goals:
            if entry.name == name:
                return entry
        raise UnknownNameError("goal", name, "the session", [w.name for w in self.goals])

    @property
    def enabled(self) -> tuple[GoalEntry, ...]:
        """The goals that count."""
        return tuple(entry for entry in self.goals if entry.enabled)

    @property
    def first_link(self) -> str:
        """The link of the first goal that has one, else the last link of the robot."""
        return next((entry.goal.links[0] for entry in self.goals if entry.goal.links), self.robot.links[-1])


class Session:
    """A state that changes, with its history."""

    def __init__(self, robot: str | Robot, scene: Scene | None = None):
        source = robot if isinstance(robot, str) else _source_of(robot)
        model = load_robot(robot) if isinstance(robot, str) else robot
        self._state = _beginning(source, model, scene)
        self._past: list[tuple[str, State]] = []
        self._future: list[tuple[str, State]] = []
        self._merging: Any = None

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Session:
        """A session that was saved, or any problem file."""
        from memetik.studio.session.files import load_session

        loaded = load_session(path)
        session = cls(loaded.robot)
        session._state = loaded
        return session

    @property
    def state(self) -> State:
        """What is, now."""
        return self._state

    @property
    def robot(self) -> Robot:
        return self._state.robot

    # history

    def change(self, what: str, merge: Hashable = None, **fields: Any) -> None:
        """Another state, one step of the history. Steps in a row with the same `merge` are one."""
        after = replace(self._state, **fields)
        if merge is None or merge != self._merging:
            self._past.append((what, self._state))
            del self._past[:-MOST_STEPS]
        self._merging = merge
        self._future.clear()
        self._state = after

    def _take(self, what: str, state: State) -> None:
        """All of another state, as one step of the history."""
        self.change(what, **{name: getattr(state, name) for name in State.__dataclass_fields__})

    def settle(self) -> None:
        """Ends a row of merged changes: the next one is a step of its own."""
        self._merging = None

    def follow(self, q: np.ndarray) -> None:
        """Takes over a configuration that was solved for: not a step of the history."""
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

    # robot and configuration

    def use_robot(self, source: str, keep_scene: bool = True) -> None:
        """Another robot, with goals at its hands and feet; how it is solved stays, and the scene where it is kept."""
        robot = load_robot(source)
        scene = self._state.scene if keep_scene else Scene().snapshot()
        loose = {k: item for k, item in scene.objects.items() if item.link is None or item.link in robot.links}
        kept = SceneSnapshot(loose, scene.allowed, scene.version)
        fresh = _beginning(source, robot, None)
        self._take(f"robot {robot.name}", replace(fresh, scene=kept, options=self._state.options))

    def use_model(
        self, source: str, robot: Robot, scene: Scene | None, goals: tuple[GoalEntry, ...], self_collision: bool = True
    ) -> None:
        """A robot with a scene and goals as others made them, such as those of a benchmark; source: "" if unknown."""
        fresh = _beginning(source or _source_of(robot), robot, scene)
        changed = replace(fresh, goals=goals or fresh.goals, self_collision=self_collision, options=self._state.options)
        self._take(f"robot {robot.name}", changed)

    def aim(self, goals: tuple[GoalEntry, ...], targets: Sequence[np.ndarray]) -> None:
        """These goals with these targets: one for each goal that leaves it open, in their order."""
        given = iter(targets)
        aimed = tuple(
            replace(entry, target=np.array(next(given), dtype=float)) if entry.goal.is_open else entry
            for entry in goals
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

    def set_configuration(self, q: ArrayLike, what: str = "configuration") -> None:
        """Puts the robot in a configuration; targets go along."""
        self._pose_at(self._state.robot.q(q), what, None)

    def _pose_at(self, q: np.ndarray, what: str, merge: Hashable) -> None:
        state = self._state
        goals = tuple(following(entry, state.robot, state.q, q) for entry in state.goals)
        self.change(what, merge, q=q, goals=goals)

    def hold(self, joint: str, held: bool = True) -> None:
        """Whether a joint keeps its value while goals are solved."""
        self._state.robot.joint_index(joint)
        others = self._state.held - {joint}
        self.change(f"{'hold' if held else 'release'} {joint}", held=others | {joint} if held else others)

    # goals

    def add_goal(self, kind: str | Goal, link: str | None = None) -> str:
        """A goal of a class on a link, at the current configuration, or a goal as given. Returns its name."""
        state = self._state
        goal = kind
        if isinstance(goal, str):
            goal = fresh_goal(goal, link or _some_link(state.robot), state.robot, state.q, state.scene.objects.values())
        name = free_name(goal.name or goal.default_name(), [entry.name for entry in state.goals])
        self.change(f"add {name}", goals=(*state.goals, GoalEntry.of(goal, name)))
        return name

    def replace_goal(self, name: str, goal: Goal) -> str:
        """Another goal in the place of one; under its own name if it states one. Returns its name."""
        others = [entry.name for entry in self._state.goals if entry.name != name]
        new = goal.name or name
        if new in others:
            raise GoalError(f"there is a goal {new!r} already; names of goals must differ.")
        self._put(name, GoalEntry.of(goal, new, self._state.goal(name).enabled), f"edit {name}")
        return new

    def drag(self, name: str, pose: ArrayLike) -> None:
        """A goal's target at a pose in the world. Drags of one goal in a row are one step."""
        state = self._state
        self._put(name, dragged(state.goal(name), as_pose(pose), state.robot, state.q), f"drag {name}", ("drag", name))

    def pull(self, link: str, point: ArrayLike, name: str) -> None:
        """A soft position goal on a point of the world that moves with a link, under a name of its own."""
        state = self._state
        pose = state.robot.pose(link, state.q)
        grabbed = np.asarray(point, dtype=float)
        offset = pose[:3, :3].T @ (grabbed - pose[:3, 3])
        goal = Position(link, grabbed, offset=offset, priority=1, tolerance=1e-3)
        others = tuple(entry for entry in state.goals if entry.name != name)
        self.change(f"pull {link}", ("drag", name), goals=(*others, GoalEntry.of(goal, name)))

    def enable(self, name: str, enabled: bool = True) -> None:
        """Whether a goal counts."""
        verb = "enable" if enabled else "disable"
        self._put(name, replace(self._state.goal(name), enabled=enabled), f"{verb} {name}")

    def remove_goal(self, name: str) -> None:
        """The session without a goal."""
        self._state.goal(name)
        self.change(f"remove {name}", goals=tuple(w for w in self._state.goals if w.name != name))

    def _put(self, name: str, entry: GoalEntry, what: str, merge: Hashable = None) -> None:
        self._state.goal(name)
        self.change(what, merge, goals=tuple(entry if w.name == name else w for w in self._state.goals))

    # scene

    def edit_scene(self, what: str, edit: Callable[[Scene], object], merge: Hashable = None) -> Any:
        """Changes the scene by edit(scene) on a copy; what that returns."""
        state, scene = self._state, scene_of(self._state)
        result = edit(scene)
        fields: dict[str, Any] = {"scene": scene.snapshot()}
        if scene and not state.scene.objects:
            fields["self_collision"] = True  # as a problem with a scene does by default
        self.change(what, merge, **fields)
        return result

    def add_object(self, shape: SceneShape, pose: ArrayLike | None = None, name: str | None = None) -> str:
        """An object in the world. Returns its name."""
        name = free_name(name or type(shape).__name__.lower(), self._state.scene.objects)
        self.edit_scene(f"add {name}", lambda scene: scene.add(name, shape, pose))
        return name

    def move_object(self, name: str, pose: ArrayLike) -> None:
        """An object at another pose. Moves of one object in a row are one step."""
        self.edit_scene(f"move {name}", lambda scene: scene.move(name, pose), ("move", name))

    def remove_object(self, name: str) -> None:
        self.edit_scene(f"remove {name}", lambda scene: scene.remove(name))

    def use_scene(self, scene: Scene, what: str = "scene") -> None:
        """Another scene in the place of this one."""
        self.change(what, scene=scene.snapshot(), self_collision=self._state.self_collision or len(scene) > 0)

    # configurations

    def keep_configuration(self, name: str = "") -> str:
        """Keeps the current configuration under a name. Returns it."""
        state = self._state
        name = name.strip() or free_name("configuration_1", state.configurations)
        self.change(f"keep {name}", configurations=MappingProxyType({**state.configurations, name: state.q.copy()}))
        return name

    def drop_configuration(self, name: str) -> None:
        state = self._state
        self.configuration(name)
        left = {k: q for k, q in state.configurations.items() if k != name}
        waypoints = tuple(k for k in state.waypoints if k != name)
        self.change(f"drop {name}", configurations=MappingProxyType(left), waypoints=waypoints)

    def configuration(self, name: str) -> np.ndarray:
        """A configuration that was kept."""
        if name not in self._state.configurations:
            raise UnknownNameError("configuration", name, "the session", self._state.configurations)
        return self._state.configurations[name]

    def set_waypoints(self, names: tuple[str, ...]) -> None:
        """The configurations that a motion passes, in order."""
        for name in names:
            self.configuration(name)
        self.change("waypoints", waypoints=tuple(names))

    # files

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the session as a problem file, its scene beside it; see `memetik.studio.session.files`."""
        from memetik.studio.session.files import save_session

        save_session(self._state, path)

    def load(self, path: str | PathLike[str]) -> None:
        """Takes over a session, or any problem file; one step of the history."""
        from memetik.studio.session.files import load_session

        self._take("load", load_session(path))

    def script(self) -> str:
        """The Python script that makes the same thing."""
        from memetik.studio.session.script import script_of

        return script_of(self._state)


def scene_of(state: State) -> Scene:
    """The scene of a state, to change or to hand on."""
    return Scene(state.scene.objects.values(), allowed=state.scene.allowed)


def _beginning(source: str, robot: Robot, scene: Scene | None) -> State:
    """A robot at a configuration of its own with a pose goal on each hand, foot and head."""
    q = apart(robot, first_configuration(robot))
    poses = (Pose(link, robot.pose(link, q)) for link in goal_links(robot))
    goals = distinct(GoalEntry.of(goal, goal.default_name()) for goal in poses)
    return State(source, robot, q, goals, (scene or Scene()).snapshot(), self_collision=True)


def _source_of(robot: Robot) -> str:
    """The name that a robot is loaded by; empty where there is none, as for a part of one."""
    return robot.name if bundled.known(robot.name) and load_robot(robot.name) == robot else ""


def _some_link(robot: Robot) -> str:
    return robot.tips[0] if robot.tips else robot.links[-1]


def open_goals(goals: Iterable[Goal]) -> tuple[GoalEntry, ...]:
    """Goals whose targets are still to come, under names that differ."""
    return distinct(GoalEntry(goal.name or goal.default_name(), goal) for goal in goals)


def distinct(goals: Iterable[GoalEntry]) -> tuple[GoalEntry, ...]:
    """The same goals under names that differ."""
    result: list[GoalEntry] = []
    for entry in goals:
        name = free_name(entry.name, [other.name for other in result])
        result.append(replace(entry, name=name, goal=replace(entry.goal, name=name)))
    return tuple(result)


def free_name(entry: str, taken: Collection[str]) -> str:
    """A name that is not taken: the given one, or with a number behind it."""
    name, number = entry, 2
    stem = entry.removesuffix("_1")
    while name in taken:
        name, number = f"{stem}_{number}", number + 1
    return name


serve_old_names(__name__)
