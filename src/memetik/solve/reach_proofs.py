"""Proofs that no configuration meets a hard goal: what it asks for lies outside the bounds of its chain, or of its
joints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from memetik._core import TermKind
from memetik.solve.chain_bounds import (
    BESIDE,
    Bounds,
    Chain,
    Node,
    angle_between,
    angle_bounds,
    chain_between,
    direction_nodes,
    distance_bounds,
    point_nodes,
)
from memetik.solve.hard_terms import BoundTerm, HardTerms

OUT_OF_REACH = "out of reach"
LIMITS_EXCLUDE = "limits exclude it"

ROUNDING = 1e-7
"""Metres or radians by which a bound must be missed: square roots and arc cosines of rounded numbers are no better."""

MOST_TURNING = 16
"""Chains of more joints can turn their links in any direction, as far as angles between axes tell."""

_SENTENCES = {
    "m": "{what} would have to be {needed} from {place}, and every configuration keeps it {possible} away",
    "rad": "what turns with joint {1!r} would have to make an angle of {needed} with the axis of joint {0!r}, and "
    "every configuration keeps it {possible}",
}


@dataclass(frozen=True, slots=True)
class Proof:
    """Why no configuration does it."""

    reason: str
    goal: int
    sentence: str


RangeFrom = Callable[[np.ndarray], tuple[float, float]]
"""Least and most distance (or angle) that a thing may have from a given place (or direction) in the reference."""


@dataclass(slots=True)
class _Demands:
    """What the hard goals on one frame say of where its points are and where its directions point, in the reference."""

    terms: list[BoundTerm] = field(default_factory=list)
    origin: list[tuple[BoundTerm, RangeFrom]] = field(default_factory=list)
    """Of the frame's origin."""
    directions: list[tuple[BoundTerm, np.ndarray, RangeFrom]] = field(default_factory=list)
    """Of a direction in the frame."""
    boxes: list[tuple[BoundTerm, np.ndarray, float]] = field(default_factory=list)
    """Balls that hold the origin: centre and radius."""
    turns: list[tuple[BoundTerm, np.ndarray, float]] = field(default_factory=list)
    """Rotations (3, 3) that the frame has but for an angle."""

    def read(self, term: BoundTerm) -> None:
        """Adds what a term says, where it says something that bounds could refute."""
        data, slack = term.data, term.spec.tolerance
        match term.spec.kind:
            case TermKind.point:
                self._in_box(term)
            case TermKind.line:
                self.origin.append((term, lambda place: _off_line(place - data[:3], data[3:], slack)))
            case TermKind.plane:
                self.origin.append((term, lambda place: _off_plane(float((place - data[:3]) @ data[3:6]), data, slack)))
            case TermKind.distance:
                self._near(term, data[:3], max(data[3] - slack, 0.0), data[4] + slack)
            case TermKind.repulsion:
                self._near(term, data[:3], data[3] - slack, math.inf)
            case TermKind.pivot:
                self._near(term, data[5:8], 0.0, max(abs(data[3]), abs(data[4])) + slack)
            case TermKind.rotation:
                self.turns.append((term, data[:9].reshape(3, 3), slack))
            case TermKind.rotation_range:
                widest = np.maximum(np.abs(data[9:12]), np.abs(data[12:15]))
                self.turns.append((term, data[:9].reshape(3, 3), float(np.linalg.norm(widest)) + slack))
            case TermKind.swing_range:
                rotation, axis = data[:9].reshape(3, 3), data[9:12]
                # The swing has no part along the axis: that entry's range does not matter.
                widest = np.where(np.abs(axis) > 0.5, 0.0, np.maximum(np.abs(data[12:15]), np.abs(data[15:18])))
                self._pointing(term, axis, rotation @ axis, 0.0, float(np.linalg.norm(widest)) + slack)
            case TermKind.align:
                self._pointing(term, data[:3], data[3:6], 0.0, slack)
            case TermKind.cone:
                self._pointing(term, data[:3], data[3:6], max(0.0, data[6] - slack), data[7] + slack)
            case TermKind.side:
                self._pointing(term, data[:3], data[3:6], 0.5 * math.pi - slack, math.pi)
            case _:
                return
        self.terms.append(term)

    def _near(self, term: BoundTerm, centre: np.ndarray, lower: float, upper: float) -> None:
        self.origin.append((term, _around(centre, float(lower), float(upper), math.dist)))

    def _pointing(self, term: BoundTerm, axis: np.ndarray, to: np.ndarray, lower: float, upper: float) -> None:
        self.directions.append((term, axis, _around(to, float(lower), float(upper), angle_between)))

    def _in_box(self, term: BoundTerm) -> None:
        axes, centre, lower, upper = np.split(term.data, (9, 12, 15))
        axes, slack = axes.reshape(3, 3), term.spec.tolerance

        def ranges(place: np.ndarray) -> tuple[float, float]:
            local = axes.T @ (place - centre)
            farthest = np.maximum(np.abs(local - lower), np.abs(local - upper))
            least = float(np.linalg.norm(local - np.clip(local, lower, upper)))
            return max(0.0, least - slack), float(np.linalg.norm(farthest)) + slack

        self.origin.append((term, ranges))
        if np.isfinite(lower).all() and np.isfinite(upper).all():
            middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
            self.boxes.append((term, centre + axes @ middle, float(np.linalg.norm(half)) + slack))


def proof_of(hard: HardTerms) -> Proof | None:
    """A proof that some hard goal cannot be met, or None: then nothing is known."""
    # Squares of huge numbers become infinite, which still compares right; what is not a number proves nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        return _proof(hard)


def _proof(hard: HardTerms) -> Proof | None:
    for term in hard.terms:
        if term.spec.kind == TermKind.joints and term.missed and (proof := _joints_proof(hard, term)):
            return proof
    for (frame, reference), demands in _by_frame(hard).items():
        chain = chain_between(hard, frame, reference)
        if not chain.joints:
            return _immovable(demands)
        names = _joint_names(hard, frame, reference)
        for reason, tried in ((OUT_OF_REACH, chain.with_free_turns()), (LIMITS_EXCLUDE, chain)):
            for proof in (_distance_proof(tried, demands, reason, names), _angle_proof(tried, demands, reason, names)):
                if proof is not None:
                    return proof
    return None


def _joints_proof(hard: HardTerms, term: BoundTerm) -> Proof | None:
    """Joint values that a hard goal asks for and limits exclude; joints that cannot move have the value they have."""
    square, sentences = 0.0, []
    for entry, (scale, centre, lower, upper) in zip(term.spec.entries, term.data.reshape(-1, 4), strict=True):
        movable = entry in hard.variables
        limits = (hard.lower[entry], hard.upper[entry]) if movable else (hard.q[entry],) * 2
        ends = sorted(scale * (limit - centre) for limit in limits) if scale != 0.0 else [0.0, 0.0]
        gap = max(0.0, ends[0] - upper, lower - ends[1])
        square += gap * gap
        if gap > 0.0:
            name = hard.robot.joint_names[entry]
            state = f"is limited to {limits[0]:.6g} ... {limits[1]:.6g}" if movable else f"is held at {limits[0]:.6g}"
            sentences.append(f"joint {name!r} {state}, {gap / abs(scale):.3g} away from what is asked of it")
    if math.sqrt(square) <= term.spec.tolerance + ROUNDING:
        return None
    return Proof(LIMITS_EXCLUDE, term.spec.goal, "; ".join(sentences))


def _immovable(demands: _Demands) -> Proof:
    term = next(term for term in demands.terms if term.missed)
    return Proof(OUT_OF_REACH, term.spec.goal, "no joint that may move moves its link against its reference")


def _by_frame(hard: HardTerms) -> dict[tuple[int, int], _Demands]:
    """Demands by frame and reference, for frames of which at least one is missed."""
    found: dict[tuple[int, int], _Demands] = {}
    for term in hard.terms:
        found.setdefault((term.spec.frame, term.spec.reference), _Demands()).read(term)
    return {key: demands for key, demands in found.items() if any(term.missed for term in demands.terms)}


def _distance_proof(chain: Chain, demands: _Demands, reason: str, names: tuple[str, str]) -> Proof | None:
    if not (demands.origin or demands.boxes):
        return None
    nodes = point_nodes(chain)
    bounds = distance_bounds(chain, nodes)
    wanted = [(len(nodes) - 1, term, ranges) for term, ranges in demands.origin]
    wanted += _carried_points(chain, nodes, demands)
    return _contradiction(nodes, bounds, wanted, reason, names, "m")


def _in_words(nodes: list[Node], start: int, end: int, names: tuple[str, str]) -> dict[str, str]:
    """What a contradiction between two points of a chain is about."""
    what = "the point that the goal is on" if end == len(nodes) - 1 else f"a point on the axis of joint {names[1]!r}"
    place = "({:.3f}, {:.3f}, {:.3f})".format(*(nodes[start][0] + 0.0))
    side = "beside" if start < len(BESIDE) else "on" if start < len(nodes) - 1 else "off"
    return {"what": what, "place": f"{place} {side} the axis of joint {names[0]!r}"}


def _angle_proof(chain: Chain, demands: _Demands, reason: str, names: tuple[str, str]) -> Proof | None:
    if len(chain.joints) > MOST_TURNING:
        return None
    known = list(demands.directions)
    for term, rotation, slack in demands.turns:
        last_axis = chain.fixed[-1][:3, :3].T @ np.array([0.0, 0.0, 1.0])
        for vector in (last_axis, *np.eye(3)):
            known.append((term, vector, _around(rotation @ vector, 0.0, slack, angle_between)))
    if not known:
        return None
    nodes = direction_nodes(chain, [vector for _, vector, _ in known])
    bounds = angle_bounds(chain, nodes)
    first = len(nodes) - len(known)
    wanted = [(first + k, term, ranges) for k, (term, _, ranges) in enumerate(known)]
    return _contradiction(nodes, bounds, wanted, reason, names, "rad")


def _carried_points(chain: Chain, nodes: list[Node], demands: _Demands) -> Iterator[tuple[int, BoundTerm, RangeFrom]]:
    """Points of the last axis, whose place is known where both the frame's place and its rotation are."""
    link = len(chain.joints)
    turn, origin = chain.fixed[-1][:3, :3], chain.fixed[-1][:3, 3]
    for index, node in enumerate(nodes[:-1]):
        if link not in node:
            continue
        offset = turn.T @ (node[link] - origin)
        length = float(np.linalg.norm(offset))
        for term, centre, radius in demands.boxes:
            for _, rotation, slack in demands.turns:
                reach = radius + 2.0 * math.sin(0.5 * min(slack, math.pi)) * length
                yield index, term, _around(centre + rotation @ offset, 0.0, reach, math.dist)


def _contradiction(
    nodes: list[Node],
    bounds: Bounds,
    wanted: list[tuple[int, BoundTerm, RangeFrom]],
    reason: str,
    names: tuple[str, str],
    unit: str,
) -> Proof | None:
    # What the goal itself is on says more than points that only its rotation places, and points of the first axis more
    # than those beside it.
    starts = sorted((k for k, node in enumerate(nodes) if 0 in node), key=lambda k: k < len(BESIDE))
    for end, term, ranges in sorted(wanted, key=lambda one: one[0] < len(nodes) - 1):
        for start in starts:
            least, most = ranges(nodes[start][0])
            low, high = bounds.lower[start, end], bounds.upper[start, end]
            if least > high + ROUNDING:
                needed, possible = f"at least {_number(least, unit)}", f"at most {_number(high, unit)}"
            elif most < low - ROUNDING:
                needed, possible = f"at most {_number(most, unit)}", f"at least {_number(low, unit)}"
            else:
                continue
            words = _in_words(nodes, start, end, names) if unit == "m" else {}
            sentence = _SENTENCES[unit].format(*names, needed=needed, possible=possible, **words)
            return Proof(reason, term.spec.goal, sentence)
    return None


def _number(value: float, unit: str) -> str:
    return f"{value:.3f} m" if unit == "m" else f"{math.degrees(value):.1f} degrees"


def _joint_names(hard: HardTerms, frame: int, reference: int) -> tuple[str, str]:
    """The first and the last joint between reference and frame that may move."""
    robot = hard.robot
    moved = robot.tree.moves[hard.frames[frame].link]
    if reference >= 0:
        moved = moved ^ robot.tree.moves[hard.frames[reference].link]
    entries = [entry for entry in hard.variables if moved[entry]]
    return (robot.joint_names[entries[0]], robot.joint_names[entries[-1]]) if entries else ("", "")


def _around(centre: np.ndarray, lower: float, upper: float, metric: Callable[..., float]) -> RangeFrom:
    """Everything at a distance of lower ... upper from a centre."""

    def ranges(place: np.ndarray) -> tuple[float, float]:
        apart = metric(place, centre)
        return max(0.0, apart - upper, lower - apart), apart + upper

    return ranges


def _off_line(way: np.ndarray, direction: np.ndarray, slack: float) -> tuple[float, float]:
    return max(0.0, float(np.linalg.norm(way - (way @ direction) * direction)) - slack), math.inf


def _off_plane(height: float, data: np.ndarray, slack: float) -> tuple[float, float]:
    return max(0.0, height - float(data[7]) - slack, float(data[6]) - slack - height), math.inf
