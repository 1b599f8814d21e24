"""Every goal class on several robots: with given and open targets, losses, weights, priorities, ranges and offsets."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from cases import Case, named, of_solution, robot, unit

import memetik as mk

EVALUATIONS = 1500

ROBOTS = ("panda:panda_arm", "ur5", "iiwa14", "elise", "pr2:right_arm", "valkyrie", "mannequin", "wolf", "chain12")


class Draw:
    """A robot at a hidden configuration, a link of it, and the dice."""

    def __init__(self, name: str, seed: int):
        self.rng = np.random.default_rng(seed)
        self.robot = robot(name)
        self.q = self.robot.random(self.rng)
        moving = [tip for tip in self.robot.tips if self.robot.moves(tip).sum() > 2]
        self.link = moving[int(self.rng.integers(len(moving)))]
        inner = [link for link in self.robot.ancestors(self.link) if self.robot.moves(link).any()]
        self.inner = inner[len(inner) // 2]
        self.pose = self.robot.pose(self.link, self.q)
        self.point = self.pose[:3, 3]
        self.axis = unit(self.rng.normal(size=3))
        # By sums, because BLAS rounds a product differently from processor to processor.
        self.direction = (self.pose[:3, :3] * self.axis).sum(axis=1)

    def near(self, distance: float = 0.3) -> np.ndarray:
        """A point about so far from the link's origin."""
        return self.point + distance * self.rng.uniform(0.5, 1.5) * unit(self.rng.normal(size=3))

    def angles(self) -> tuple[float, float, float]:
        """Roll, pitch and yaw of the link about the fixed axes x, y, z."""
        turn = self.pose[:3, :3]
        pitch = math.asin(min(1.0, max(-1.0, -turn[2, 0])))
        return math.atan2(turn[2, 1], turn[2, 2]), pitch, math.atan2(turn[1, 0], turn[0, 0])


Maker = Callable[[Draw], list[Any]]


def _partial(d: Draw) -> list[Any]:
    roll, _, yaw = d.angles()
    return [mk.PartialOrientation(d.link, roll=roll, yaw=(yaw - 0.2, yaw + 0.3)), mk.Position(d.link, d.point)]


def _partial_pitch(d: Draw) -> list[Any]:
    return [mk.PartialOrientation(d.link, pitch=d.angles()[1]), mk.Position(d.link, d.point)]


def _side(d: Draw) -> list[Any]:
    away = unit(-d.direction + 0.3 * unit(d.rng.normal(size=3)))
    return [named("Side")(d.link, d.axis, away), mk.Position(d.link, d.point)]


def _distances(d: Draw) -> list[Any]:
    points = np.array([d.near() for _ in range(3)])
    apart = np.sqrt(((points - d.point) ** 2).sum(axis=1))
    return [mk.Distance(d.link, points, (float(apart.min()) - 0.02, float(apart.max()) + 0.02), radii=0.01)]


def _min_distance(d: Draw) -> list[Any]:
    points = np.array([d.near() for _ in range(4)])
    apart = float(np.sqrt(((points - d.point) ** 2).sum(axis=1)).min())
    return [mk.MinDistance(d.link, points, 0.9 * apart), mk.MaxDistance(d.link, d.point, 0.05)]


def _repelled(d: Draw) -> list[Any]:
    return [mk.Position(d.link, d.point), mk.MinDistance(d.inner, d.near(0.5), 0.05, loss=mk.Hyperbola(), priority=1)]


def _pivot_chain(d: Draw) -> list[Any]:
    chain = [*reversed(d.robot.ancestors(d.link)), d.link][-4:]
    ends = d.robot.pose(chain[-3], d.q)[:3, 3], d.robot.pose(chain[-2], d.q)[:3, 3]
    return [mk.Pivot(chain, 0.4 * ends[0] + 0.6 * ends[1]), mk.Position(d.link, d.point)]


def _scan(d: Draw) -> list[Any]:
    normal = unit(-d.direction + 0.1 * d.rng.normal(size=3))
    scan = named("Scan")
    return [scan(d.link, d.point + 0.1 * d.direction, normal, (0.08, 0.12), 0.1, 0.4, d.axis)]


def _balance(d: Draw) -> list[Any]:
    point = d.robot.center_of_mass(d.q)
    square = point + 0.05 * np.array([[1, 1, 0], [1, -1, 0], [-1, -1, 0], [-1, 1, 0]])
    return [mk.Balance(polygon=square, margin=0.01), mk.Position(d.link, d.point, priority=1)]


def _project(d: Draw) -> list[Any]:
    z = -d.direction
    x = unit(np.cross(z, (1.0, 0.0, 0.0) if abs(z[0]) < 0.8 else (0.0, 1.0, 0.0)))
    place = np.eye(4)
    place[:3, :3] = np.stack([x, np.cross(z, x), z], axis=1)
    place[:3, 3] = d.point - 0.15 * z
    return [named("Project")(d.link, d.axis, mk.Box((0.4, 0.4, 0.2)), 0.05, surface_pose=place)]


def _shaped(d: Draw) -> str:
    """The last link of the chain that has a shape."""
    chain = (d.link, *d.robot.ancestors(d.link))
    return next(link for link in chain if d.robot.link(link).collisions and d.robot.moves(link).any())


def _touch(d: Draw) -> list[Any]:
    link = _shaped(d)
    return [mk.Touch(link, d.robot.pose(link, d.q)[:3, 3] - (0.0, 0.0, 0.1), "z")]


def _point_distance(d: Draw) -> list[Any]:
    link = _shaped(d)
    return [mk.PointDistance(link, d.robot.pose(link, d.q)[:3, 3] + (0.3, 0.0, 0.0), (0.0, 0.1), radius=0.02)]


def _joint_values(d: Draw) -> list[Any]:
    names = d.robot.joint_names
    first, last = float(d.q[0]), float(d.q[-1])
    return [mk.JointValue(names[0], first), mk.JointValue(names[-1], (last - 0.1, last + 0.05)),
            mk.Position(d.link, d.point)]  # fmt: skip


class Half:
    """The second joint at half of the first; a class, so that goals with it pickle."""

    def __call__(self, q: np.ndarray) -> np.ndarray:
        return np.array([q[0], 0.5 * q[0]])


def _joint_function(d: Draw) -> list[Any]:
    entries = [int(k) for k in np.flatnonzero(d.robot.moves(d.link))[:2]]
    return [mk.JointFunction([d.robot.joint_names[k] for k in entries], Half()), mk.AlignAxis(d.link, d.axis, "z")]


def _soft(goal: Callable[[Draw], Any]) -> Maker:
    """A soft goal beside a position."""
    return lambda d: [mk.Position(d.link, d.point), goal(d)]


def _posed(**options: Any) -> Maker:
    return lambda d: [mk.Pose(d.link, d.pose, **options)]


def _with_loss(loss: Any) -> Maker:
    return lambda d: [
        mk.Position(d.link, d.point),
        mk.AlignAxis(d.link, d.axis, "x", priority=1, loss=loss),
        mk.Position(d.inner, d.near(), priority=2, weight=0.3, loss=loss),
    ]


MAKERS: dict[str, Maker] = {
    "Pose": _posed(),
    "Pose-free-spin": _posed(rotation_tolerance=(0.01, 0.01, math.inf)),
    "Pose-box": _posed(position_tolerance=(0.02, 0.01, 0.005), rotation_tolerance=0.02, rotation_scale=0.2),
    "Pose-offset": lambda d: [mk.Pose(d.link, d.pose @ mk.transform((0.1, 0, 0.05)), offset=(0.1, 0.0, 0.05))],
    "RelativePose": lambda d: [
        mk.RelativePose(d.link, d.inner, d.robot.pose(d.link, d.q, relative_to=d.inner)),
        mk.Position(d.link, d.point, tolerance=0.01),
    ],
    "Position": lambda d: [mk.Position(d.link, d.point)],
    "Position-box": lambda d: [mk.Position(d.link, d.point, tolerance=((-0.01, 0.02), 0.01, math.inf))],
    "Orientation": lambda d: [mk.Orientation(d.link, d.pose[:3, :3])],
    "Orientation-ranges": lambda d: [mk.Orientation(d.link, d.pose[:3, :3], tolerance=(0.1, 0.2, 0.05))],
    "PartialOrientation": _partial,
    "PartialOrientation-pitch": _partial_pitch,
    "AlignAxis": lambda d: [mk.AlignAxis(d.link, d.axis, d.direction), mk.Position(d.link, d.point)],
    "AlignAxis-loose": lambda d: [mk.AlignAxis(d.link, d.axis, "-z", tolerance=0.3)],
    "Cone": lambda d: [mk.Cone(d.link, d.axis, d.direction, 0.2, d.point)],
    "Side": _side,
    "LookAt": lambda d: [mk.LookAt(d.link, d.axis, d.point + 0.4 * d.direction), mk.Plane(d.link, d.point, "z")],
    "Line": lambda d: [mk.Line(d.link, d.point - 0.2 * d.axis, d.axis, (0.0, 0.4)), mk.AlignAxis(d.link, "z", "z")],
    "Plane": lambda d: [mk.Plane(d.link, d.point, d.axis), mk.Orientation(d.link, d.pose[:3, :3])],
    "Plane-half-space": lambda d: [mk.Plane(d.link, d.point - 0.05 * d.axis, d.axis, (0.0, math.inf))],
    "Distance": _distances,
    "Distance-links": lambda d: [mk.Distance(d.link, d.inner, 0.2), mk.AlignAxis(d.link, "z", "-z", tolerance=0.5)],
    "MinDistance": _min_distance,
    "MinDistance-hyperbola": _repelled,
    "Pivot": lambda d: [
        mk.Pivot(d.link, d.point + 0.2 * d.direction, d.axis, (0.0, 0.3)),
        mk.Position(d.link, d.point),
    ],
    "Pivot-chain": _pivot_chain,
    "Scan": _scan,
    "Balance": _balance,
    "Balance-point": lambda d: [mk.Balance(d.robot.center_of_mass(d.q), tolerance=0.01)],
    "Touch": _touch,
    "PointDistance": _point_distance,
    "Project": _project,
    "JointValue": _joint_values,
    "JointFunction": _joint_function,
    "AvoidLimits": _soft(lambda d: mk.AvoidLimits()),
    "Center": _soft(lambda d: named("Center")(weights="equal")),
    "Displacement": _soft(lambda d: named("Displacement")(weight=0.5)),
    "Displacement-hard": lambda d: [
        mk.Position(d.link, d.point),
        named("Displacement")(d.q, weights="equal", priority=0, tolerance=0.5 * math.sqrt(d.robot.dof)),
    ],
    "Manipulability": _soft(lambda d: mk.Manipulability(d.link, part="translation", reference=0.1)),
    "Effort": _soft(lambda d: named("Effort")()),
    "loss-Huber": _with_loss(mk.Huber(0.05)),
    "loss-Groove": _with_loss(mk.Groove()),
    "loss-Swamp": _with_loss(mk.Swamp(0.1)),
    "loss-SwampGroove": _with_loss(mk.SwampGroove(0.1, pull=0.5)),
    "infeasible": lambda d: [mk.Position(d.link, d.point + np.array([50.0, 0.0, 0.0])), mk.AlignAxis(d.link, "z", "z")],
}
"""How each goal is made; a configuration that meets it is known, but for the last."""

OPENED = (
    "Pose", "Pose-free-spin", "Position", "Orientation", "AlignAxis", "Side", "LookAt", "Line", "Plane", "Pivot",
    "Balance-point", "Touch", "PointDistance",
)  # fmt: skip


def opened(goal: Any) -> tuple[Any, Any]:
    """The goal with its target left open, and that target."""
    return replace(goal, **{goal.open_target: None}), getattr(goal, goal.open_target)


def draw_for(label: str, variant: int) -> Draw:
    """The robot and the dice of a case: fixed by its name, so that others can come and go."""
    number = zlib.crc32(f"{label} {variant}".encode())
    return Draw(ROBOTS[number % len(ROBOTS)], number)


def solve_given(label: str, variant: int) -> dict[str, Any]:
    """Targets in the goals; without a seed, or with one."""
    d = draw_for(label, variant)
    seed = None if variant == 0 else d.robot.random(d.rng)
    problem = mk.Problem(d.robot, MAKERS[label](d))
    options = {"refine_evaluations": 600} if any(goal.priority for goal in problem.goals) else {}
    return of_solution(problem.solve(seed=seed, evaluations=EVALUATIONS, rng=variant, **options))


def solve_open(label: str) -> dict[str, Any]:
    """The first goal's target is given with the solve."""
    d = draw_for(label, 2)
    goal, target = opened(MAKERS[label](d)[0])
    problem = mk.Problem(d.robot, [goal])
    return of_solution(problem.solve(target, seed=d.robot.random(d.rng), evaluations=EVALUATIONS, rng=5))


def cases() -> Iterator[Case]:
    for label in MAKERS:
        for variant in (0, 1):
            yield Case(
                f"goals/{label}/{'seeded' if variant else 'plain'}",
                lambda label=label, variant=variant: solve_given(label, variant),
                core=True,
            )
    for label in OPENED:
        yield Case(f"goals/{label}/open", lambda label=label: solve_open(label), core=True)
