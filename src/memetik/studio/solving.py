"""Keeps a set-up solved: compiles its goals when they change, solves from the posture of now, looks at what touches.

A `LiveSolver` belongs to one thread. Dragging a target or an object compiles nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memetik.errors import MemetikError
from memetik.scene.scene import Scene, SceneSnapshot
from memetik.solve.methods import METHODS
from memetik.solve.methods.named import solve_arguments
from memetik.solve.problem import Problem
from memetik.solve.solution import Solution
from memetik.solve.tracker import Step, Tracker
from memetik.studio.setup import State

LIVE_TIMEOUT = 0.02
"""Seconds that a solve may take where the set-up says nothing."""

DRAG_ATTEMPTS = 8
"""Local searches of a solve while something is in a hand: the nearest posture at once; a longer search follows when it
is let go."""

LIVE_REFINE = 0.003
"""Seconds for preferences in each of these."""

WAY_CHECKS = 4
"""Postures that are looked at on the way of one step of tracking: things that are thin are not stepped through."""

NEAR = 0.05
"""Metres: pairs that are nearer than this are shown as near-misses."""


@dataclass(frozen=True, slots=True, eq=False)
class Nearness:
    """What touches and what nearly does, at one posture."""

    contacts: tuple[Any, ...] = ()
    clearance: float = np.inf
    pair: tuple[str, str] | None = None
    points: np.ndarray | None = None
    touching: frozenset[str] = frozenset()
    """Names of links and objects in contact."""
    near: frozenset[str] = field(default_factory=frozenset)
    """Names of links nearer than NEAR to anything, but not touching."""


class LiveSolver:
    """Solves states of a set-up one after another."""

    def __init__(self) -> None:
        self.scene = Scene()
        self._key: Any = None
        self._problem: Problem | None = None
        self.blocked: tuple[str, str] | None = None
        """What the last step of tracking would have brought together."""
        self._tracker: Tracker | None = None
        self._tracking: Any = None
        self._models: dict[bool, Any] = {}
        self._modelled: Any = None

    def problem(self, state: State) -> Problem | None:
        """The enabled goals of a state, compiled; None without any."""
        wanted = [w for w in state.goals if w.enabled]
        if not wanted:
            return None
        self._place(state.scene)
        key = (
            state.robot,
            tuple((w.name, id(w.goal)) for w in wanted),
            state.self_collision,
            state.margin,
            state.held,
            bool(state.scene.objects),
        )
        if key != self._key:
            self._tracker = None
            self._problem = Problem(
                state.robot,
                [w.goal for w in wanted],
                scene=self.scene if state.scene.objects else None,
                self_collision=state.self_collision,
                margin=state.margin,
                fixed=sorted(state.held),
            )
            self._key = key  # the problem holds the goals, so that their ids stay theirs
        return self._problem

    def solve(self, state: State, timeout: float | None = None, *, quick: bool = False) -> Solution | None:
        """A posture for a state, from its own; the nearest one where there is none. None without goals.

        quick: only a few local searches, for what is being dragged.
        """
        problem = self.problem(state)
        if problem is None:
            return None
        given = {"timeout": LIVE_TIMEOUT, "approximate": True, **solve_arguments(state.options)}
        if quick:
            given["attempts"] = DRAG_ATTEMPTS
        if timeout is not None:
            given["timeout"] = timeout
        if "refine" not in given:
            given["refine"] = min(LIVE_REFINE, given["timeout"])
        return problem.solve(*targets_of(state, problem), seed=np.ascontiguousarray(state.q), **given)

    def track(self, state: State, dt: float, speed: float) -> tuple[np.ndarray, Step] | None:
        """One step of a tracker towards the targets of a state, within limits of velocity and acceleration: the posture
        to take, and the step. None without goals.

        A step on which something would touch is not taken: the posture is the one before it, at rest, and `blocked`
        names what is in the way.

        speed: share of the robot's limits, 0..1.
        """
        wanted = [w for w in state.goals if w.enabled]
        if not wanted:
            return None
        key = (state.robot, tuple((w.name, id(w.goal)) for w in wanted), state.held, dt, speed)
        if self._tracker is None or self._tracking != key:
            problem = Problem(state.robot, [w.goal for w in wanted], fixed=sorted(state.held))
            self._tracker = Tracker(problem, seed=state.q, dt=dt, velocity_scale=speed, acceleration_scale=speed)
            self._tracking = key
        before = self._tracker.q.copy()
        step = self._tracker.step(*targets_of(state, self._tracker.problem))
        self.blocked = self._in_the_way(state, before, step.q)
        if self.blocked is None:
            return step.q.copy(), step
        self._tracker.reset(before)
        return before, step

    def _in_the_way(self, state: State, start: np.ndarray, end: np.ndarray) -> tuple[str, str] | None:
        """What touches first on the straight way between two postures; None where nothing does, or where it begins in
        contact: it may lead out of it."""
        if not state.scene.objects and not state.self_collision:
            return None
        self._place(state.scene)
        model = self._exact(state, state.self_collision)
        way = start + np.linspace(0.0, 1.0, WAY_CHECKS + 1)[:, None] * (end - start)
        touches = model.collides(way, state.margin)
        if touches[0] or not touches.any():
            return None
        return model.closest(way[int(np.argmax(touches))])[1]

    def stop_tracking(self) -> None:
        """Forgets the tracker: the next step begins at rest, at the posture of then."""
        self._tracker = self.blocked = None

    def look(self, state: State) -> Nearness:
        """What touches and what nearly does, exactly; nothing where neither scene nor self-collision is asked for."""
        if not state.scene.objects and not state.self_collision:
            return Nearness()
        self._place(state.scene)
        model = self._exact(state, state.self_collision)
        contacts = tuple(model.contacts(state.q))
        touching = frozenset(name for contact in contacts for name in (contact.first, contact.second))
        # Of near-misses, those with the world are of interest: fingers of one hand are always near each other.
        around = self._exact(state, False) if state.scene.objects else model
        distance, pair, points = around.closest(state.q)
        near = frozenset(name for name in pair or () if 0.0 < distance < NEAR)
        return Nearness(contacts, float(distance), pair, points, touching, near - touching)

    def _exact(self, state: State, self_collision: bool) -> Any:
        from memetik.scene.exact import CollisionModel

        if state.robot is not self._modelled:
            self._models, self._modelled = {}, state.robot
        if self_collision not in self._models:
            self._models[self_collision] = CollisionModel(state.robot, self.scene, self_collision=self_collision)
        return self._models[self_collision]

    def _place(self, content: SceneSnapshot) -> None:
        """Brings the scene that problems look at to this content, by as few changes as possible."""
        now = self.scene.snapshot()
        if now.version == content.version:
            return
        for name in [name for name in now.objects if name not in content.objects]:
            self.scene.remove(name)
        for name, item in content.objects.items():
            own = now.objects.get(name)
            if own is item:
                continue
            if own is not None and _same_but_pose(own, item):
                self.scene.move(name, item.pose)
            else:
                if own is not None:
                    self.scene.remove(name)
                self.scene._insert(item)
        for pair in self.scene.allowed - content.allowed:
            self.scene.forbid(*pair)
        for pair in content.allowed - self.scene.allowed:
            self.scene.allow(*pair)


def explained(solution: Solution | None) -> str:
    """What `explain()` says, or why it cannot."""
    if solution is None:
        return "No goal is enabled."
    try:
        return solution.explain()
    except MemetikError as error:
        return str(error)


def method_names() -> list[str]:
    """The methods that a set-up may be solved by."""
    return list(METHODS)


def targets_of(state: State, problem: Problem) -> tuple[Any, ...]:
    """The targets of a state in the order in which a problem takes them."""
    by_name = {w.name: w.target for w in state.goals}
    targets = (by_name[problem.goal_names[open_target.goal]] for open_target in problem.open_targets)
    return tuple(np.ascontiguousarray(target, dtype=float) for target in targets)


def _same_but_pose(first: Any, second: Any) -> bool:
    names = ("shape", "padding", "solid", "color", "link", "touch")
    return all(getattr(first, name) == getattr(second, name) for name in names)
