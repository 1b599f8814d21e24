"""Stages that the user brings along: planners, timings, filters, methods of inverse kinematics."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.planning.free_space import space_for
from memetik.motion.planning.moves import MovePlanner
from memetik.motion.planning.paths import PathProblem
from memetik.motion.planning.proofs import certify
from memetik.motion.timing.timing import TimingRequest, time_path
from memetik.motion.timing.trajectory import Trajectory

START = np.array([0.0, -1.4, 1.6, -1.77, -1.57, 0.0])
GOAL = START + np.array([1.5, 0.0, 0.0, 0.0, 0.0, 0.0])
OVER = START + np.array([0.75, -0.4, 0.0, 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def ur5() -> mk.Robot:
    return mk.load_robot("ur5")


@pytest.fixture(scope="module")
def scene(ur5) -> mk.Scene:
    """A post in the middle of the straight way."""
    scene = mk.Scene()
    at = ur5.pose(ur5.tip, START + 0.5 * (GOAL - START))[:3, 3]
    scene.add_sphere("post", 0.06, mk.transform(at - np.array([0.0, 0.0, 0.02])))
    return scene


def over(problem: PathProblem, seconds: float) -> np.ndarray:
    assert 0.0 < seconds <= 2.0
    return np.stack([problem.start, OVER, problem.goals[0]])


def through(problem: PathProblem, seconds: float) -> np.ndarray:
    return np.stack([problem.start, problem.goals[0]])


def nothing(problem: PathProblem, seconds: float) -> None:
    return None


def test_a_planner_of_ones_own_is_proved_and_shortened(ur5, scene):
    plan = mk.plan(ur5, GOAL, scene, START, planner=over)
    assert plan.success
    assert plan.trajectory is not None
    assert certify(plan.trajectory, space_for(ur5, scene)).free
    assert plan.length <= np.linalg.norm(OVER - START) + np.linalg.norm(GOAL - OVER) + 1e-9


def test_a_path_through_something_is_refused_and_the_next_planner_asked(ur5, scene):
    alone = mk.plan(ur5, GOAL, scene, START, planner=through)
    assert (alone.success, alone.reason) == (False, "no path proved in time")
    assert any("through: segment 1 of 1 is not proved free" in line for line in alone.tried)
    assert not mk.plan(ur5, GOAL, scene, START, planner=nothing)
    second = mk.plan(ur5, GOAL, scene, START, planner=[through, nothing, "rrtconnect"])
    assert second.success


def test_a_path_to_elsewhere_is_an_error(ur5, scene):
    def astray(problem: PathProblem, seconds: float) -> np.ndarray:
        return np.stack([problem.start, OVER])

    with pytest.raises(InvalidInputError, match=r"planner 'astray' must lead from problem\.start to one of"):
        mk.plan(ur5, GOAL, scene, START, planner=astray)


def test_a_timing_of_ones_own_is_checked(ur5, scene):
    def slow(request: TimingRequest) -> Trajectory:
        return time_path(request.robot, request.points, limits=request.limits, space=request.space).stretched(3.0)

    def hasty(request: TimingRequest) -> Trajectory:
        return Trajectory.from_points(request.robot.joint_names, [0.0, 1.0], [START, GOAL], *np.zeros((2, 2, 6)))

    usual, slower = (mk.plan(ur5, GOAL, scene, START, timing=timing) for timing in ("smooth", slow))
    assert slower.success
    assert slower.duration == pytest.approx(3.0 * usual.duration, rel=1e-6)
    refused = mk.plan(ur5, GOAL, scene, START, timing=hasty)
    assert (refused.success, refused.stage) == (False, "timing")
    assert "not proved free" in refused.detail


def test_filters_are_a_chain_and_are_proved(ur5, scene):
    def denser(points: np.ndarray) -> np.ndarray:
        return np.vstack([points[:-1], 0.5 * (points[:-1] + points[1:])])[
            np.r_[0, len(points) - 1, 1 : len(points) - 1]
        ]

    def halves(points: np.ndarray) -> np.ndarray:
        middles = 0.5 * (points[:-1] + points[1:])
        return np.vstack([row for pair in zip(points[:-1], middles, strict=True) for row in pair] + [points[-1]])

    def straight(points: np.ndarray) -> np.ndarray:
        return points[[0, -1]]

    plain = mk.plan(ur5, GOAL, scene, START)
    found = mk.plan(ur5, GOAL, scene, START, filters=[halves, halves, straight, denser])
    assert found.success
    assert plain.path is not None
    assert found.path is not None
    assert len(found.path) == 4 * len(plain.path) - 3
    assert any("'straight' gives a path that is not proved free" in line for line in found.tried)
    assert any("'denser' does not keep the ends" in line for line in found.tried)


def test_lines_and_moves_use_the_method_that_is_asked_for(ur5, monkeypatch):
    asked = []
    solve = mk.Problem.solve

    def spy(self, *targets, method="memetic", **options):
        asked.append(method)
        return solve(self, *targets, method=method, **options)

    monkeypatch.setattr(mk.Problem, "solve", spy)
    up = mk.transform((0.0, 0.1, 0.05)) @ ur5.pose(ur5.tip, START)
    MovePlanner(ur5, mk.Scene(), method="lma").line(START, ur5.tip, up)
    assert asked
    assert set(asked) == {"lma"}
    asked.clear()
    assert mk.plan(ur5, [mk.Pose(ur5.tip, up)], start=START, method="lma").success
    assert set(asked) == {"lma"}


def test_two_tips_follow_paths_of_their_own():
    robot = mk.load_robot("pr2")
    ways = {}
    for sign, tip in zip((1.0, -1.0), robot.tips, strict=True):
        first = robot.pose(tip, robot.neutral)
        ways[tip] = np.stack([first, mk.transform((0.0, 0.03 * sign, 0.02)) @ first])
    plan = mk.follow(robot, ways, start=robot.neutral, approach=False)
    assert plan.success
    assert plan.points_on_path is not None
    assert plan.trajectory is not None
    for tip, poses in ways.items():
        np.testing.assert_allclose(robot.pose(tip, plan.trajectory.end), poses[1], atol=1e-4)
        places = robot.pose(tip, plan.trajectory.at(np.linspace(0.0, plan.duration, 200)))[:, :3, 3]
        along = (poses[1] - poses[0])[:3, 3]
        off = np.cross(places - poses[0, :3, 3], along / np.linalg.norm(along))
        assert np.linalg.norm(off, axis=1).max() < 6e-4
    with pytest.raises(InvalidInputError, match="takes no goals="):
        mk.follow(robot, ways, goals=mk.Pose(robot.tips[0]), start=robot.neutral)
