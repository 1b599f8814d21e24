"""Proofs that no posture meets a must: what it asks for lies outside the bounds of its chain, or of its joints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from memetik.goals.base import Kind
from memetik.solve.chain import (
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
from memetik.solve.statement import StatedTerm, Statement

OUT_OF_REACH = "out of reach"
LIMITS_EXCLUDE = "limits exclude it"

ROUNDING = 1e-7
"""Metres or radians by which a bound must be missed: square roots and arc cosines of rounded numbers are no better."""


MOST_TURNING = 16
"""Chains of more joints can turn their links in any direction, as far as angles between axes tell."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Why no posture does it."""

    reason: str
    goal: int
    sentence: str


RangeFrom = Callable[[np.ndarray], tuple[float, float]]
"""Least and most distance (or angle) that a thing may have from a given place (or direction) in the reference."""


@dataclass(slots=True)
class _Demands:
    """What the musts on one frame say of where its points are and where its directions point, in the reference."""

    terms: list[StatedTerm] = field(default_factory=list)
    origin: list[tuple[StatedTerm, RangeFrom]] = field(default_factory=list)
    """Of the frame's origin."""
    directions: list[tuple[StatedTerm, np.ndarray, RangeFrom]] = field(default_factory=list)
    """Of a direction in the frame."""
    boxes: list[tuple[StatedTerm, np.ndarray, float]] = field(default_factory=list)
    """Balls that hold the origin: centre and radius."""
    turns: list[tuple[StatedTerm, np.ndarray, float]] = field(default_factory=list)
    """Rotations (3, 3) that the frame has but for an angle."""


def proof_of(statement: Statement) -> Proof | None:
    """A proof that some must cannot be met, or None: then nothing is known."""
    # Squares of huge numbers become infinite, which still compares right; what is not a number proves nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        return _proof(statement)


def _proof(statement: Statement) -> Proof | None:
    for term in statement.terms:
        if term.kind == Kind.JOINTS and term.missed and (proof := _joints_proof(statement, term)):
            return proof
    for (frame, reference), demands in _by_frame(statement).items():
        chain = chain_between(statement, frame, reference)
        if not chain.joints:
            return _immovable(demands)
        names = _joint_names(statement, frame, reference)
        for reason, tried in ((OUT_OF_REACH, chain.with_free_turns()), (LIMITS_EXCLUDE, chain)):
            for proof in (_distance_proof(tried, demands, reason, names), _angle_proof(tried, demands, reason, names)):
                if proof is not None:
                    return proof
    return None


def _joints_proof(statement: Statement, term: StatedTerm) -> Proof | None:
    """Joint values that a must asks for and limits exclude; joints that cannot move have the value they have."""
    square, sentences = 0.0, []
    for entry, (scale, centre, lower, upper) in zip(term.entries, term.data.reshape(-1, 4), strict=True):
        movable = entry in statement.variables
        limits = (statement.lower[entry], statement.upper[entry]) if movable else (statement.q[entry],) * 2
        ends = sorted(scale * (limit - centre) for limit in limits) if scale != 0.0 else [0.0, 0.0]
        gap = max(0.0, ends[0] - upper, lower - ends[1])
        square += gap * gap
        if gap > 0.0:
            name = statement.robot.joint_names[entry]
            state = f"is limited to {limits[0]:.6g} ... {limits[1]:.6g}" if movable else f"is held at {limits[0]:.6g}"
            sentences.append(f"joint {name!r} {state}, {gap / abs(scale):.3g} away from what is asked of it")
    if math.sqrt(square) <= term.tolerance + ROUNDING:
        return None
    return Proof(LIMITS_EXCLUDE, term.goal, "; ".join(sentences))


def _immovable(demands: _Demands) -> Proof:
    term = next(term for term in demands.terms if term.missed)
    return Proof(OUT_OF_REACH, term.goal, "no joint that may move moves its link against its reference")


def _by_frame(statement: Statement) -> dict[tuple[int, int], _Demands]:
    """Demands by frame and reference, for frames of which at least one is missed."""
    found: dict[tuple[int, int], _Demands] = {}
    for term in statement.terms:
        reader = _READERS.get(term.kind)
        if reader is not None:
            demands = found.setdefault((term.frame, term.reference), _Demands())
            demands.terms.append(term)
            reader(term, demands)
    return {key: demands for key, demands in found.items() if any(term.missed for term in demands.terms)}


def _distance_proof(chain: Chain, demands: _Demands, reason: str, names: tuple[str, str]) -> Proof | None:
    if not (demands.origin or demands.boxes):
        return None
    nodes = point_nodes(chain)
    bounds = distance_bounds(chain, nodes)
    wanted = [(len(nodes) - 1, term, ranges) for term, ranges in demands.origin]
    wanted += _carried_points(chain, nodes, demands)
    return _contradiction(nodes, bounds, wanted, reason, names, "m")


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


def _carried_points(chain: Chain, nodes: list[Node], demands: _Demands) -> Iterator[tuple[int, StatedTerm, RangeFrom]]:
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
    wanted: list[tuple[int, StatedTerm, RangeFrom]],
    reason: str,
    names: tuple[str, str],
    unit: str,
) -> Proof | None:
    for start, node in enumerate(nodes):
        if 0 not in node:
            continue
        for end, term, ranges in wanted:
            least, most = ranges(node[0])
            low, high = bounds.lower[start, end], bounds.upper[start, end]
            if least > high + ROUNDING:
                needed, possible = f"at least {_number(least, unit)}", f"at most {_number(high, unit)}"
            elif most < low - ROUNDING:
                needed, possible = f"at most {_number(most, unit)}", f"at least {_number(low, unit)}"
            else:
                continue
            return Proof(reason, term.goal, _sentence(unit, names, needed, possible))
    return None


def _sentence(unit: str, names: tuple[str, str], needed: str, possible: str) -> str:
    first, last = names
    if unit == "m":
        return (
            f"what moves with joint {last!r} would have to be {needed} from the axis of joint {first!r}, and every "
            f"posture keeps it {possible} away"
        )
    return (
        f"what turns with joint {last!r} would have to make an angle of {needed} with the axis of joint {first!r}, and "
        f"every posture keeps it {possible}"
    )


def _number(value: float, unit: str) -> str:
    return f"{value:.3f} m" if unit == "m" else f"{math.degrees(value):.1f} degrees"


def _joint_names(statement: Statement, frame: int, reference: int) -> tuple[str, str]:
    """The first and the last joint between reference and frame that may move."""
    robot = statement.robot
    moved = robot.tree.moves[statement.points[frame][0]]
    if reference >= 0:
        moved = moved ^ robot.tree.moves[statement.points[reference][0]]
    entries = [entry for entry in statement.variables if moved[entry]]
    return (robot.joint_names[entries[0]], robot.joint_names[entries[-1]]) if entries else ("", "")


def _around(centre: np.ndarray, lower: float, upper: float, metric: Callable[..., float]) -> RangeFrom:
    """Everything at a distance of lower ... upper from a centre."""

    def ranges(place: np.ndarray) -> tuple[float, float]:
        apart = metric(place, centre)
        return max(0.0, apart - upper, lower - apart), apart + upper

    return ranges


def _read_point(term: StatedTerm, demands: _Demands) -> None:
    axes, centre, lower, upper = np.split(term.data, (9, 12, 15))
    axes = axes.reshape(3, 3)

    def ranges(place: np.ndarray) -> tuple[float, float]:
        local = axes.T @ (place - centre)
        nearest = np.clip(local, lower, upper)
        farthest = np.maximum(np.abs(local - lower), np.abs(local - upper))
        least, most = float(np.linalg.norm(local - nearest)), float(np.linalg.norm(farthest))
        return max(0.0, least - term.tolerance), most + term.tolerance

    demands.origin.append((term, ranges))
    if np.isfinite(lower).all() and np.isfinite(upper).all():
        middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        demands.boxes.append((term, centre + axes @ middle, float(np.linalg.norm(half)) + term.tolerance))


def _read_line(term: StatedTerm, demands: _Demands) -> None:
    point, direction = np.split(term.data, 2)

    def ranges(place: np.ndarray) -> tuple[float, float]:
        across = (place - point) - ((place - point) @ direction) * direction
        return max(0.0, float(np.linalg.norm(across)) - term.tolerance), math.inf

    demands.origin.append((term, ranges))


def _read_plane(term: StatedTerm, demands: _Demands) -> None:
    point, normal, lower, upper = term.data[:3], term.data[3:6], float(term.data[6]), float(term.data[7])

    def ranges(place: np.ndarray) -> tuple[float, float]:
        height = float((place - point) @ normal)
        return max(0.0, height - upper - term.tolerance, lower - term.tolerance - height), math.inf

    demands.origin.append((term, ranges))


def _read_distance(term: StatedTerm, demands: _Demands) -> None:
    lower, upper = float(term.data[3]) - term.tolerance, float(term.data[4]) + term.tolerance
    demands.origin.append((term, _around(term.data[:3], max(lower, 0.0), upper, math.dist)))


def _read_repulsion(term: StatedTerm, demands: _Demands) -> None:
    demands.origin.append((term, _around(term.data[:3], float(term.data[3]) - term.tolerance, math.inf, math.dist)))


def _read_pivot(term: StatedTerm, demands: _Demands) -> None:
    farthest = max(abs(float(term.data[3])), abs(float(term.data[4])))
    demands.origin.append((term, _around(term.data[5:8], 0.0, farthest + term.tolerance, math.dist)))


def _read_rotation(term: StatedTerm, demands: _Demands) -> None:
    demands.turns.append((term, term.data[:9].reshape(3, 3), term.tolerance))


def _read_rotation_range(term: StatedTerm, demands: _Demands) -> None:
    widest = np.maximum(np.abs(term.data[9:12]), np.abs(term.data[12:15]))
    demands.turns.append((term, term.data[:9].reshape(3, 3), float(np.linalg.norm(widest)) + term.tolerance))


def _read_swing_range(term: StatedTerm, demands: _Demands) -> None:
    rotation, axis = term.data[:9].reshape(3, 3), term.data[9:12]
    # The swing has no part along the axis: that entry's range does not matter.
    widest = np.where(np.abs(axis) > 0.5, 0.0, np.maximum(np.abs(term.data[12:15]), np.abs(term.data[15:18])))
    upper = float(np.linalg.norm(widest)) + term.tolerance
    demands.directions.append((term, axis, _around(rotation @ axis, 0.0, upper, angle_between)))


def _read_align(term: StatedTerm, demands: _Demands) -> None:
    demands.directions.append((term, term.data[:3], _around(term.data[3:6], 0.0, term.tolerance, angle_between)))


def _read_cone(term: StatedTerm, demands: _Demands) -> None:
    lower, upper = max(0.0, float(term.data[6]) - term.tolerance), float(term.data[7]) + term.tolerance
    demands.directions.append((term, term.data[:3], _around(term.data[3:6], lower, upper, angle_between)))


def _read_side(term: StatedTerm, demands: _Demands) -> None:
    lower = 0.5 * math.pi - term.tolerance
    demands.directions.append((term, term.data[:3], _around(term.data[3:6], lower, math.pi, angle_between)))


_READERS: dict[Kind, Callable[[StatedTerm, _Demands], None]] = {
    Kind.POINT: _read_point,
    Kind.ROTATION: _read_rotation,
    Kind.ROTATION_RANGE: _read_rotation_range,
    Kind.SWING_RANGE: _read_swing_range,
    Kind.ALIGN: _read_align,
    Kind.CONE: _read_cone,
    Kind.SIDE: _read_side,
    Kind.LINE: _read_line,
    Kind.PLANE: _read_plane,
    Kind.DISTANCE: _read_distance,
    Kind.REPULSION: _read_repulsion,
    Kind.PIVOT: _read_pivot,
}
