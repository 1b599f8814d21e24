"""Human motion on a robot: joints of a person, recorded or streamed, lead the links of a humanoid.

    walk = mk.load_bvh("walk.bvh")
    moved = mk.retarget(walk, mk.load_robot("valkyrie"))
    moved.trajectory.save("walk.csv")

Each joint p of the table leads a link. With the person's root h (hips), the first joint b of p's limb, the factors s of
the limbs' lengths and the alignment A of the two bodies' headings, a link's target is

    x(t) = r(t) + o + A (b(t) - h(t) - rest) + s A (p(t) - b(t)),      r(t) = r(0) + s A (h(t) - h(0))

where o is the first link of the robot's limb at rest and r(0) puts the lowest foot where the robot's is. A tracker
follows the targets within the limits of velocity and acceleration, so that nothing jumps; targets that the robot cannot
reach are followed as well as it can.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.geometry.transforms import inverse
from memetik.goals import MinimalDisplacement, Orientation, Position
from memetik.goals.base import Goal
from memetik.motion.timing.trajectory import Trajectory
from memetik.robot.readers.bvh import Animation
from memetik.robot.robot import Robot
from memetik.solve.problem import Problem
from memetik.solve.tracker import Tracker

Array = NDArray[np.float64]

PARTS: dict[str, tuple[str, ...]] = {
    "root": ("hips", "pelvis", "root"),
    "head": ("head", "upperneck", "eyes"),
    "hand": ("hand", "palm", "wrist", "gripper"),
    "foot": ("foot", "ankle", "sole"),
    "elbow": ("elbow", "forearm", "lowerarm"),
    "knee": ("knee", "shin", "calf", "shank", "lowerleg"),
}
"""Words of parts of bodies that names of joints and links have, the preferred ones first."""

_LEADING = {"root", "hand", "foot"}
"""Parts that are to be where the person's are; the others come near as far as these allow."""

_BENDS, _TURNS = 1.0, 0.1
"""Weights of elbows, knees and head, and of turns of head and feet, in the freedom that the leading parts leave."""

_STRETCH = 0.98
"""Limbs are led to this share of their length at most, so that they never lock."""

_SAMPLES = 4000
"""Configurations that tell how far a limb reaches."""

_REST = 0.01
"""Weight of staying near the start, where nothing else says what to do."""


@dataclass(frozen=True)
class Retargeted:
    """A motion of a robot after that of a person.

    table       {joint of the person: link of the robot}
    trajectory  the robot's motion
    errors      {joint: (N,) metres} between the link and its target
    """

    robot: Robot
    table: dict[str, str]
    trajectory: Trajectory
    errors: dict[str, Array]


def propose_correspondences(
    motion: Animation | Mapping[str, ArrayLike] | Iterable[str], robot: Robot
) -> dict[str, str]:
    """{joint of the person: link of the robot} by the words and sides in their names: to be looked at and edited."""
    names = [node.name for node in motion.skeleton.walk()] if isinstance(motion, Animation) else list(motion)
    sources, links = _parts(names), _parts(robot.links)
    return {source: links[part] for part, source in sources.items() if part in links}


def retarget(
    motion: Animation | Mapping[str, ArrayLike],
    robot: Robot,
    *,
    table: Mapping[str, str] | None = None,
    rate: float | None = None,
    up: str | None = None,
    start: ArrayLike | None = None,
    acceleration_scale: float = np.inf,
) -> Retargeted:
    """Move a robot as a person moves.

    motion  what `load_bvh` gives, or positions of joints over time, {joint: (N, 3)} in metres.
    table   {joint: link}; by default `propose_correspondences(motion, robot)`. The joint of the part "root" (hips)
            leads the link that carries the legs; without it the robot's base stays where it is.
    rate    frames per second of a stream; an animation has its own.
    up      the axis of the motion's world that points up: "y" by default for an animation, "z" for a stream.
    start   the robot's configuration at rest, (dof,); by default as its named states say (stand, straight, ...).
    acceleration_scale   times the robot's limits, as for a Tracker. Few descriptions state them, and people are
            quicker than what is assumed then: by default there is none. Velocities always stay within their limits.
    """
    chosen = dict(propose_correspondences(motion, robot) if table is None else table)
    person = _Person.of(motion, chosen, rate, up)
    rest = _rest(robot) if start is None else robot.check_q(start)
    targets = _targets(person, robot, chosen, rest)
    turned = _turned(person, robot, chosen, rest)
    problem = Problem(robot, _goals(chosen, turned, robot))
    given = [
        {**{k: x[i] for k, x in targets.items()}, **{k: x[i] for k, x in turned.items()}} for i in range(person.count)
    ]
    first = problem.solve(given[0], seed=rest, approximate=True, timeout=0.5)
    tracker = Tracker(
        problem, seed=first.q, dt=1.0 / person.rate, reference=rest, acceleration_scale=acceleration_scale
    )
    rows = [first.q, *(tracker.step(frame).q for frame in given[1:])]
    path = np.array(rows)
    errors = {
        source: np.linalg.norm(robot.pose(link, path)[:, :3, 3] - targets[source], axis=1)
        for source, link in chosen.items()
    }
    times = np.arange(len(path)) / person.rate
    return Retargeted(robot, chosen, Trajectory.from_points(robot.joint_names, times, path), errors)


@dataclass(frozen=True)
class _Person:
    """A motion in a world with z up.

    positions   {joint: (N, 3)}
    rotations   {joint: (N, 3, 3)} since rest, where they are known
    roots       {joint: (N, 3)} where its limb begins, from the root of the body and less the same at rest
    lengths     {joint: metres} along the bones from there
    """

    positions: dict[str, Array]
    rotations: dict[str, Array]
    begins: dict[str, Array]
    shifts: dict[str, Array]
    lengths: dict[str, float]
    rate: float

    @property
    def count(self) -> int:
        return len(next(iter(self.positions.values())))

    @classmethod
    def of(
        cls, motion: Animation | Mapping[str, ArrayLike], table: Mapping[str, str], rate: float | None, up: str | None
    ) -> _Person:
        known = [n.name for n in motion.skeleton.walk()] if isinstance(motion, Animation) else list(motion)
        for source in table:
            if source not in known:
                raise UnknownNameError("joint", source, "the motion", known)
        if not table:
            raise InvalidInputError("no joint of the motion has a link of the robot; give table={joint: link}.")
        turn = _upright(up or ("y" if isinstance(motion, Animation) else "z"))
        if isinstance(motion, Animation):
            return cls._animated(motion, table, turn, rate)
        if rate is None:
            raise InvalidInputError("a stream of joints needs rate=, its frames per second.")
        positions = {name: np.asarray(motion[name], dtype=float) @ turn.T for name in table}
        if len({p.shape for p in positions.values()}) > 1 or next(iter(positions.values())).shape[-1:] != (3,):
            raise InvalidInputError("positions of joints must have one shape, (N, 3).")
        root = _root(table)
        hips = np.mean(list(positions.values()), axis=0) if root is None else positions[root]
        lengths = {name: float(np.linalg.norm(p - hips, axis=1).max()) for name, p in positions.items()}
        return cls(positions, {}, dict.fromkeys(table, hips), dict.fromkeys(table, np.zeros_like(hips)), lengths, rate)

    @classmethod
    def _animated(cls, motion: Animation, table: Mapping[str, str], turn: Array, rate: float | None) -> _Person:
        body, rest = motion.robot, np.zeros(motion.robot.dof)
        parents = {child.name: node for node in motion.skeleton.walk() for child in node.children}

        def places(name: str) -> Array:
            return body.pose(name, motion.postures)[:, :3, 3] @ turn.T

        def resting(name: str) -> Array:
            return turn @ body.pose(name, rest)[:3, 3]

        root = motion.skeleton.name
        begins: dict[str, Array] = {}
        shifts: dict[str, Array] = {}
        lengths: dict[str, float] = {}
        for name in table:
            begin, length = name, 0.0
            while begin in parents and len(parents[begin].children) == 1:
                above = parents[begin].name
                length += float(np.linalg.norm(resting(begin) - resting(above)))
                begin = above
            begins[name], lengths[name] = places(begin), length
            shifts[name] = places(begin) - places(root) - (resting(begin) - resting(root))
        turned = {name: body.pose(name, motion.postures)[:, :3, :3] for name in table}
        rotations = {n: turn @ R @ body.pose(n, rest)[:3, :3].T @ turn.T for n, R in turned.items()}
        return cls({n: places(n) for n in table}, rotations, begins, shifts, lengths, rate or 1.0 / motion.frame_time)


def _targets(person: _Person, robot: Robot, table: Mapping[str, str], rest: Array) -> dict[str, Array]:
    """Of each joint in the table, the targets (N, 3) of its link."""
    root, places = _root(table), {source: robot.pose(link, rest)[:3, 3] for source, link in table.items()}
    base = places[root] if root else np.mean(list(places.values()), axis=0)
    hips = person.positions[root] if root else np.mean(list(person.positions.values()), axis=0)
    align = _heading(person, places)
    limbs = {source: (base, float(np.linalg.norm(x - base))) for source, x in places.items()}
    if person.rotations:  # a person with bones; one without a bone there is led at the link itself
        limbs = {
            s: _limb(robot, link, rest) if person.lengths[s] > 1e-6 else (places[s], 0.0) for s, link in table.items()
        }
    scales = {s: _STRETCH * limbs[s][1] / x if x > 1e-6 else 1.0 for s, x in person.lengths.items()}
    feet = [source for source in table if _kind(source) == "foot"]
    stride = float(np.mean([scales[f] for f in feet])) if feet else 1.0
    moved = base + stride * (hips - hips[0]) @ align.T if root else np.broadcast_to(base, hips.shape)
    targets = {
        s: moved
        + (limbs[s][0] - base)
        + (person.shifts[s] + scales[s] * (p - person.begins[s])) @ align.T
        for s, p in person.positions.items()
        if s != root
    }  # fmt: skip
    if root:
        targets[root] = moved
    if feet and root:  # the robot stands where it stood
        height = min(places[f][2] for f in feet) - min(targets[f][:, 2].min() for f in feet)
        targets = {s: x + np.array([0.0, 0.0, height]) for s, x in targets.items()}
    return {s: np.ascontiguousarray(targets[s]) for s in table}


def _turned(person: _Person, robot: Robot, table: Mapping[str, str], rest: Array) -> dict[str, Array]:
    """Orientations (N, 3, 3) of head and feet, by goal name."""
    align = _heading(person, {source: robot.pose(link, rest)[:3, 3] for source, link in table.items()})
    return {
        f"turn {source}": np.ascontiguousarray(
            align @ person.rotations[source] @ align.T @ robot.pose(link, rest)[:3, :3]
        )
        for source, link in table.items()
        if source in person.rotations and _part(source, PARTS["head"] + PARTS["foot"])
    }


def _goals(table: Mapping[str, str], turned: Iterable[str], robot: Robot) -> list[Goal]:
    goals: list[Goal] = []
    for source, link in table.items():
        leads = _kind(source) in {"", *_LEADING}
        priority, weight = (0, 1.0) if leads else (1, _BENDS)
        goals.append(Position(link, name=source, tolerance=1e-3, priority=priority, weight=weight))
    goals += [Orientation(table[n.removeprefix("turn ")], name=n, priority=1, weight=_TURNS) for n in turned]
    return [*goals, MinimalDisplacement(weight=_REST)]


def _rest(robot: Robot) -> Array:
    """Standing with hanging arms, as far as the robot's named states tell; other joints at zero."""
    q = np.clip(np.zeros(robot.dof), robot.lower, robot.upper)
    states = {state.name for state in robot.description.semantics.states}
    for name in ("open", "ahead", "upright", "straight", "down", "standing", "stand"):
        q = robot.state(name, default=q) if name in states else q
    return q


def _limb(robot: Robot, link: str, q: Array) -> tuple[Array, float]:
    """Where a link's limb begins, and how far from there the link can be: limits and offsets count.

    A limb begins behind the last link that carries several, at the outermost link there whose origin stays where it is
    whatever its joints do: shoulders and hips are made of several joints."""
    parents = {joint.child: joint.parent for joint in robot.description.joints}
    carried = [joint.parent for joint in robot.description.joints]
    chain = [link]
    while chain[-1] in parents and carried.count(parents[chain[-1]]) == 1:
        chain.append(parents[chain[-1]])
    low, high = np.maximum(robot.lower, q - np.pi), np.minimum(robot.upper, q + np.pi)
    many = np.vstack([q, np.random.default_rng(0).uniform(low, high, (_SAMPLES, robot.dof))])
    carrier = inverse(robot.pose(parents.get(chain[-1], chain[-1]), many))
    places = [(carrier @ robot.pose(name, many))[:, :3, 3] for name in chain]
    begin = next((k for k, x in enumerate(places) if np.ptp(x, axis=0).max() < 1e-6), len(chain) - 1)
    return robot.pose(chain[begin], q)[:3, 3], float(np.linalg.norm(places[0] - places[begin], axis=1).max())


def _heading(person: _Person, places: Mapping[str, Array]) -> Array:
    """The rotation about z that takes the person's direction from right to left to the robot's."""
    pairs = [(left, right) for left in places for right in places
             if _side(left) == "left" and _side(right) == "right" and _kind(left) == _kind(right)]  # fmt: skip
    if not pairs:
        return np.eye(3)
    theirs = np.sum([person.positions[left][0] - person.positions[right][0] for left, right in pairs], axis=0)
    ours = np.sum([places[left] - places[right] for left, right in pairs], axis=0)
    angle = np.arctan2(ours[1], ours[0]) - np.arctan2(theirs[1], theirs[0])
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _upright(up: str) -> Array:
    """The rotation that takes the axis `up` to z."""
    turns = {"x": [[0, 1, 0], [0, 0, 1], [1, 0, 0]], "y": [[0, 0, 1], [1, 0, 0], [0, 1, 0]], "z": np.eye(3)}
    if up not in turns:
        raise InvalidInputError(f"up= is the axis that points up, 'x', 'y' or 'z', not {up!r}.")
    return np.array(turns[up], dtype=float)


def _root(table: Iterable[str]) -> str | None:
    return next((source for source in table if _part(source, PARTS["root"])), None)


def _tokens(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)]


def _part(name: str, words: Iterable[str]) -> str | None:
    """The first of the words that the name has."""
    joined = "".join(_tokens(name))
    return next((word for word in words if word in joined), None)


def _side(name: str) -> str:
    tokens = _tokens(name)
    return "left" if {"left", "l"} & set(tokens) else "right" if {"right", "r"} & set(tokens) else ""


def _kind(name: str) -> str:
    return next((part for part, words in PARTS.items() if _part(name, words)), "")


def _parts(names: Iterable[str]) -> dict[tuple[str, str], str]:
    """{(part, side): the name that says it best}: the preferred word, then the shortest name."""
    names = list(names)
    found: dict[tuple[str, str], str] = {}
    for part, words in PARTS.items():
        for side in ("",) if part in ("root", "head") else ("left", "right"):
            own = [(words.index(word), len(name), name) for name in names
                   if _side(name) == side and (word := _part(name, words)) and _kind(name) == part]  # fmt: skip
            if own:
                found[part, side] = min(own)[2]
    return found
