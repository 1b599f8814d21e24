"""Random problems on all bundled robots: one to nine goals of all kinds, a third of them infeasible by construction.

Feasible ones are made from a hidden configuration within the limits, which meets every hard goal. Infeasible ones hold
a hard goal, or two that contradict each other, that no configuration meets; `Case.flaw` says which. Problem k is the
same in every process.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation
from truth import geometry_distance, geometry_lowest, roll_pitch_yaw

import memetik as mk
from memetik import goals as mg
from memetik.geometry.shapes import Mesh
from memetik.robot import bundled
from memetik.robot.robot import Robot

SHARE_INFEASIBLE = 1.0 / 3.0
SHARE_PREFERENCES = 0.25


@dataclass
class Case:
    """One problem: what `Problem` and `solve` take."""

    index: int
    robot: Robot
    goals: list[mg.Goal]
    fixed: dict[str, float]
    targets: dict[str, Any]
    """Open targets by goal name."""
    complete: list[mg.Goal]
    """The goals with their open targets filled in: what the answer is checked against."""
    seed: np.ndarray | None
    flaw: str | None
    """Why no configuration meets the hard goals; None where one does."""
    hidden: np.ndarray
    """The configuration that feasible problems were made from."""

    def __repr__(self) -> str:
        goals = ", ".join(map(repr, self.complete))
        return f"<problem {self.index} on {self.robot.name!r}, fixed {self.fixed}, flaw {self.flaw!r}: {goals}>"


@cache
def robots() -> list[Robot]:
    """All bundled robots, and chains of one, two and 200 joints."""
    return [mk.load_robot(name) for name in [*bundled.names(), "chain1", "chain2", "chain200"]]


def generate(index: int, robot: Robot | None = None) -> Case:
    """Problem number `index`; on a robot drawn at random where none is given."""
    rng = np.random.default_rng((20_240_601, index))
    if robot is None:
        # The long chain takes most of the time and shows little: it comes up, but seldom.
        choices = robots()
        robot = choices[int(rng.integers(len(choices)))]
        if robot.dof == 200 and rng.uniform() < 0.95:
            robot = choices[0]
    infeasible = bool(rng.uniform() < SHARE_INFEASIBLE)
    draw = _Draw(robot, rng)
    count = int(rng.integers(1, 10))
    goals: list[mg.Goal] = []
    while len(goals) < count:
        kinds = _PREFERENCES if goals and rng.uniform() < SHARE_PREFERENCES else _MUSTS
        goal = kinds[int(rng.integers(len(kinds)))](draw)
        if goal is not None:
            goals.append(goal)
    flaw = None
    if infeasible:
        added: list[mg.Goal] | None = None
        while added is None:
            chosen = _FLAWS[int(rng.integers(len(_FLAWS)))]
            added = chosen(draw)
            flaw = chosen.__name__.strip("_")
        place = int(rng.integers(len(goals) + 1))
        goals[place:place] = added
    return _case(index, draw, goals, flaw)


def _case(index: int, draw: _Draw, goals: list[mg.Goal], flaw: str | None) -> Case:
    rng, robot = draw.rng, draw.robot
    if robot.dof > 1 and rng.uniform() < 0.15:
        for entry in rng.choice(robot.dof, size=int(rng.integers(1, min(3, robot.dof))), replace=False):
            draw.fixed.setdefault(robot.joint_names[entry], float(draw.q[entry]))
    stated, targets = [], {}
    for goal in goals:
        opened = _open(goal, f"goal {len(stated)}", robot) if rng.uniform() < 0.3 else None
        if opened is None:
            stated.append(goal)
        else:
            targets[opened[0].name] = opened[1]
            stated.append(opened[0])
    seed = None
    choice = rng.uniform()
    if choice < 0.6:
        seed = robot.random(rng)
    elif choice < 0.7:
        seed = robot.random(rng) + rng.normal(scale=2.0, size=robot.dof)
    elif choice < 0.8:
        seed = np.zeros(robot.dof)
    return Case(index, robot, stated, draw.fixed, targets, goals, seed, flaw, draw.q)


def _open(goal: mg.Goal, name: str, robot: Robot) -> tuple[mg.Goal, Any] | None:
    """The goal with its target left open, and that target; None where it cannot be left open."""
    if goal.open_target is None or type(goal) not in _OPENABLE:
        return None
    from dataclasses import fields

    target = getattr(goal, goal.open_target)
    if isinstance(goal, mg.JointValue) and (isinstance(target, tuple) or goal.joint not in robot.joint_names):
        return None
    arguments = {f.name: getattr(goal, f.name) for f in fields(goal) if f.init}
    arguments[goal.open_target] = None
    arguments["name"] = name
    if np.ndim(target) == 2 and type(goal) in (mg.Distance, mg.MinDistance, mg.MaxDistance):
        return None
    return type(goal)(**arguments), target


@dataclass
class _Draw:
    """A robot at a hidden configuration, and the dice."""

    robot: Robot
    rng: np.random.Generator
    q: np.ndarray = field(init=False)
    fixed: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.q = self.robot.random(self.rng)
        self.moving = [link for link in self.robot.links if self.robot.moves(link).any()]

    def link(self) -> str:
        tips = [tip for tip in self.robot.tips if tip in self.moving]
        if tips and self.rng.uniform() < 0.6:
            return tips[int(self.rng.integers(len(tips)))]
        return self.moving[int(self.rng.integers(len(self.moving)))]

    def frame(self) -> tuple[str, dict[str, Any], np.ndarray]:
        """A link, the options that name its offset and reference, and the frame's pose in that reference."""
        link, options = self.link(), {}
        pose = self.robot.pose(link, self.q)
        if self.rng.uniform() < 0.4:
            options["offset"] = mk.transform(self.rng.normal(scale=0.1, size=3), rpy=self.rng.uniform(-3, 3, size=3))
            pose = pose @ options["offset"]
        if self.rng.uniform() < 0.25:
            other = self.robot.links[int(self.rng.integers(len(self.robot.links)))]
            options["relative_to"] = other
            pose = np.linalg.inv(self.robot.pose(other, self.q)) @ pose
            pose[:3, :3] = Rotation.from_matrix(pose[:3, :3]).as_matrix()
        return link, options, pose

    def unit(self) -> np.ndarray:
        vector = self.rng.normal(size=3)
        return vector / np.linalg.norm(vector)

    def entry(self) -> int:
        return int(self.rng.integers(self.robot.dof))

    def tolerance(self) -> float:
        return float(10.0 ** self.rng.uniform(-6, -1.5))

    def maybe(self, share: float, **options: Any) -> dict[str, Any]:
        return options if self.rng.uniform() < share else {}

    def bands(self, free: float) -> tuple[Any, ...]:
        """Tolerances of three axes: numbers, pairs about zero, infinities."""
        kinds = []
        for _ in range(3):
            choice, size = self.rng.uniform(), self.tolerance()
            if choice < free:
                kinds.append(math.inf)
            elif choice < 0.6:
                kinds.append(size)
            else:
                kinds.append((-size * self.rng.uniform(), size))
        if all(kind == math.inf for kind in kinds):
            kinds[int(self.rng.integers(3))] = self.tolerance()
        return tuple(kinds)


def _pose(d: _Draw) -> mg.Goal:
    link, options, pose = d.frame()
    options |= d.maybe(0.3, position_tolerance=d.bands(0.3)) | d.maybe(0.3, rotation_tolerance=d.bands(0.3))
    return mg.Pose(link, pose, **options, **d.maybe(0.2, weight=float(d.rng.uniform(0.1, 10))))


def _relative_pose(d: _Draw) -> mg.Goal:
    link, reference = d.link(), d.link()
    pose = np.linalg.inv(d.robot.pose(reference, d.q)) @ d.robot.pose(link, d.q)
    return mg.RelativePose(link, reference, pose)


def _position(d: _Draw) -> mg.Goal:
    link, options, pose = d.frame()
    options |= d.maybe(0.3, tolerance=d.bands(0.3)) | d.maybe(0.2, axes=Rotation.random(random_state=d.rng).as_matrix())
    return mg.Position(link, pose[:3, 3], **options)


def _orientation(d: _Draw) -> mg.Goal:
    link, options, pose = d.frame()
    return mg.Orientation(link, pose[:3, :3], **options, **d.maybe(0.5, tolerance=d.bands(0.4)))


def _partial_orientation(d: _Draw) -> mg.Goal | None:
    link, options, pose = d.frame()
    roll, pitch, yaw = roll_pitch_yaw(pose[:3, :3])
    angles: dict[str, Any] = {}
    for name, value in (("roll", roll), ("pitch", pitch), ("yaw", yaw)):
        choice = d.rng.uniform()
        if choice < 0.3:
            continue
        room = abs(d.rng.normal(scale=0.3)) + 1e-3
        if choice < 0.5 and (name != "pitch" or abs(value) + room < 1.5):
            angles[name] = (value - room * d.rng.uniform(), value + room)
        else:
            angles[name] = float(value)
    return mg.PartialOrientation(link, **angles, **options) if angles else None


def _align_axis(d: _Draw) -> mg.Goal:
    link, options, pose = d.frame()
    axis = d.unit()
    return mg.AlignAxis(link, axis, pose[:3, :3] @ axis, **options, **d.maybe(0.5, tolerance=d.tolerance()))


def _cone(d: _Draw) -> mg.Goal:
    link, options, pose = d.frame()
    axis = d.unit()
    angle = float(d.rng.choice([0.0, 1e-4, 0.1, 1.0, 3.0]))
    away = d.unit() * angle * d.rng.uniform()
    direction = Rotation.from_rotvec(away).as_matrix() @ pose[:3, :3] @ axis
    return mg.Cone(link, axis, direction, angle, **options, **d.maybe(0.3, position=pose[:3, 3]))


def _side(d: _Draw) -> mg.Goal:
    link, options, pose = d.frame()
    axis, direction = d.unit(), d.unit()
    sign = -1.0 if (pose[:3, :3] @ axis) @ direction > 0 else 1.0
    return mg.AvoidDirection(link, axis, sign * direction, **options)


def _look_at(d: _Draw) -> mg.Goal:
    link, options, pose = d.frame()
    axis = d.unit()
    point = pose[:3, 3] + pose[:3, :3] @ axis * d.rng.uniform(0.05, 2.0)
    return mg.LookAt(link, axis, point, **options, **d.maybe(0.3, tolerance=d.tolerance()))


def _line(d: _Draw) -> mg.Goal:
    link, options, pose = d.frame()
    direction, along = d.unit(), float(d.rng.normal())
    point = pose[:3, 3] - along * direction
    segment = (along - abs(float(d.rng.normal())), along + 0.1)
    return mg.Line(link, point, direction, **options, **d.maybe(0.5, segment=segment))


def _plane(d: _Draw) -> mg.Goal:
    link, options, pose = d.frame()
    normal, height = d.unit(), float(d.rng.normal())
    wanted = height if d.rng.uniform() < 0.5 else (height - 0.1, math.inf if d.rng.uniform() < 0.5 else height + 0.2)
    return mg.Plane(link, pose[:3, 3] - height * normal, normal, wanted, **options)


def _distance(d: _Draw) -> mg.Goal:
    link, options, pose = d.frame()
    if d.rng.uniform() < 0.3:
        options.pop("relative_to", None)
        other = d.robot.links[int(d.rng.integers(len(d.robot.links)))]
        own = d.robot.pose(link, d.q) @ options.get("offset", np.eye(4))
        apart = float(np.linalg.norm(own[:3, 3] - d.robot.pose(other, d.q)[:3, 3]))
        return mg.Distance(link, other, apart, **options)
    points = pose[:3, 3] + d.rng.normal(size=(int(d.rng.integers(1, 4)), 3))
    apart = np.linalg.norm(points - pose[:3, 3], axis=1)
    if len(points) == 1:
        return mg.Distance(link, points[0], float(apart[0]), **options)
    return mg.Distance(link, points, (float(apart.min()) - 0.05, float(apart.max()) + 0.05), **options)


def _min_distance(d: _Draw) -> mg.Goal:
    link, options, pose = d.frame()
    points = pose[:3, 3] + d.rng.normal(size=(int(d.rng.integers(1, 5)), 3))
    apart = np.linalg.norm(points - pose[:3, 3], axis=1)
    radii = apart * d.rng.uniform(0.0, 0.5, size=len(points))
    return mg.MinDistance(link, points, float(0.4 * apart.min()) + 1e-3, radii=radii, **options)


def _max_distance(d: _Draw) -> mg.Goal:
    link, options, pose = d.frame()
    point = pose[:3, 3] + d.rng.normal(scale=0.3, size=3)
    return mg.MaxDistance(link, point, float(np.linalg.norm(point - pose[:3, 3])) * 1.05 + 1e-3, **options)


def _pivot(d: _Draw) -> mg.Goal | None:
    link, options, pose = d.frame()
    if d.rng.uniform() < 0.3:
        chain = [*reversed(d.robot.ancestors(link)), link]
        if len(chain) < 2:
            return None
        first = int(d.rng.integers(len(chain) - 1))
        chain = chain[first:]
        a, b = (d.robot.pose(name, d.q)[:3, 3] for name in chain[-2:])
        return mg.Pivot(chain, a + d.rng.uniform() * (b - a))
    axis, along = d.unit(), float(d.rng.uniform(0.0, 0.5))
    point = pose[:3, 3] + along * pose[:3, :3] @ axis
    return mg.Pivot(link, point, axis, **options, **d.maybe(0.5, segment=(0.0, along + 0.1)))


def _scan(d: _Draw) -> mg.Goal:
    link, options, pose = d.frame()
    axis = d.unit()
    direction = pose[:3, :3] @ axis
    distance = float(d.rng.uniform(0.02, 0.5))
    tilt = Rotation.from_rotvec(0.1 * d.rng.normal(size=3)).as_matrix()
    return mg.Viewpoint(
        link, pose[:3, 3] + distance * direction, -(tilt @ direction), (0.9 * distance, 1.1 * distance),
        float(d.rng.uniform(0.01, 0.5)), float(d.rng.uniform(0.5, 1.0)), axis, **options,
    )  # fmt: skip


def _balance(d: _Draw) -> mg.Goal | None:
    if not d.robot.mass > 0.0:
        return None
    com = d.robot.center_of_mass(d.q)
    gravity = np.array([0.0, 0.0, -1.0]) if d.rng.uniform() < 0.6 else d.unit()
    choice = d.rng.uniform()
    if choice < 0.4:
        return mg.Balance(com + d.rng.normal() * gravity, gravity=gravity, tolerance=10 * d.tolerance())
    if choice < 0.6:
        line = np.cross(gravity, d.unit())
        return mg.Balance(com + d.rng.normal() * line, line=line, gravity=gravity)
    corners = d.rng.normal(scale=0.2, size=(6, 3))
    polygon = com + np.concatenate([corners, -corners])
    return mg.Balance(polygon=polygon, gravity=gravity)


def _shaped_link(d: _Draw) -> tuple[str, str | None] | None:
    """A moving link whose collision geometry is of primitives, and maybe a reference."""
    shaped = [link for link in d.moving if _is_of_primitives(d.robot, link)]
    if not shaped:
        return None
    others = d.robot.links
    reference = others[int(d.rng.integers(len(others)))] if d.rng.uniform() < 0.2 else None
    return shaped[int(d.rng.integers(len(shaped)))], reference


def _is_of_primitives(robot: Robot, link: str) -> bool:
    shapes = [entry.shape for entry in robot.link(link).collisions]
    return bool(shapes) and not any(isinstance(shape, Mesh) for shape in shapes)


def _point_distance(d: _Draw) -> mg.Goal | None:
    found = _shaped_link(d)
    if found is None:
        return None
    link, reference = found
    local = d.rng.normal(scale=0.2, size=3)
    away = geometry_distance(d.robot, link, local)
    pose = d.robot.pose(link, d.q, relative_to=reference)
    radius = float(d.rng.uniform(0.0, 0.1))
    wanted = away - radius if d.rng.uniform() < 0.5 else (away - radius - 0.05, away - radius + 0.02)
    return mg.PointDistance(link, pose[:3, :3] @ local + pose[:3, 3], wanted, radius=radius, relative_to=reference)


def _touch(d: _Draw) -> mg.Goal | None:
    found = _shaped_link(d)
    if found is None:
        return None
    link, reference = found
    pose, normal, tolerance = d.robot.pose(link, d.q, relative_to=reference), d.unit(), d.tolerance()
    lowest = float(pose[:3, 3] @ normal) + geometry_lowest(d.robot, link, pose[:3, :3].T @ normal)
    point = (lowest - 0.5 * tolerance) * normal + np.cross(normal, d.rng.normal(size=3))
    return mg.Touch(link, point, normal, tolerance=tolerance, relative_to=reference)


def _project(d: _Draw) -> mg.Goal:
    link, options, pose = d.frame()
    axis, stand_off = d.unit(), float(d.rng.uniform(0.0, 0.3))
    normal = -pose[:3, :3] @ axis
    size = d.rng.uniform(0.1, 0.5, size=3)
    turned = np.eye(4)
    turned[:3, :3] = Rotation.align_vectors(normal[None], np.array([[0.0, 0.0, 1.0]]))[0].as_matrix()
    turned[:3, 3] = pose[:3, 3] - (stand_off + 0.5 * size[2]) * normal
    return mg.ProjectOntoSurface(link, axis, mk.Box(tuple(size)), stand_off, surface_pose=turned, **options)


def _joint_value(d: _Draw) -> mg.Goal:
    mimics = [joint.name for joint in d.robot.description.joints if joint.mimic is not None]
    if mimics and d.rng.uniform() < 0.3:
        name = mimics[int(d.rng.integers(len(mimics)))]
        value = float(d.robot.joints(d.q, mimic=True)[name])
    else:
        entry = d.entry()
        name, value = d.robot.joint_names[entry], float(d.q[entry])
    room = abs(float(d.rng.normal(scale=0.2))) + 1e-4
    return mg.JointValue(name, value if d.rng.uniform() < 0.5 else (value - room, value + room))


def _displacement_bound(d: _Draw) -> mg.Goal:
    return mg.MinimalDisplacement(
        reference=d.q + d.rng.normal(scale=0.1, size=d.robot.dof), weights="equal", priority=0,
        tolerance=0.5 * math.sqrt(d.robot.dof),
    )  # fmt: skip


def _avoid_limits(d: _Draw) -> mg.Goal | None:
    if not np.isfinite(d.robot.upper - d.robot.lower).any():
        return None
    return mg.AvoidLimits(weight=float(d.rng.uniform(0.01, 1.0)))


def _center(d: _Draw) -> mg.Goal | None:
    return mg.CenterJoints(weights="equal") if np.isfinite(d.robot.upper - d.robot.lower).any() else None


def _displacement(d: _Draw) -> mg.Goal:
    return mg.MinimalDisplacement(weight=float(d.rng.uniform(0.01, 1.0)))


def _manipulability(d: _Draw) -> mg.Goal | None:
    link = d.link()
    if int(d.robot.moves(link).sum()) < 6 or d.robot.dof > 60:
        return None
    return mg.Manipulability(link, reference=0.1)


def _effort(d: _Draw) -> mg.Goal | None:
    return mg.GravityTorque() if d.robot.mass > 0.0 else None


def _preferred_position(d: _Draw) -> mg.Goal:
    return mg.Position(d.link(), d.rng.normal(size=3), priority=1, loss=mg.Huber(0.1))


def _preferred_repulsion(d: _Draw) -> mg.Goal:
    return mg.MinDistance(d.link(), d.rng.normal(size=3), 0.1, loss=mg.Hyperbola())


def _too_far(d: _Draw) -> list[mg.Goal]:
    """Farther away than any bundled robot is long."""
    link, _, pose = d.frame()
    where = pose[:3, 3] + 100.0 * d.unit()
    choices = (mg.Position(link, where), mg.Pose(link, mk.transform(where)), mg.MaxDistance(link, where, 10.0))
    return [choices[int(d.rng.integers(len(choices)))]]


def _two_places(d: _Draw) -> list[mg.Goal]:
    """One point at two places."""
    link, options, pose = d.frame()
    apart = d.unit() * d.rng.uniform(0.001, 0.5)
    return [mg.Position(link, pose[:3, 3], **options), mg.Position(link, pose[:3, 3] + apart, **options)]


def _two_directions(d: _Draw) -> list[mg.Goal]:
    """One axis in two directions."""
    link, options, pose = d.frame()
    axis, turn = d.unit(), Rotation.from_rotvec(d.unit() * d.rng.uniform(0.3, 3.0)).as_matrix()
    first, second = pose[:3, :3] @ axis, turn @ pose[:3, :3] @ axis
    if first @ second > math.cos(0.01):
        second = -first
    return [mg.AlignAxis(link, axis, first, **options), mg.AlignAxis(link, axis, second, **options)]


def _turned_against(d: _Draw) -> list[mg.Goal]:
    """An orientation, and an axis that points elsewhere in it."""
    link, options, pose = d.frame()
    axis = d.unit()
    away = pose[:3, :3] @ axis
    second = (
        mg.Cone(link, axis, -away, 1.0, **options)
        if d.rng.uniform() < 0.5
        else mg.AvoidDirection(link, axis, away, **options)
    )
    return [mg.Orientation(link, pose[:3, :3], **options), second]


def _beyond_limits(d: _Draw) -> list[mg.Goal] | None:
    """A joint beyond its limits."""
    entry = d.entry()
    if not np.isfinite(d.robot.upper[entry]):
        return None
    beyond = float(d.robot.upper[entry] + d.rng.uniform(0.001, 1.0))
    wanted = beyond if d.rng.uniform() < 0.5 else (beyond, beyond + 1.0)
    return [mg.JointValue(d.robot.joint_names[entry], wanted)]


def _held_elsewhere(d: _Draw) -> list[mg.Goal] | None:
    """A joint that is held fixed, and asked to be elsewhere."""
    if d.robot.dof < 2:
        return None
    entry = d.entry()
    name = d.robot.joint_names[entry]
    d.fixed[name] = float(d.q[entry])
    return [mg.JointValue(name, float(d.q[entry]) + float(d.rng.uniform(0.01, 0.3)))]


def _rigid_length(d: _Draw) -> list[mg.Goal] | None:
    """Two points of one link at another distance than they have."""
    link = d.link()
    points = d.rng.normal(scale=0.2, size=(2, 3))
    apart = float(np.linalg.norm(points[0] - points[1]))
    return [mg.Distance(link, points[0], apart + 0.05, offset=points[1], relative_to=link)]


def _between_planes(d: _Draw) -> list[mg.Goal]:
    """Below a plane and above a higher one."""
    link, options, pose = d.frame()
    normal = d.unit()
    return [
        mg.Plane(link, pose[:3, 3], normal, (-math.inf, 0.0), **options),
        mg.Plane(link, pose[:3, 3], normal, (0.001, math.inf), **options),
    ]


def _unbalanced(d: _Draw) -> list[mg.Goal] | None:
    """Centre of mass over a point far away."""
    if not d.robot.mass > 0.0:
        return None
    return [
        mg.Balance((100.0, 0.0, 0.0))
        if d.rng.uniform() < 0.5
        else mg.Balance(polygon=np.eye(3)[:, [0, 1, 2]] + (90, 0, 0))
    ]


def _too_near(d: _Draw) -> list[mg.Goal]:
    """Near a point and far from it."""
    link, options, pose = d.frame()
    point = pose[:3, 3] + 0.1 * d.unit()
    return [mg.MaxDistance(link, point, 0.2, **options), mg.MinDistance(link, point, 0.21, **options)]


@dataclass(frozen=True)
class _Coupling:
    """The second joint follows the first; a class, so that goals with it pickle."""

    ratio: float

    def __call__(self, q: np.ndarray) -> np.ndarray:
        return np.array([q[0], self.ratio * q[0]])


Builder = Callable[[_Draw], Any]

_MUSTS: list[Builder] = [
    _pose, _pose, _relative_pose, _position, _position, _orientation, _partial_orientation, _align_axis, _cone, _side,
    _look_at, _line, _plane, _distance, _min_distance, _max_distance, _pivot, _scan, _balance, _joint_value,
    _displacement_bound, _point_distance, _touch, _project,
]  # fmt: skip

_PREFERENCES: list[Builder] = [
    _avoid_limits, _center, _displacement, _manipulability, _effort, _preferred_position, _preferred_repulsion,
]  # fmt: skip

_FLAWS: list[Builder] = [
    _too_far, _two_places, _two_directions, _turned_against, _beyond_limits, _held_elsewhere, _rigid_length,
    _between_planes, _unbalanced, _too_near,
]  # fmt: skip

_OPENABLE = (
    mg.Pose, mg.Position, mg.Orientation, mg.AlignAxis, mg.LookAt, mg.Line, mg.Plane, mg.Distance, mg.MaxDistance,
    mg.MinDistance, mg.Pivot, mg.JointValue, mg.AvoidDirection, mg.PointDistance, mg.Touch,
)  # fmt: skip
