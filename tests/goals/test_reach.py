"""Goals that can reach zero do: on reachable targets, from other seeds; partial orientations on the whole circle."""

from __future__ import annotations

import math
import zlib

import numpy as np
import pytest
from goal_cases import REACHABLE, Maker, angle, core_errors, euler, unit
from scipy.spatial.transform import Rotation

import memetik as mk
from memetik import goals
from memetik.robot.description import Description, Inertial, Link
from memetik.robot.robot import Robot
from memetik.solve.problem import Problem

ANGLES = ("roll", "pitch", "yaw")
EVALUATIONS = 40_000


def configuration(body: Robot, rotation: Rotation) -> np.ndarray:
    """The floating body turned like this."""
    return np.concatenate([np.zeros(3), rotation.as_euler("ZYX")])


@pytest.fixture(scope="module")
def panda() -> Robot:
    return mk.load_robot("panda")


@pytest.fixture(scope="module")
def body() -> Robot:
    """One link that floats freely: every orientation can be had exactly."""
    link = Link("body", Inertial(1.0, (0.0, 0.0, 0.0), np.eye(3)))
    return Robot(Description("body", (link,), ())).with_floating_base(rotation_order="zyx")


@pytest.mark.parametrize("name", REACHABLE)
def test_reachable_goals_are_met_from_other_configurations(name: str, panda: Robot) -> None:
    for number in range(12):
        rng = np.random.default_rng((zlib.crc32(name.encode()), number))
        case = REACHABLE[name](Maker(panda, rng, panda.random(rng), relative=0.3))
        solution = Problem(panda, case.goal).solve(seed=panda.random(rng), evaluations=EVALUATIONS)
        assert solution.success
        assert max(case.errors(solution.q)) <= 1.01e-5
        assert ((solution.q >= panda.lower) & (solution.q <= panda.upper)).all()


@pytest.mark.parametrize("free", ["roll", "pitch", "yaw"])
def test_a_free_angle_is_free_on_the_whole_circle(free: str, body: Robot) -> None:
    """Off target in the other axes, the goal is met from everywhere on the free angle's circle."""
    rng = np.random.default_rng(3)
    wanted = dict(zip(ANGLES, rng.uniform(-1.2, 1.2, 3), strict=True))
    fixed = {name: value for name, value in wanted.items() if name != free}
    goal = goals.PartialOrientation(body.links[-1], **fixed)
    problem = Problem(body, goal)
    for value in np.linspace(-3.14, 3.14, 121):
        on = Rotation.from_euler("xyz", [{**wanted, free: value}[name] for name in ANGLES])
        assert core_errors(body, goal, configuration(body, on))[0] < 1e-9
        off = on * Rotation.from_rotvec(rng.uniform(0.2, 2.0) * unit(rng.normal(size=3)))
        assert problem.solve(seed=configuration(body, off), evaluations=2000).success


def test_the_error_of_a_free_yaw_does_not_depend_on_it(body: Robot) -> None:
    off = Rotation.from_euler("xyz", [0.9, -0.4, 0.0])
    goal = goals.PartialOrientation(body.links[-1], roll=0.3, pitch=0.2)
    turns = [Rotation.from_euler("z", yaw) * off for yaw in np.linspace(-math.pi, math.pi, 37)]
    errors = [core_errors(body, goal, configuration(body, turned))[0] for turned in turns]
    assert errors[0] > 0.5
    assert np.ptp(errors) < 1e-9


@pytest.mark.parametrize("free", ["roll", "pitch", "yaw"])
def test_partial_orientation_holds_with_a_position_on_the_whole_circle(free: str, panda: Robot) -> None:
    """Position and two angles of an arm, the other axes off target at the start, the free one anywhere."""
    rng = np.random.default_rng(11)
    for _ in range(12):
        target = panda.pose("panda_hand", panda.random(rng))
        angles = dict(zip(ANGLES, euler(target[:3, :3]), strict=True))
        del angles[free]
        wanted = [goals.Position("panda_hand", target[:3, 3]), goals.PartialOrientation("panda_hand", **angles)]
        solution = Problem(panda, wanted).solve(seed=panda.random(rng), evaluations=EVALUATIONS)
        assert solution.success
        pose = panda.pose("panda_hand", solution.q)
        assert np.linalg.norm(pose[:3, 3] - target[:3, 3]) <= 1.01e-5
        # The axis that the free angle turns about is where it was.
        axis = {"roll": lambda r: r[:, 0], "yaw": lambda r: r[2]}.get(free)
        if axis is not None:
            assert angle(axis(pose[:3, :3]), axis(target[:3, :3])) <= 1.01e-5


@pytest.mark.parametrize("pitch", [math.pi / 2, -math.pi / 2])
def test_partial_orientation_is_sane_at_a_pitch_of_90_degrees(pitch: float, body: Robot) -> None:
    rng = np.random.default_rng(5)
    x_axis = np.array([0.0, 0.0, -math.copysign(1.0, pitch)])
    cases = [{"pitch": pitch}, {"roll": 0.4, "pitch": pitch}, {"pitch": pitch, "yaw": -0.8}]
    for angles in cases:
        problem = Problem(body, goals.PartialOrientation(body.links[-1], **angles))
        for _ in range(8):
            solution = problem.solve(seed=body.q({}) + np.r_[0, 0, 0, rng.uniform(-1.4, 1.4, 3)], evaluations=20_000)
            assert solution.success
            assert angle(body.pose(body.links[-1], solution.q)[:3, 0], x_axis) <= 1.1e-5


def test_a_pitch_beyond_90_degrees_is_the_same_orientation(body: Robot) -> None:
    link = body.links[-1]
    whole = goals.PartialOrientation(link, roll=0.3, pitch=2.0, yaw=0.5)
    solution = Problem(body, whole).solve(evaluations=4000)
    wanted = Rotation.from_euler("xyz", [0.3, 2.0, 0.5])
    assert solution.success
    assert (Rotation.from_matrix(body.pose(link, solution.q)[:3, :3]) * wanted.inv()).magnitude() <= 1.1e-5
    ranged = goals.PartialOrientation(link, roll=(0.2, 0.4), pitch=2.0, yaw=(0.4, 0.6))
    solution = Problem(body, ranged).solve(evaluations=4000)
    assert solution.success
    roll, pitch, yaw = euler(body.pose(link, solution.q)[:3, :3])
    assert 0.2 <= math.remainder(roll + math.pi, 2 * math.pi) <= 0.4
    assert abs(pitch - (math.pi - 2.0)) <= 1.1e-5
    assert 0.4 <= math.remainder(yaw + math.pi, 2 * math.pi) <= 0.6


def test_open_targets_give_what_given_ones_do(panda: Robot) -> None:
    rng = np.random.default_rng(4)
    q = panda.random(rng)
    pose = panda.pose("panda_hand", q)
    point, direction = pose[:3, 3], pose[:3, 2]
    com = panda.center_of_mass(q)
    kinds = [
        (lambda t: goals.AlignAxis("panda_hand", "z", t), direction),
        (lambda t: goals.Cone("panda_hand", "z", t, 0.2), direction),
        (lambda t: goals.AvoidDirection("panda_hand", "z", t), -direction),
        (lambda t: goals.LookAt("panda_hand", "z", t), point + 0.3 * direction),
        (lambda t: goals.Line("panda_hand", t, "x"), point),
        (lambda t: goals.Line("panda_hand", t, "x", (-0.1, 0.1)), point),
        (lambda t: goals.Plane("panda_hand", t, "x"), point),
        (lambda t: goals.Distance("panda_hand", t, 0.3), point + 0.3 * direction),
        (lambda t: goals.MaxDistance("panda_hand", t, 0.3), point),
        (lambda t: goals.MinDistance("panda_hand", t, 0.3), point + 0.4 * direction),
        (lambda t: goals.Pivot("panda_hand", t, "z"), point + 0.1 * direction),
        (lambda t: goals.Pivot(panda.links[2:6], t), panda.pose(panda.links[4], q)[:3, 3]),
        (lambda t: goals.Balance(t), com),
        (lambda t: goals.JointValue("panda_joint2", t), q[1]),
    ]
    for make, target in kinds:
        given, left_open = Problem(panda, make(target)), Problem(panda, make(None))
        assert left_open.goals[0].is_open
        assert not given.goals[0].is_open
        first = given.solve(seed=panda.neutral, evaluations=EVALUATIONS)
        second = left_open.solve(target, seed=panda.neutral, evaluations=EVALUATIONS)
        assert first.success
        assert np.allclose(first.q, second.q, rtol=0.0, atol=1e-6)


def test_scan_takes_the_surface_as_a_pose(panda: Robot) -> None:
    rng = np.random.default_rng(6)
    pose = panda.pose("panda_hand", panda.random(rng))
    spot = mk.transform(pose[:3, 3] + 0.08 * pose[:3, 2])
    spot[:3, :3] = pose[:3, :3] @ np.diag([1.0, -1.0, -1.0])
    given = goals.Viewpoint("panda_hand", spot[:3, 3], spot[:3, 2], (0.05, 0.1))
    first = Problem(panda, given).solve(evaluations=EVALUATIONS)
    second = Problem(panda, goals.Viewpoint("panda_hand", distance=(0.05, 0.1))).solve(spot, evaluations=EVALUATIONS)
    assert first.success
    assert np.allclose(first.q, second.q, rtol=0.0, atol=1e-6)
    x = panda.pose("panda_hand", first.q)
    way = spot[:3, 3] - x[:3, 3]
    assert 0.05 <= np.linalg.norm(way) <= 0.1
    assert angle(x[:3, 2], way) <= 0.2
    assert angle(-way, spot[:3, 2]) <= 0.2


def test_displacement_is_measured_from_the_seed_of_each_solve(panda: Robot) -> None:
    problem = Problem(panda, [goals.Position("panda_hand"), goals.MinimalDisplacement()])
    rng = np.random.default_rng(7)
    for _ in range(3):
        seed = panda.random(rng)
        target = panda.pose("panda_hand", panda.random(rng))[:3, 3]
        solution = problem.solve(target, seed=seed, timeout=0.02)
        weights = (1.0 / panda.velocity) / np.mean(1.0 / panda.velocity)
        assert solution.errors["displacement"]["posture"] == pytest.approx(
            np.linalg.norm(weights * (solution.q - seed))
        )


@pytest.mark.parametrize(
    "angles",
    [
        {"roll": "open", "pitch": "open"},
        {"pitch": "open", "yaw": "open"},
        {"roll": "open", "yaw": "open"},
        {"roll": 0.2, "pitch": "open"},
        {"roll": "open"},
        {"pitch": "open"},
        {"yaw": "open"},
        {"roll": "open", "pitch": "open", "yaw": "open"},
    ],
    ids=str,
)
def test_open_angles_are_given_at_each_solve(angles: dict[str, str | float], panda: Robot) -> None:
    left_open = Problem(panda, goals.PartialOrientation("panda_hand", **angles))
    names = [name for name in ANGLES if angles.get(name) == "open"]
    rng = np.random.default_rng(9)
    values = rng.uniform(-1.2, 1.2, (5, len(names)))
    targets = values if len(names) > 1 else values[:, 0]
    for number, target in enumerate(targets):
        given = goals.PartialOrientation("panda_hand", **{**angles, **dict(zip(names, values[number], strict=True))})
        first = Problem(panda, given).solve(seed=panda.neutral, evaluations=EVALUATIONS)
        second = left_open.solve(target, seed=panda.neutral, evaluations=EVALUATIONS)
        assert first.success
        assert np.allclose(first.q, second.q, rtol=0.0, atol=1e-6)
    batch = left_open.solve(targets, evaluations=EVALUATIONS)
    assert batch.success.all()
    for number in range(5):
        given = goals.PartialOrientation("panda_hand", **{**angles, **dict(zip(names, values[number], strict=True))})
        assert core_errors(panda, given, batch.q[number]).max() <= 1.01e-5
