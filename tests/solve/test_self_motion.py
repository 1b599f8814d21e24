"""Self-motions: curves of configurations that satisfy the goals, with their free parts."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.collision.exact import CollisionModel
from memetik.errors import InvalidInputError

LINK = "panda_hand"


@pytest.fixture(scope="module")
def panda() -> mk.Robot:
    return mk.load_robot("panda")


def solved(robot: mk.Robot, scene: mk.Scene | None = None) -> mk.Solution:
    """At a pose in the middle of the limits of all joints."""
    problem = mk.Problem(robot, mk.Pose(LINK), scene=scene)
    found = problem.solve(robot.pose(LINK, robot.neutral), seed=robot.neutral)
    assert found.success
    return found


def test_every_configuration_reaches_the_target_within_limits(panda: mk.Robot):
    solution = solved(panda)
    motion = solution.self_motion()
    assert len(motion) > 50
    assert np.abs(panda.pose(LINK, motion.q) - solution.targets[0]).max() < 1e-7
    assert (motion.q >= panda.lower - 1e-9).all()
    assert (motion.q <= panda.upper + 1e-9).all()
    assert np.abs(motion.q[motion.start] - solution.q).max() < 1e-3
    assert motion.free.all()


def test_neighbours_are_near_and_the_ends_are_limits(panda: mk.Robot):
    motion = solved(panda).self_motion(step=0.05)
    assert np.linalg.norm(np.diff(motion.q, axis=0), axis=1).max() <= 0.1
    assert (np.diff(motion.s) > 0.0).all()
    assert not motion.closed
    for row, end in zip((motion.q[0], motion.q[-1]), motion.ends, strict=True):
        joint = panda.joint_index(end.split("'")[1])
        assert min(row[joint] - panda.lower[joint], panda.upper[joint] - row[joint]) < 1e-6


def test_free_parts_are_those_of_coal(panda: mk.Robot):
    free_space = solved(panda).self_motion(step=0.05)
    # A ball where the elbow passes, away from where it is at the solution.
    elbow = panda.pose("panda_link4", free_space.q[-1])[:3, 3]
    scene = mk.Scene()
    scene.add_sphere("ball", 0.08, mk.transform(elbow))
    motion = solved(panda, scene).self_motion(step=0.05)
    exact = CollisionModel(panda, scene)
    assert np.array_equal(motion.free, [not exact.collides(q) for q in motion.q])
    assert motion.free[motion.start]
    assert not motion.free.all()
    first, last = motion.free_parts[0]
    assert any(a <= 0.0 <= b for a, b in motion.free_parts)
    assert np.allclose(motion.at(first), motion.q[np.argmax(motion.s == first)])
    assert first < last


def test_a_curve_that_comes_back_is_closed():
    """Three parallel hinges that reach a point of the plane leave one freedom: the elbow goes round."""
    links = "".join(f"<link name='l{k}'/>" for k in range(5))
    joints = "".join(
        f"<joint name='j{k}' type='continuous'><parent link='l{k}'/><child link='l{k + 1}'/>"
        f"<origin xyz='{0.0 if k == 0 else length} 0 0'/><axis xyz='0 0 1'/></joint>"
        for k, length in enumerate((0.0, 1.0, 0.3))
    )
    tip = "<joint name='tip' type='fixed'><parent link='l3'/><child link='l4'/><origin xyz='1 0 0'/></joint>"
    robot = mk.load_robot(f"<robot name='planar'>{links}{joints}{tip}</robot>")
    target = robot.pose("l4", np.array([0.3, 0.9, 0.8]))[:3, 3]
    solution = mk.Problem(robot, mk.Position("l4")).solve(target, seed=np.array([0.3, 0.9, 0.8]))
    motion = solution.self_motion(step=0.05)
    assert motion.closed
    assert motion.ends == ()
    assert np.abs(robot.pose("l4", motion.q)[:, :3, 3] - target).max() < 1e-7


def test_what_has_no_self_motion_is_said(panda: mk.Robot):
    ur5 = mk.load_robot("ur5")
    pose = ur5.pose(ur5.links[-1], np.full(ur5.dof, 0.7))
    solution = mk.Problem(ur5, mk.Pose(ur5.links[-1])).solve(pose)
    with pytest.raises(InvalidInputError, match="leave 0"):
        solution.self_motion()
    with pytest.raises(InvalidInputError, match="hold further joints"):
        mk.Problem(panda, mk.Position(LINK)).solve((0.4, 0.0, 0.4)).self_motion()
    with pytest.raises(InvalidInputError, match="step is in radians"):
        solved(panda).self_motion(step=0.0)
    missed = mk.Problem(panda, mk.Pose(LINK)).solve(mk.transform((5.0, 0.0, 0.0)), evaluations=100)
    with pytest.raises(InvalidInputError, match="only a solution has a self-motion"):
        missed.self_motion()


def test_a_configuration_between_two_of_the_curve_lies_between_them(panda: mk.Robot):
    motion = solved(panda).self_motion()
    for k, share in ((1, 0.25), (len(motion) // 2, 0.5), (len(motion) - 1, 0.75)):
        s = (1.0 - share) * motion.s[k - 1] + share * motion.s[k]
        between = (1.0 - share) * motion.q[k - 1] + share * motion.q[k]
        np.testing.assert_allclose(motion.at(s), between, atol=1e-9)
    np.testing.assert_array_equal(motion.at(motion.s[0] - 1.0), motion.q[0])
    np.testing.assert_array_equal(motion.at(motion.s[-1] + 1.0), motion.q[-1])
