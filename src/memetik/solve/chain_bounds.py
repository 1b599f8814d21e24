"""The joints between two frames of a robot, and bounds on how far apart and how differently turned they can be.

The way from a reference frame to another one is a product of fixed poses and joints,

    T = F_0 J_1(v_1) F_1 J_2(v_2) ... J_n(v_n) F_n,    J = Rz(v) or Tz(v), v in [low, high].

Points on the axis of a turning joint belong to both links that it connects. The distance of two points of one link is
fixed; that of two points of neighbouring links is a function of one joint value, whose range over the joint's interval
is known in closed form. Triangle inequalities carry these ranges over to all other pairs: distances that no
configuration can leave. The same is true for directions, with angles as distances. These are proofs, not estimates;
they are not always tight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from memetik.geometry.transforms import inverse, pose, rotation_about
from memetik.solve.hard_terms import HardTerms

Node = dict[int, np.ndarray]
"""A point or direction: its coordinates (3,) in each link that it belongs to. Link 0 is the reference, link k comes
after joint k."""

BESIDE = tuple(sign * axis for axis in np.eye(3)[:2] for sign in (1.0, -1.0))

MOST_COMPARED = 48
"""Up to so many nodes all pairs are bounded from both sides; more of them only from above, by adding up."""


@dataclass(frozen=True, slots=True)
class ChainJoint:
    """A joint of a chain and the interval of its value, radians or metres."""

    prismatic: bool
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Chain:
    """The joints between a reference and a frame. `fixed[k]` is the pose (4, 4) from joint k to joint k + 1."""

    joints: tuple[ChainJoint, ...]
    fixed: tuple[np.ndarray, ...]

    def with_free_turns(self) -> Chain:
        """The chain without the limits of its turning joints."""
        joints = (j if j.prismatic else ChainJoint(False, -math.inf, math.inf) for j in self.joints)
        return Chain(tuple(joints), self.fixed)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Ranges of the distances (or angles) between nodes that no configuration of the chain leaves: (nodes, nodes)
    each."""

    lower: np.ndarray
    upper: np.ndarray


def chain_between(hard: HardTerms, frame: int, reference: int) -> Chain:
    """The chain from a reference frame (-1: the world) to another frame."""
    tree = hard.robot.tree
    down, up = _axes_above(hard, frame), [] if reference < 0 else _axes_above(hard, reference)
    common = 0
    while common < min(len(down), len(up)) and down[common] == up[common]:
        common += 1
    builder = _Builder(hard)
    if reference >= 0:
        builder.fix(inverse(_placement_on_axis(hard, reference)))
        for axis in reversed(up[common:]):
            builder.join(axis, -1.0)
            builder.fix(inverse(_placed(tree.placements[axis])))
    elif hard.base_transform is not None:
        builder.fix(hard.base_transform)
    for axis in down[common:]:
        builder.fix(_placed(tree.placements[axis]))
        builder.join(axis, 1.0)
    builder.fix(_placement_on_axis(hard, frame))
    return Chain(tuple(builder.joints), tuple(builder.poses))


def point_nodes(chain: Chain) -> list[Node]:
    """Points of the chain: beside its first axis, on its axes where they come nearest to each other, and at last the
    frame's origin."""
    heights = _node_heights(chain)
    first = chain.fixed[0]
    nodes: list[Node] = [{0: first[:3, :3] @ beside + first[:3, 3]} for beside in BESIDE]
    for k, joint in enumerate(chain.joints, start=1):
        for height in heights[k - 1]:
            here = np.array([0.0, 0.0, height])
            before = chain.fixed[k - 1][:3, :3] @ here + chain.fixed[k - 1][:3, 3]
            nodes += [{k - 1: before}, {k: here}] if joint.prismatic else [{k - 1: before, k: here}]
    nodes.append({len(chain.joints): chain.fixed[-1][:3, 3]})
    return nodes


def direction_nodes(chain: Chain, vectors: Sequence[np.ndarray]) -> list[Node]:
    """Directions of the chain: across its first axis, those of its axes, both ways, and at last some `vectors` of the
    frame."""
    nodes: list[Node] = [{0: chain.fixed[0][:3, :3] @ beside} for beside in BESIDE]
    for k in range(1, len(chain.joints) + 1):
        for z in (np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, -1.0])):
            nodes.append({k - 1: chain.fixed[k - 1][:3, :3] @ z, k: z})
    return nodes + [{len(chain.joints): chain.fixed[-1][:3, :3] @ vector} for vector in vectors]


def distance_bounds(chain: Chain, nodes: Sequence[Node]) -> Bounds:
    """How far points of the chain can be from each other, metres."""

    def across(joint: ChainJoint, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
        if joint.prismatic:
            sideways, along = (a - b)[:2] @ (a - b)[:2], a[2] - b[2]
            ends = sorted((abs(along - joint.low), abs(along - joint.high)))
            nearest = 0.0 if joint.low <= along <= joint.high else ends[0]
            return math.sqrt(sideways + nearest**2), math.sqrt(sideways + ends[1] ** 2)
        square, product = a @ a + b @ b - 2.0 * a[2] * b[2], 2.0 * math.hypot(a[0], a[1]) * math.hypot(b[0], b[1])
        low, high = _cosine_range(joint, a, b)
        return math.sqrt(max(square - product * high, 0.0)), math.sqrt(max(square - product * low, 0.0))

    return _bounds(chain, nodes, lambda a, b: math.dist(a, b), across, turned=False)


def angle_bounds(chain: Chain, nodes: Sequence[Node]) -> Bounds:
    """How far directions of the chain can be turned from each other, radians."""

    def across(joint: ChainJoint, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
        if joint.prismatic:
            return angle_between(a, b), angle_between(a, b)
        along, product = a[2] * b[2], math.hypot(a[0], a[1]) * math.hypot(b[0], b[1])
        low, high = _cosine_range(joint, a, b)
        return _arccos(along + product * high), _arccos(along + product * low)

    return _bounds(chain, nodes, angle_between, across, turned=True)


def angle_between(a: np.ndarray, b: np.ndarray) -> float:
    """The angle between unit vectors, radians."""
    return 2.0 * math.atan2(math.dist(a, b), math.dist(a, -b))


def _bounds(
    chain: Chain,
    nodes: Sequence[Node],
    within: Callable[[np.ndarray, np.ndarray], float],
    across: Callable[[ChainJoint, np.ndarray, np.ndarray], tuple[float, float]],
    *,
    turned: bool,
) -> Bounds:
    """Ranges of neighbours, carried over to all pairs. `turned`: nodes are directions, whose places do not matter."""
    lower, upper = np.zeros((len(nodes),) * 2), np.full((len(nodes),) * 2, math.inf)
    np.fill_diagonal(upper, 0.0)
    edges = []
    for i, j, link in _neighbours(chain, nodes):
        if link in nodes[i]:
            least = most = within(nodes[i][link], nodes[j][link])
        else:
            back = chain.fixed[link - 1][:3, :3].T
            before = nodes[i][link - 1] if turned else nodes[i][link - 1] - chain.fixed[link - 1][:3, 3]
            least, most = across(chain.joints[link - 1], back @ before, nodes[j][link])
        edges.append((i, j))
        lower[i, j] = lower[j, i] = max(least, lower[i, j])
        upper[i, j] = upper[j, i] = min(most, upper[i, j])
    if len(nodes) > MOST_COMPARED:
        _add_up(upper, edges)
        return Bounds(np.zeros_like(lower), upper)
    for k in range(len(nodes)):
        upper = np.minimum(upper, upper[:, k, None] + upper[k])
    for k in range(len(nodes)):
        lower = np.maximum(lower, np.maximum(lower[:, k, None] - upper[k], lower[k] - upper[:, k, None]))
    return Bounds(lower, upper)


def _add_up(upper: np.ndarray, edges: Sequence[tuple[int, int]]) -> None:
    """Shortest ways from the nodes of the reference to all others; edges come in the order of the links."""
    for start in range(len(BESIDE) + 2):
        row = upper[start]
        for i, j in edges:
            length = upper[i, j]
            row[j] = min(row[j], row[i] + length)
            row[i] = min(row[i], row[j] + length)


def _neighbours(chain: Chain, nodes: Sequence[Node]) -> Iterator[tuple[int, int, int]]:
    """Pairs of nodes of one link, and of two links with one joint between them: (i, j, link of j)."""
    on = [[i for i, node in enumerate(nodes) if link in node] for link in range(len(chain.joints) + 1)]
    for link, members in enumerate(on):
        if link > 0:
            for i in on[link - 1]:
                yield from ((i, j, link) for j in members if link not in nodes[i] and link - 1 not in nodes[j])
        for place, i in enumerate(members):
            yield from ((i, j, link) for j in members[place + 1 :])


def _node_heights(chain: Chain) -> list[list[float]]:
    """Per joint: heights on its axis of the points nearest to the axes before and after it, and to the frame."""
    heights: list[list[float]] = [[] for _ in chain.joints]
    for k in range(len(chain.joints) - 1):
        if chain.joints[k].prismatic or chain.joints[k + 1].prismatic:
            continue
        between = chain.fixed[k + 1]
        offset, direction = between[:3, 3], between[:3, 2]
        square = 1.0 - direction[2] ** 2
        if square < 1e-9:
            here = heights[k][-1] if heights[k] else 0.0
        else:
            here = (offset[2] - (offset @ direction) * direction[2]) / square
        heights[k].append(here)
        heights[k + 1].append(float((np.array([0.0, 0.0, here]) - offset) @ direction))
    if chain.joints and not chain.joints[-1].prismatic:
        heights[-1].append(float(chain.fixed[-1][2, 3]))
    return [_distinct(some or [0.0]) for some in heights]


def _distinct(values: Sequence[float]) -> list[float]:
    kept: list[float] = []
    for value in values:
        if all(abs(value - other) > 1e-6 for other in kept):
            kept.append(value)
    return kept


def _cosine_range(joint: ChainJoint, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Range of the cosine of the angle about z between a and b, when the joint turns b."""
    apart = math.atan2(b[1], b[0]) - math.atan2(a[1], a[0])
    low, high = joint.low + apart, joint.high + apart
    if not high - low < 2.0 * math.pi:
        return -1.0, 1.0
    ends = (math.cos(low), math.cos(high))
    # A crest lies at every even multiple of pi, a trough at every odd one.
    crest = math.floor(high / (2.0 * math.pi)) * 2.0 * math.pi >= low
    trough = (math.floor((high - math.pi) / (2.0 * math.pi)) * 2.0 + 1.0) * math.pi >= low
    return -1.0 if trough else min(ends), 1.0 if crest else max(ends)


def _arccos(cosine: float) -> float:
    return math.acos(min(max(cosine, -1.0), 1.0))


class _Builder:
    """Puts a chain together from fixed poses and axes of the tree; joints that cannot move become fixed."""

    def __init__(self, hard: HardTerms):
        self.hard = hard
        self.variables = set(hard.variables)
        self.joints: list[ChainJoint] = []
        self.poses = [np.eye(4)]

    def fix(self, placement: np.ndarray) -> None:
        self.poses[-1] = self.poses[-1] @ placement

    def join(self, axis: int, sign: float) -> None:
        tree, hard = self.hard.robot.tree, self.hard
        entry, prismatic = int(tree.variables[axis]), bool(tree.prismatic[axis])
        multiplier, offset = sign * float(tree.multipliers[axis]), sign * float(tree.offsets[axis])
        if entry not in self.variables or multiplier == 0.0:
            value = multiplier * float(hard.q[entry]) + offset
            self.fix(pose(position=(0.0, 0.0, value)) if prismatic else pose(rotation_about((0.0, 0.0, 1.0), value)))
            return
        ends = sorted(multiplier * float(limit[entry]) + offset for limit in (hard.lower, hard.upper))
        self.joints.append(ChainJoint(prismatic, *ends))
        self.poses.append(np.eye(4))


def _placed(rows: np.ndarray) -> np.ndarray:
    """The pose (4, 4) of its first three rows."""
    return pose(rows[:, :3], rows[:, 3])


def _placement_on_axis(hard: HardTerms, frame: int) -> np.ndarray:
    """Pose of a frame in that of the last axis above it; of the base, where there is none."""
    own = hard.frames[frame]
    return _placed(hard.robot.tree.link_placements[own.link]) @ _placed(own.placement)


def _axes_above(hard: HardTerms, frame: int) -> list[int]:
    """Axes from the base to a frame."""
    tree = hard.robot.tree
    path, axis = [], int(tree.link_axes[hard.frames[frame].link])
    while axis >= 0:
        path.append(axis)
        axis = int(tree.parents[axis])
    return path[::-1]
