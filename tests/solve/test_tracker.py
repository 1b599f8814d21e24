"""Trackers: limits that are never exceeded, following without lag, recovery, repeatability, changes while running."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memetik as mk
from memetik.errors import GoalError, InvalidInputError, UnknownNameError
from memetik.goals import AvoidLimits, CenterJoints, Goal, LookAt, Pose, Position
from memetik.solve.problem import Problem
from memetik.solve.tracker import Tracker

READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.02])
"""A usual configuration of Panda."""


@pytest.fixture(scope="module")
def panda() -> mk.Robot:
    return mk.load_robot("panda")


@pytest.fixture(scope="module")
def two_links() -> mk.Robot:
    """A planar arm with links of 1 m and 0.7 m; its second joint turns without end."""
    return mk.robot_from_dh(
        [[0, 0, 1.0, 0], [0, 0, 0.7, 0]],
        limits=[(-3.0, 3.0), (-math.inf, math.inf)],
        velocity=[2.0, 3.0],
        link_names=["base", "upper", "tip"],
    )


def run(tracker: Tracker, targets: Any) -> tuple[np.ndarray, np.ndarray]:
    """Configurations (N + 1, dof), the first of them where the tracker was, and errors (N,)."""
    configurations, errors = [tracker.q], []
    for target in targets:
        step = tracker.step(*target) if isinstance(target, tuple) else tracker.step(target)
        configurations.append(step.q)
        errors.append(step.error)
    return np.array(configurations), np.array(errors)


def assert_within_limits(
    robot: mk.Robot, configurations: np.ndarray, dt: float, moving: np.ndarray | None = None, acceleration: Any = None
) -> None:
    """Position, velocity and acceleration of every joint, from rest (or from the velocity before) on."""
    assert (configurations >= robot.lower).all()
    assert (configurations <= robot.upper).all()
    changes = np.diff(configurations, axis=0)
    before = np.zeros((1, robot.dof)) if moving is None else moving[None] * dt
    pushes = np.diff(np.concatenate([before, changes]), axis=0)
    slack = 1e-12
    assert (np.abs(changes) <= robot.velocity * dt + slack).all()
    limit = robot.acceleration if acceleration is None else acceleration
    assert (np.abs(pushes) <= limit * dt * dt + slack).all()


def smooth_motion(robot: mk.Robot, home: np.ndarray, span: float, steps: int, dt: float, seed: int) -> np.ndarray:
    """Configurations from rest at `home`: sines of up to `span`, at most at 80 % of velocity and acceleration
    limits."""
    rng = np.random.default_rng(seed)
    time = np.arange(steps) * dt
    eased = np.where(time < 1.0, time**3 - time**4 / 2, time - 0.5)
    q = np.tile(home, (steps, 1))
    for k in range(robot.dof):
        room = 0.9 * min(robot.upper[k] - home[k], home[k] - robot.lower[k])
        amplitude = min(span, room) * rng.uniform(0.7, 1.0)
        rate = 0.8 * min(robot.velocity[k] / amplitude, math.sqrt(0.5 * robot.acceleration[k] / amplitude))
        q[:, k] += amplitude * np.sin(rate * eased) * rng.choice([-1.0, 1.0])
    return q


def circle(center: np.ndarray, radius: float, steps: int) -> list[np.ndarray]:
    """Poses once around a circle in the plane x = constant, from rest to rest, beginning and ending at `center`."""
    share = np.linspace(0.0, 1.0, steps)
    angle = 2 * np.pi * (10 * share**3 - 15 * share**4 + 6 * share**5)
    poses = []
    for a in angle:
        pose = center.copy()
        pose[:3, 3] += radius * np.array([0.0, math.sin(a), math.cos(a) - 1.0])
        poses.append(pose)
    return poses


def test_smooth_motions_are_followed_without_lag(panda: mk.Robot) -> None:
    dt = 0.01
    q = smooth_motion(panda, READY, 0.3, 600, dt, seed=1)
    targets = panda.pose("panda_hand", q)
    tracker = Tracker(Problem(panda, [Pose("panda_hand")]), seed=q[0], dt=dt)
    configurations, errors = run(tracker, targets[1:])
    assert errors.max() < 1e-5
    reached = panda.pose("panda_hand", configurations)
    assert np.linalg.norm(reached[:, :3, 3] - targets[:, :3, 3], axis=1).max() < 1e-4
    assert_within_limits(panda, configurations, dt)


def test_a_full_body_is_followed_with_four_poses() -> None:
    robot = mk.load_robot("mannequin")
    tips = ["left_fingertips", "right_fingertips", "left_sole", "right_sole"]
    dt = 0.01
    q = smooth_motion(robot, robot.neutral, 0.15, 300, dt, seed=2)
    targets = [robot.pose(tip, q) for tip in tips]
    tracker = Tracker(Problem(robot, [Pose(tip) for tip in tips]), seed=q[0], dt=dt)
    configurations, errors = run(tracker, list(zip(*(t[1:] for t in targets), strict=True)))
    assert errors.max() < 1e-4
    assert_within_limits(robot, configurations, dt)
    untouched = [robot.joint_index(name) for name in ("neck_y", "head_z", "left_toes_y")]
    np.testing.assert_array_equal(configurations[:, untouched], np.tile(q[0, untouched], (len(q), 1)))


ROBOTS = {
    "panda": lambda: (mk.load_robot("panda"), ["panda_hand"]),
    "ur5": lambda: (mk.load_robot("ur5"), [mk.load_robot("ur5").tip]),
    "mannequin": lambda: (mk.load_robot("mannequin"), ["left_fingertips", "right_sole"]),
    "floating": lambda: (mk.load_robot("ur5").with_floating_base(name="base"), [mk.load_robot("ur5").tip]),
    "planar": lambda: (mk.load_robot("panda").with_planar_base({"x": (-0.3, 0.3)}, name="base"), ["panda_hand"]),
}
_known: dict[str, tuple[mk.Robot, list[str]]] = {}


def bounded(name: str) -> tuple[mk.Robot, list[str]]:
    """A robot of the list above, with limits of velocity and acceleration on every joint."""
    if name not in _known:
        robot, tips = ROBOTS[name]()
        free = np.flatnonzero(~np.isfinite(robot.velocity))
        limits = {robot.joint_names[k]: {"velocity": 0.8, "acceleration": 1.5} for k in free}
        _known[name] = (robot.with_limits(limits), tips)
    return _known[name]


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(sorted(ROBOTS)),
    seed=st.integers(0, 2**32 - 1),
    dt=st.sampled_from([0.002, 0.01, 0.05]),
    teleport=st.sampled_from([0.0, 0.02, 0.3, 1.0]),
    reach=st.sampled_from([0.5, 1.0, 3.0]),
    unlimited=st.booleans(),
)
def test_no_stream_of_targets_makes_a_tracker_exceed_a_limit(
    name: str, seed: int, dt: float, teleport: float, reach: float, unlimited: bool
) -> None:
    robot, tips = bounded(name)
    rng = np.random.default_rng(seed)
    start = robot.random(rng)
    scale = math.inf if unlimited else 1.0
    tracker = Tracker(Problem(robot, [Pose(tip) for tip in tips]), seed=start, dt=dt, acceleration_scale=scale)
    poses = [robot.pose(tip, start) for tip in tips]
    targets = []
    for _ in range(80):
        if rng.random() < teleport:
            poses = [robot.pose(tip, robot.random(rng)) for tip in tips]
            for pose in poses:
                pose[:3, 3] *= reach
        else:
            for pose in poses:
                pose[:3, 3] += rng.normal(size=3) * 0.5 * dt
        targets.append(tuple(pose.copy() for pose in poses))
    configurations, errors = run(tracker, targets)
    assert np.isfinite(configurations).all()
    assert np.isfinite(errors).all()
    assert_within_limits(robot, configurations, dt, acceleration=math.inf if unlimited else None)


def test_velocity_scales_bound_single_joints(panda: mk.Robot) -> None:
    tracker = Tracker(
        Problem(panda, [Pose("panda_hand")]),
        seed=READY,
        dt=0.01,
        velocity_scale={"panda_joint1": 0.1, "panda_joint5": 0.0},
    )
    target = panda.pose("panda_hand", READY + np.array([0.5, 0.2, -0.3, 0.4, 0.5, 0.3, 0.2, 0.0]))
    configurations, _ = run(tracker, [target] * 100)
    speeds = np.abs(np.diff(configurations, axis=0)).max(axis=0) / 0.01
    assert speeds[0] <= 0.1 * panda.velocity[0] + 1e-9
    assert speeds[0] > 0.08 * panda.velocity[0]
    assert speeds[4] == 0.0


def test_a_target_that_jumps_is_reached_and_not_overshot(panda: mk.Robot) -> None:
    dt = 0.01
    tracker = Tracker(Problem(panda, [Pose("panda_hand")]), seed=READY, dt=dt)
    target = panda.pose("panda_hand", READY + np.array([0.6, 0.3, -0.2, 0.5, 0.3, 0.4, -0.5, 0.0]))
    configurations, errors = run(tracker, [target] * 250)
    assert_within_limits(panda, configurations, dt)
    arrived = int(np.argmax(errors < 1e-5))
    assert 0 < arrived * dt < 1.5
    assert errors[arrived:].max() < 1e-4
    # On the way, the error falls; at its end by and by, while the last joints come to rest.
    assert np.diff(errors[:arrived]).max() < 1e-3


def test_joints_without_limits_cross_half_turns_smoothly(two_links: mk.Robot) -> None:
    dt = 0.01
    turns = np.linspace(0.0, 6.5 * math.pi, 1200)
    targets = []
    for angle in turns:
        pose = np.eye(4)
        c, s = math.cos(0.3 + angle), math.sin(0.3 + angle)
        pose[:2, :2] = [[c, -s], [s, c]]
        pose[:2, 3] = [math.cos(0.3) + 0.7 * c, math.sin(0.3) + 0.7 * s]
        targets.append(pose)
    tracker = Tracker(Problem(two_links, [Pose("tip")]), seed=[0.3, 0.0], dt=dt, acceleration_scale=math.inf)
    configurations, errors = run(tracker, targets[1:])
    assert errors[2:].max() < 1e-5
    np.testing.assert_allclose(configurations[3:, 1], turns[3:], atol=1e-4)


@dataclass(frozen=True)
class Stretch:
    """A target that leaves the reach of the two-link arm along a ray and comes back."""

    radii: np.ndarray
    direction: float = 0.4

    @property
    def points(self) -> np.ndarray:
        unit = np.array([math.cos(self.direction), math.sin(self.direction), 0.0])
        return self.radii[:, None] * unit


def test_targets_out_of_reach_are_approached_and_left_again(two_links: mk.Robot) -> None:
    dt = 0.01
    share = np.linspace(0.0, 1.0, 300)
    out = 1.2 + 1.3 * (3 * share**2 - 2 * share**3)
    radii = np.concatenate([np.full(50, 1.2), out, np.full(150, 2.5), out[::-1], np.full(150, 1.2)])
    points = Stretch(radii).points
    elbow = math.acos((1.2**2 - 1.0 - 0.49) / 1.4)
    shoulder = 0.4 - math.atan2(0.7 * math.sin(elbow), 1.0 + 0.7 * math.cos(elbow))
    tracker = Tracker(Problem(two_links, [Position("tip")]), seed=[shoulder, elbow], dt=dt)
    configurations, errors = run(tracker, points)
    assert_within_limits(two_links, configurations, dt)
    held = slice(50 + 300 + 100, 50 + 300 + 150)
    # Stretched towards the target, the arm misses by the distance beyond 1.7 m.
    np.testing.assert_allclose(errors[held], 2.5 - 1.7, atol=2e-3)
    assert np.abs(np.diff(configurations[held], axis=0)).max() < 1e-3  # at rest, not swinging about a singularity
    assert errors[-50:].max() < 1e-5
    np.testing.assert_allclose(configurations[-1], [shoulder, elbow], atol=1e-3)  # the elbow stays on its side


def test_a_limit_in_the_way_is_gone_around(two_links: mk.Robot) -> None:
    dt = 0.01
    angles = np.concatenate([np.linspace(2.2, 3.9, 400), np.full(1200, 3.9)])
    points = np.stack([1.5 * np.cos(angles), 1.5 * np.sin(angles), np.zeros(len(angles))], axis=1)
    elbow = math.acos((1.5**2 - 1.0 - 0.49) / 1.4)
    shoulder = 2.2 - math.atan2(0.7 * math.sin(elbow), 1.0 + 0.7 * math.cos(elbow))
    problem = Problem(two_links, [Position("tip")])
    patient = Tracker(problem, seed=[shoulder, elbow], dt=dt, patience=math.inf)
    _, stuck = run(patient, points)
    assert stuck[-1] > 0.1  # the shoulder ends at 3 rad: without another configuration there is no way
    tracker = Tracker(problem, seed=[shoulder, elbow], dt=dt)
    configurations, errors = run(tracker, points)
    assert_within_limits(two_links, configurations, dt)
    assert errors[-1] < 1e-5


def test_a_closed_path_ends_in_the_configuration_where_it_began(panda: mk.Robot) -> None:
    path = circle(panda.pose("panda_hand", READY), 0.15, 300)
    problem = Problem(panda, [Pose("panda_hand")])
    drift = {}
    for weight in (0.0, 0.1):
        tracker = Tracker(problem, seed=READY, dt=0.01, reference_weight=weight)
        _, errors = run(tracker, path * 3 + [path[-1]] * 200)
        assert errors.max() < 1e-5
        drift[weight] = float(np.abs(tracker.q - READY).max())
    assert drift[0.1] < 1e-4
    assert drift[0.0] > 10 * drift[0.1]


def test_preferences_are_met_in_the_freedom_that_the_goals_leave(panda: mk.Robot) -> None:
    target = panda.pose("panda_hand", READY)
    twisted = Tracker(
        Problem(panda, [Pose("panda_hand")]),
        seed=READY,
        dt=0.01,
        reference=READY + np.array([1.0, 0.0, -0.7, 0.0, -0.5, 0.0, 0.5, 0.0]),
    )
    run(twisted, [target] * 300)
    start = twisted.q
    problem = Problem(panda, [Pose("panda_hand"), CenterJoints(weights="equal")])
    tracker = Tracker(problem, seed=start, dt=0.01, reference_weight=0.0)
    configurations, errors = run(tracker, [target] * 1000)
    assert errors.max() < 1e-5

    def off_center(q: np.ndarray) -> float:
        return float(np.linalg.norm((q - panda.neutral)[:7]))

    best = problem.solve(target, seed=start, refine=0.2, timeout=0.5, explore=False)
    assert off_center(start) > off_center(best.q) + 0.05
    assert off_center(configurations[-1]) < off_center(best.q) + 1e-3


def test_a_direction_is_preferred_while_a_point_is_followed(panda: mk.Robot) -> None:
    goals = [Position("panda_hand"), LookAt("panda_hand", point=[1.0, 0.5, 0.2], priority=1, name="look")]
    tracker = Tracker(Problem(panda, goals), seed=READY, dt=0.01)
    start = panda.pose("panda_hand", READY)[:3, 3]
    points = [start + np.array([0.0, 0.1 * math.sin(0.01 * k), 0.0]) for k in range(400)]
    before = tracker.step(points[0]).errors["look"]["angle"]
    _, errors = run(tracker, points[1:])
    assert errors.max() < 1e-5
    assert before > 1.0
    assert tracker.step(points[-1]).errors["look"]["angle"] < 0.05


def test_joints_that_no_goal_moves_follow_the_reference(panda: mk.Robot) -> None:
    tracker = Tracker(Problem(panda, [Pose("panda_hand")]), seed=READY, dt=0.01)
    reference = READY.copy()
    reference[7] = 0.035
    tracker.reference = reference
    configurations, errors = run(tracker, [panda.pose("panda_hand", READY)] * 200)
    assert configurations[-1, 7] == pytest.approx(0.035, abs=1e-4)
    assert errors.max() < 1e-5
    assert_within_limits(panda, configurations, 0.01)


def test_a_blend_goes_part_of_the_way_to_the_reference_and_back(panda: mk.Robot) -> None:
    target = panda.pose("panda_hand", READY)
    reference = READY + np.array([0.4, 0.2, 0.0, 0.3, 0.0, -0.2, 0.5, 0.01])
    tracker = Tracker(
        Problem(panda, [Pose("panda_hand")]), seed=READY, dt=0.01, reference=reference, reference_weight=0.0
    )
    first, _ = run(tracker, [target] * 50)
    tracker.blend = 0.25
    second, _ = run(tracker, [target] * 200)
    np.testing.assert_allclose(tracker.q, 0.75 * first[-1] + 0.25 * reference, atol=1e-6)
    tracker.blend = 1.0
    third, _ = run(tracker, [target] * 200)
    np.testing.assert_allclose(tracker.q, reference, atol=1e-6)
    tracker.blend = 0.0
    fourth, errors = run(tracker, [target] * 200)
    assert errors[-1] < 1e-5
    assert_within_limits(panda, np.concatenate([first, second[1:], third[1:], fourth[1:]]), 0.01)


def test_goals_come_and_go_while_the_motion_goes_on(panda: mk.Robot) -> None:
    dt = 0.01
    q = smooth_motion(panda, READY, 0.3, 900, dt, seed=3)
    hands, elbows = panda.pose("panda_hand", q), panda.pose("panda_link4", q)[:, :3, 3]
    tracker = Tracker(Problem(panda, [Pose("panda_hand", name="hand")]), seed=q[0], dt=dt)
    configurations = [q[0]]

    def go(steps: range, *names: str) -> float:
        worst = 0.0
        for k in steps:
            targets = {"hand": hands[k], "elbow": elbows[k]}
            step = tracker.step({name: targets[name] for name in names})
            configurations.append(step.q)
            worst = max(worst, step.error)
        return worst

    assert go(range(1, 150), "hand") < 1e-5
    assert tracker.add(Position("panda_link4", name="elbow")) == "elbow"
    go(range(150, 300), "hand", "elbow")
    assert tracker.goals == ("hand", "elbow")
    tracker.disable("hand")
    go(range(300, 400), "hand", "elbow")
    tracker.enable("hand")
    tracker.set_weight("elbow", 0.5)
    assert tracker.problem.goals[1].weight == 0.5
    go(range(400, 500), "hand", "elbow")
    tracker.remove("elbow")
    go(range(500, 700), "hand")
    assert go(range(700, 899), "hand") < 1e-5
    tracker.remove("hand")
    tracker.reference = READY
    for _ in range(300):
        configurations.append(tracker.step().q)
    np.testing.assert_allclose(tracker.q, READY, atol=1e-4)
    assert_within_limits(panda, np.array(configurations), dt)


def test_the_nearer_of_two_conflicting_goals_is_the_one_with_more_weight(two_links: mk.Robot) -> None:
    points = np.array([1.2, 0.6, 0.0]), np.array([1.2, -0.6, 0.0])
    problem = Problem(two_links, [Position("tip", name="a", weight=3.0), Position("tip", name="b")])
    tracker = Tracker(problem, seed=[0.5, -1.0], dt=0.02, patience=math.inf)
    run(tracker, [points] * 300)
    step = tracker.step(*points)
    # Least squares puts the tip at the mean, weighted by the squares of the weights.
    assert step.errors["a"]["position"] == pytest.approx(1.2 * 0.1, abs=1e-3)
    tracker.set_weight("a", 1.0)
    tracker.set_weight("b", 3.0)
    run(tracker, [points] * 300)
    assert tracker.step(*points).errors["b"]["position"] == pytest.approx(1.2 * 0.1, abs=1e-3)


def test_joints_are_fixed_and_freed_while_it_runs(panda: mk.Robot) -> None:
    dt = 0.01
    q = smooth_motion(panda, READY, 0.3, 800, dt, seed=4)
    targets = panda.pose("panda_hand", q)[:, :3, 3]
    tracker = Tracker(Problem(panda, [Position("panda_hand")]), seed=q[0], dt=dt)
    first, _ = run(tracker, targets[1:200])
    tracker.fix({"panda_joint3": 0.4})
    second, errors = run(tracker, targets[200:500])
    assert second[-1, 2] == pytest.approx(0.4, abs=1e-9)
    assert errors[-50:].max() < 1e-5
    tracker.fix("panda_joint1")
    third, _ = run(tracker, targets[500:600])
    assert abs(third[-1, 0] - third[0, 0]) < 0.2
    assert np.ptp(third[-30:, 0]) < 1e-9
    tracker.free(["panda_joint1", "panda_joint3"])
    fourth, errors = run(tracker, targets[600:])
    assert errors[-50:].max() < 1e-5
    assert np.ptp(fourth[:, 0]) > 1e-3
    assert_within_limits(panda, np.concatenate([first, second[1:], third[1:], fourth[1:]]), dt)


def test_reset_puts_the_robot_at_rest(panda: mk.Robot) -> None:
    tracker = Tracker(Problem(panda, [Pose("panda_hand")]), seed=READY)
    run(tracker, [panda.pose("panda_hand", READY + 0.2)] * 20)
    tracker.reset(READY)
    np.testing.assert_array_equal(tracker.q, READY)
    assert not tracker.velocity.any()
    step = tracker.step(panda.pose("panda_hand", READY))
    np.testing.assert_allclose(step.q, READY, atol=1e-9)


def test_a_seed_outside_the_limits_is_brought_within(panda: mk.Robot) -> None:
    tracker = Tracker(Problem(panda, [Pose("panda_hand")]), seed=np.full(8, 10.0))
    np.testing.assert_array_equal(tracker.q, panda.upper)


def test_saturated_names_the_joints_at_their_bounds(two_links: mk.Robot) -> None:
    tracker = Tracker(Problem(two_links, [Position("tip")]), seed=[0.0, 0.5], dt=0.01)
    radius = np.linalg.norm(two_links.pose("tip", [0.0, 0.5])[:3, 3])
    first = math.atan2(0.7 * math.sin(0.5), 1.0 + 0.7 * math.cos(0.5))
    bounds = []
    for k in range(150):  # at 3 rad/s about the shoulder, which reaches 2
        angle = first + 3.0 * 0.01 * k
        bounds.append(tracker.step(radius * np.array([math.cos(angle), math.sin(angle), 0.0])).bounds)
    assert "acceleration" in bounds[1]["joint1"]
    assert any(b.get("joint1") == ("velocity",) for b in bounds)
    assert any(b.get("joint1") == ("acceleration",) for b in bounds)
    for _ in range(800):
        far = tracker.step(np.array([0.0, -3.0, 0.0]))
    assert far.saturated == ()
    assert far.error == pytest.approx(1.3, abs=1e-2)
    for _ in range(600):
        far = tracker.step(np.array([-1.7, -0.1, 0.0]))
    assert far.bounds["joint1"] == ("position",)
    q, error, saturated = tracker.step(np.array([-1.7, -0.1, 0.0]))
    np.testing.assert_array_equal(q, tracker.q)
    assert error == pytest.approx(far.error)
    assert saturated == ("joint1",)


def test_smoothing_spreads_a_jump_over_steps(panda: mk.Robot) -> None:
    start, target = panda.pose("panda_hand", READY), panda.pose("panda_hand", READY + 0.02)
    problem = Problem(panda, [Pose("panda_hand")])
    distances = {}
    for smoothing in (0.0, 0.9):
        tracker = Tracker(problem, seed=READY, dt=0.01, smoothing=smoothing, acceleration_scale=math.inf)
        tracker.step(start)
        configurations, _ = run(tracker, [target] * 100)
        places = panda.pose("panda_hand", configurations)[:, :3, 3]
        distances[smoothing] = np.linalg.norm(places - target[:3, 3], axis=1)
    assert distances[0.0][3] < 1e-6
    # Each step leaves nine tenths of the way.
    np.testing.assert_allclose(distances[0.9][1:20], distances[0.9][0] * 0.9 ** np.arange(1, 20), rtol=2e-2)
    assert distances[0.9][-1] < 1e-4


def test_latency_is_made_up_for_by_prediction(two_links: mk.Robot) -> None:
    dt, late = 0.01, 10
    angles = 0.4 + 0.5 * np.sin(np.arange(800) * dt * 1.5)
    points = 1.4 * np.stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))], axis=1)
    problem = Problem(two_links, [Position("tip")])
    missed = {}
    for latency in (0.0, late * dt):
        tracker = Tracker(problem, seed=[0.0, 1.0], dt=dt, latency=latency)
        configurations, _ = run(tracker, points[:-late])
        tips = two_links.pose("tip", configurations[1:])[:, :3, 3]
        missed[latency] = float(np.linalg.norm(tips - points[late:], axis=1)[300:].max())
    assert missed[0.0] > 0.08
    assert missed[late * dt] < 0.3 * missed[0.0]


def test_outliers_are_ignored_until_they_last(panda: mk.Robot) -> None:
    start, wrong = panda.pose("panda_hand", READY), panda.pose("panda_hand", READY + 0.3)
    tracker = Tracker(Problem(panda, [Pose("panda_hand")]), seed=READY, dt=0.01, outlier=0.05, outlier_steps=5)
    stream = [start] * 10 + [wrong] * 5 + [start] * 10
    configurations, _ = run(tracker, stream)
    np.testing.assert_allclose(configurations, np.tile(READY, (len(configurations), 1)), atol=1e-9)
    run(tracker, [wrong] * 150)
    np.testing.assert_allclose(panda.pose("panda_hand", tracker.q), wrong, atol=1e-5)


class Height(Goal):
    """The hand is at half a metre."""

    @property
    def links(self) -> tuple[str, ...]:
        return ("panda_hand",)

    def residual(self, q: np.ndarray, poses: np.ndarray) -> float:
        return poses[0, 2, 3] - 0.5


def test_goals_of_ones_own_are_followed(panda: mk.Robot) -> None:
    tracker = Tracker(Problem(panda, [Height(name="height")]), seed=READY, dt=0.02)
    for _ in range(60):
        step = tracker.step()
    assert panda.pose("panda_hand", step.q)[2, 3] == pytest.approx(0.5, abs=1e-5)
    assert step.within


class Broken(Height):
    def residual(self, q: np.ndarray, poses: np.ndarray) -> float:
        if poses[0, 2, 3] < 0.58:
            raise ZeroDivisionError("on purpose")
        return poses[0, 2, 3] - 0.5


def test_errors_in_goals_of_ones_own_come_through(panda: mk.Robot) -> None:
    tracker = Tracker(Problem(panda, [Broken(name="height")]), seed=READY, dt=0.02)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        run(tracker, [()] * 60)


def test_trackers_in_several_threads_do_what_they_do_alone(panda: mk.Robot) -> None:
    problem = Problem(panda, [Pose("panda_hand"), AvoidLimits()])
    streams = [panda.pose("panda_hand", smooth_motion(panda, READY, 0.4, 300, 0.01, seed)) for seed in range(6)]

    def follow(targets: np.ndarray) -> np.ndarray:
        return run(Tracker(problem, seed=READY, dt=0.01), targets)[0]

    alone = [follow(targets) for targets in streams]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(follow, streams))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_another_length_of_step_keeps_the_velocity(two_links: mk.Robot) -> None:
    tracker = Tracker(Problem(two_links, [Position("tip")]), seed=[0.0, 0.5], dt=0.02)
    far = np.array([-1.0, 1.2, 0.0])
    run(tracker, [far] * 20)
    before = tracker.velocity
    tracker.dt = 0.005
    step = tracker.step(far)
    assert (np.abs(step.velocity - before) <= two_links.acceleration * 0.005 + 1e-9).all()


def test_targets_of_other_forms_are_converted(panda: mk.Robot) -> None:
    target = panda.pose("panda_hand", READY)
    tracker = Tracker(Problem(panda, [Pose("panda_hand", name="hand")]), seed=READY)
    for other in (target.tolist(), target.astype(np.float32), np.asfortranarray(target)):
        assert tracker.step(other).error < 1e-6
    assert tracker.step({"hand": target}).error < 1e-6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.step(), "open targets are 'hand'"),
        (lambda t: t.step(np.eye(3)), "target of 'hand'"),
        (lambda t: t.step(np.full((4, 4), np.nan)), "hand"),
        (lambda t: t.step(np.tile(np.eye(4), (3, 1, 1))), "one target at a time"),
        (lambda t: t.reset([0.0, 1.0]), "8 finite numbers"),
        (lambda t: setattr(t, "blend", 1.5), "blend"),
        (lambda t: setattr(t, "dt", 0.0), "dt"),
        (lambda t: t.fix({"panda_joint4": 1.0}), "its limits are"),
        (lambda t: t.add(Pose("panda_hand", name="hand")), "has a goal 'hand' already"),
    ],
)
def test_wrong_input_is_refused_with_a_sentence(panda: mk.Robot, call: Any, message: str) -> None:
    tracker = Tracker(Problem(panda, [Pose("panda_hand", name="hand")]), seed=READY)
    with pytest.raises(InvalidInputError, match=message):
        call(tracker)
    assert tracker.step(panda.pose("panda_hand", READY)).error < 1e-6


def test_unknown_names_are_refused(panda: mk.Robot) -> None:
    tracker = Tracker(Problem(panda, [Pose("panda_hand", name="hand")]), seed=READY)
    with pytest.raises(UnknownNameError, match="did you mean 'hand'"):
        tracker.remove("hands")
    with pytest.raises(UnknownNameError, match="joint"):
        tracker.fix("elbow")
    with pytest.raises(UnknownNameError, match="joint"):
        Tracker(Problem(panda, [Pose("panda_hand")]), velocity_scale={"elbow": 0.5})
    with pytest.raises(GoalError, match="goals are made by"):
        tracker.add("hand")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options", [{"dt": -1.0}, {"iterations": 0}, {"smoothing": 2.0}, {"rate": math.nan}, {"seed": 3}]
)
def test_wrong_options_are_refused(panda: mk.Robot, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Tracker(Problem(panda, [Pose("panda_hand")]), **options)


def test_joints_without_velocity_limits_are_told(caplog):
    robot = mk.load_robot("panda")
    joints = [replace(one, velocity=()) if one.name == "panda_joint3" else one for one in robot.description.joints]
    bare = mk.Robot(replace(robot.description, joints=tuple(joints)))
    problem = mk.Problem(bare, [mk.Pose("panda_hand")])
    assert mk.Tracker(problem).unlimited == ("panda_joint3",)
    assert "no velocity limit is stated for panda_joint3" in caplog.text
    caplog.clear()
    assert mk.Tracker(mk.Problem(robot, [mk.Pose("panda_hand")])).unlimited == ()
    assert not caplog.text


def test_a_hard_goal_on_a_held_joint_counts(panda: mk.Robot):
    """The joint is held elsewhere: the goal is not met, whatever the others do."""
    name = panda.joint_names[0]
    goals = [Position("panda_hand"), mk.JointValue(name, 0.4)]
    tracker = Tracker(Problem(panda, goals, fixed={name: 0.1}), seed=READY)
    target = panda.pose("panda_hand", np.array([0.1, *READY[1:]]))[:3, 3]
    steps = [tracker.step(target) for _ in range(50)]
    assert not any(step.within for step in steps)
    assert steps[-1].error == pytest.approx(0.3)
    assert Tracker(Problem(panda, goals, fixed={name: 0.4}), seed=READY).step(target).errors["jointvalue_" + name] == {
        "value": pytest.approx(0.0)
    }
