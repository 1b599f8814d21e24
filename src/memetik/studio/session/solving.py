"""Keeps a session solved: compiles its goals when they change, solves from the current configuration, looks at what
touches.

A `LiveSolver` belongs to one thread. Dragging a target or an object compiles nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from memetik.collision.exact import CollisionModel, Contact
from memetik.errors import MemetikError
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene, SceneSnapshot
from memetik.solve.methods.named import solve_arguments
from memetik.solve.problem import Problem
from memetik.solve.solution import Solution
from memetik.solve.tracker import Tracker, TrackerStep
from memetik.studio.session.session import State

LIVE_TIMEOUT = 0.02
"""Seconds that a solve may take where the session says nothing."""

DRAG_ATTEMPTS = 8
"""Local searches of a solve while something is dragged: the nearest configuration at once; a longer search follows
when it is let go."""

LIVE_REFINE = 0.003
"""Seconds for the soft goals in each of these."""

STEP_CHECKS = 4
"""Configurations that are checked along one step of tracking, so that no step passes through a thin object."""

NEAR = 0.05
"""Metres: pairs that are nearer than this are shown as near-misses."""


@dataclass(frozen=True, slots=True, eq=False)
class ClearanceReport:
    """What touches and what nearly does, at one configuration."""

    contacts: tuple[Contact, ...] = ()
    clearance: float = np.inf
    pair: tuple[str, str] | None = None
    points: np.ndarray | None = None

    @property
    def touching(self) -> frozenset[str]:
        """Names of links and objects in contact."""
        return frozenset(name for contact in self.contacts for name in (contact.first, contact.second))

    @property
    def near(self) -> frozenset[str]:
        """Names of links nearer than NEAR to anything, but not touching."""
        return frozenset(self.pair or ()) - self.touching if 0.0 < self.clearance < NEAR else frozenset()


class LiveSolver:
    """Solves states of a session one after another."""

    def __init__(self) -> None:
        self.scene = Scene()
        self._placed: SceneSnapshot | None = None
        self._key: Any = None
        self._problem: Problem | None = None
        self.blocked: tuple[str, str] | None = None
        """What the last step of tracking would have brought together."""
        self._tracker: Tracker | None = None
        self._tracking: Any = None
        self._models: dict[bool, CollisionModel] = {}
        self._modelled: Robot | None = None

    def problem(self, state: State) -> Problem | None:
        """The enabled goals of a state, compiled; None without any."""
        if not state.enabled:
            return None
        self._place(state.scene)
        key = (*_structure(state), state.self_collision, state.margin, bool(state.scene.objects))
        if key != self._key:
            self._tracker = None
            self._problem = Problem(
                state.robot,
                [entry.goal for entry in state.enabled],
                scene=self.scene if state.scene.objects else None,
                self_collision=state.self_collision,
                margin=state.margin,
                fixed=sorted(state.held),
            )
            self._key = key  # the problem holds the goals, so that their ids stay theirs
        return self._problem

    def solve(self, state: State, timeout: float | None = None, *, quick: bool = False) -> Solution | None:
        """A configuration for a state, from its own; the nearest one where there is none. None without goals.

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
        given.setdefault("explore", False)  # soft goals lead where they like in the branch at hand
        given.setdefault("refine", min(LIVE_REFINE, given["timeout"]))
        return problem.solve(*targets_of(state, problem), seed=np.ascontiguousarray(state.q), **given)

    def track(self, state: State, dt: float, speed: float) -> tuple[np.ndarray, TrackerStep] | None:
        """One step of a tracker towards the targets of a state, within limits of velocity and acceleration: the
        configuration to take, and the step. None without goals.

        A step on which something would touch is not taken: the configuration is the one before it, at rest, and
        `blocked` names what is in the way.

        speed: share of the robot's limits, 0..1.
        """
        if not state.enabled:
            return None
        key = (*_structure(state), dt, speed)
        if self._tracker is None or self._tracking != key:
            problem = Problem(state.robot, [entry.goal for entry in state.enabled], fixed=sorted(state.held))
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
        """What touches first on the straight line between two configurations; None where nothing does, or where the
        line begins in contact: it may lead out of it."""
        if not state.scene.objects and not state.self_collision:
            return None
        self._place(state.scene)
        model = self._exact(state, state.self_collision)
        line = start + np.linspace(0.0, 1.0, STEP_CHECKS + 1)[:, None] * (end - start)
        colliding = model.collides(line, state.margin)
        if colliding[0] or not colliding.any():
            return None
        return model.closest(line[int(np.argmax(colliding))])[1]

    def stop_tracking(self) -> None:
        """Forgets the tracker: the next step begins at rest, at the configuration of then."""
        self._tracker = self.blocked = None

    def look(self, state: State) -> ClearanceReport:
        """What touches and what nearly does, exactly; nothing where neither scene nor self-collision is asked for."""
        if not state.scene.objects and not state.self_collision:
            return ClearanceReport()
        self._place(state.scene)
        model = self._exact(state, state.self_collision)
        contacts = tuple(model.contacts(state.q))
        # Of near-misses, those with the world are of interest: fingers of one hand are always near each other.
        around = self._exact(state, False) if state.scene.objects else model
        distance, pair, points = around.closest(state.q)
        return ClearanceReport(contacts, float(distance), pair, points)

    def _exact(self, state: State, self_collision: bool) -> CollisionModel:
        if state.robot is not self._modelled:
            self._models, self._modelled = {}, state.robot
        if self_collision not in self._models:
            self._models[self_collision] = CollisionModel(state.robot, self.scene, self_collision=self_collision)
        return self._models[self_collision]

    def _place(self, content: SceneSnapshot) -> None:
        """Brings the scene that problems look at to this content; where only poses differ, nothing is compiled."""
        if content is not self._placed:
            self._placed = content
            self.scene.restore(content)


def explained(solution: Solution | None) -> str:
    """What `explain()` says, or why it cannot."""
    if solution is None:
        return "No goal is enabled."
    try:
        return solution.explain()
    except MemetikError as error:
        return str(error)


def targets_of(state: State, problem: Problem) -> tuple[Any, ...]:
    """The targets of a state in the order in which a problem takes them."""
    by_name = {entry.name: entry.target for entry in state.goals}
    targets = (by_name[problem.goal_names[open_target.goal]] for open_target in problem.open_targets)
    return tuple(np.ascontiguousarray(target, dtype=float) for target in targets)


def _structure(state: State) -> tuple[Hashable, ...]:
    """What a compiled problem depends on, but for collisions. Whoever keeps it keeps the goals, whose ids it holds."""
    return state.robot, tuple((entry.name, id(entry.goal)) for entry in state.enabled), state.held
