"""Bodies that turn freely, through orientations where the angles in q are singular."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk

ORDERS = ("xyz", "zyx", "yzx")


def tumble(axis: np.ndarray, part: float) -> np.ndarray:
    """A quarter turn about y up to part 1, then one about an axis of the world up to part 2; at rest at both ends."""
    whole = min(int(part), 1)
    s = part - whole
    turned = whole + s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    first, second = 0.5 * np.pi * min(turned, 1.0), 0.5 * np.pi * max(turned - 1.0, 0.0)
    return mk.transform(axis_angle=(axis, second)) @ mk.transform(axis_angle=((0.0, 1.0, 0.0), first))


@pytest.fixture(scope="module", params=ORDERS)
def figure(request: pytest.FixtureRequest) -> tuple[mk.Problem, list[np.ndarray]]:
    robot = mk.load_robot("valkyrie").with_floating_base(rotation_order=request.param)
    problem = mk.Problem(robot, [mk.Pose("pelvis"), mk.Pose("leftPalm")])
    return problem, [robot.pose(link, robot.neutral) for link in ("pelvis", "leftPalm")]


@pytest.mark.parametrize("axis", np.eye(3), ids=["x", "y", "z"])
def test_solves_from_the_last_answer_tumble_without_moving_the_body(figure, axis: np.ndarray):
    problem, poses = figure
    robot, q = problem.robot, np.array(problem.robot.neutral)
    for part in np.linspace(0.0, 2.0, 161):
        targets = [tumble(axis, part) @ pose for pose in poses]
        found = problem.solve(*targets, seed=q, evaluations=2000)
        assert found.success
        np.testing.assert_allclose(found.q[6:], q[6:], atol=1e-3)
        for link, target in zip(("pelvis", "leftPalm"), targets, strict=True):
            np.testing.assert_allclose(robot.pose(link, found.q), target, atol=1e-4)
        q = found.q


@pytest.mark.parametrize("axis", np.eye(3), ids=["x", "y", "z"])
def test_a_tracker_follows_a_tumble(figure, axis: np.ndarray):
    problem, poses = figure
    robot = problem.robot
    tracker = mk.Tracker(problem, seed=robot.neutral, dt=0.01)
    for part in np.linspace(0.0, 2.0, 400):
        targets = [tumble(axis, part) @ pose for pose in poses]
        step = tracker.step(*targets)
        assert step.error < 1e-3
        np.testing.assert_allclose(robot.pose("leftPalm", step.q), targets[1], atol=2e-3)
        np.testing.assert_array_equal(step.q, tracker.q)


def test_what_is_set_and_read_between_steps_is_in_the_angles_of_q():
    robot = mk.load_robot("valkyrie").with_floating_base()
    problem = mk.Problem(robot, [mk.Pose("pelvis")])
    q = np.array(robot.neutral)
    q[4] = 0.5 * np.pi - 1e-3
    tracker = mk.Tracker(problem, seed=q, dt=0.01)
    reference = np.array(q)
    reference[3:6] = 0.4, 1.5, -0.2
    tracker.reference = reference
    pose = robot.pose("pelvis", q)
    for k in range(20):
        before = tracker.q
        step = tracker.step(mk.transform(axis_angle=((0.0, 0.0, 1.0), 1e-4 * k)) @ pose)
        np.testing.assert_allclose(step.q - before, tracker.velocity * 0.01, atol=1e-12)
        assert step.error < 1e-3
    np.testing.assert_array_equal(tracker.reference, reference)
    tracker.reset(q)
    np.testing.assert_array_equal(tracker.q, q)


def test_an_answer_near_the_singularity_is_near_the_seed_in_its_angles():
    robot = mk.load_robot("valkyrie").with_floating_base()
    problem = mk.Problem(robot, [mk.Pose("pelvis")])
    for pitch in (1.4, 1.56, 0.5 * np.pi, 1.7, -1.5, 0.5 * np.pi + 2.0 * np.pi):
        seed = np.array(robot.neutral)
        seed[3:6] = 0.7, pitch, -0.4
        found = problem.solve(robot.pose("pelvis", seed), seed=seed)
        assert found.success
        np.testing.assert_allclose(found.q[:6], seed[:6], atol=1e-6)


def test_displacement_from_the_seed_counts_turns_of_the_body():
    """A soft goal to stay at the seed keeps the base where it is, though its pitch is 90 degrees."""
    robot = mk.load_robot("valkyrie").with_floating_base()
    seed = np.array(robot.neutral)
    seed[4] = 0.5 * np.pi
    problem = mk.Problem(robot, [mk.Position("leftPalm"), mk.MinimalDisplacement()])
    target = robot.pose("leftPalm", seed)[:3, 3] + [0.0, 0.01, 0.0]
    found = problem.solve(target, seed=seed, evaluations=4000, explore=False)
    assert found.success
    turned = robot.pose("pelvis", seed)[:3, :3].T @ robot.pose("pelvis", found.q)[:3, :3]
    assert np.arccos(np.clip((np.trace(turned) - 1.0) / 2.0, -1.0, 1.0)) < 0.05
