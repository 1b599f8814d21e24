"""Goals held along motions: measured by plain kinematics, contacts by exact geometry, every refusal by name."""

import numpy as np
import pytest

import memetik as mk
from memetik.collision.exact import CollisionModel
from memetik.errors import GoalError, InvalidInputError
from memetik.geometry.transforms import inverse
from memetik.motion.execution.recovery import Recovery
from memetik.motion.planning.held_space import HeldGoals
from memetik.motion.planning.proofs import certify
from memetik.motion.timing.limits import MotionLimits
from memetik.motion.timing.timing import TimingError

pytest.importorskip("coal")

TOLERANCE = 1e-3


@pytest.fixture(scope="module")
def panda() -> mk.Robot:
    return mk.load_robot("panda")


@pytest.fixture(scope="module")
def wall() -> mk.Scene:
    scene = mk.Scene()
    scene.add_box("wall", (0.3, 0.04, 0.6), mk.transform((0.55, 0.0, 0.3)))
    return scene


def upright(robot: mk.Robot) -> mk.AlignAxis:
    return mk.AlignAxis(robot.tip, "z", to="-z", tolerance=TOLERANCE)


def tilt(robot: mk.Robot, rows: np.ndarray) -> float:
    """The largest angle between the tool's z axis and straight down."""
    return float(np.arccos(np.clip(-robot.pose(robot.tip, rows)[:, 2, 2], -1.0, 1.0)).max())


@pytest.fixture(scope="module")
def ends(panda, wall) -> tuple[np.ndarray, np.ndarray]:
    found = [
        mk.solve(panda, [upright(panda), mk.Position(panda.tip, (0.5, y, 0.3))], scene=wall, seed=panda.neutral)
        for y in (0.3, -0.3)
    ]
    assert all(found)
    return found[0].q, found[1].q


@pytest.fixture(scope="module")
def carried(panda, wall, ends) -> mk.Plan:
    plan = mk.plan(panda, ends[1], wall, ends[0], along=upright(panda))
    assert plan.success, plan.explain()
    return plan


def milliseconds(plan: mk.Plan) -> np.ndarray:
    assert plan.trajectory is not None
    return plan.trajectory.at(np.linspace(0.0, plan.duration, int(1000 * plan.duration) + 2))


def test_an_upright_tool_stays_upright_around_a_wall(panda, wall, ends, carried):
    rows = milliseconds(carried)
    np.testing.assert_allclose(rows[[0, -1]], ends, atol=1e-9)
    assert tilt(panda, rows) <= TOLERANCE
    assert not CollisionModel(panda, wall).collides(rows).any()
    free = mk.plan(panda, ends[1], wall, ends[0])
    assert tilt(panda, milliseconds(free)) > 20 * TOLERANCE  # without along= it does not stay so


def test_velocity_and_acceleration_keep_their_limits(panda, carried):
    limits = MotionLimits.of(panda)
    assert (carried.trajectory.peaks(1) <= limits.velocity * (1 + 1e-6)).all()
    assert (carried.trajectory.peaks(2) <= limits.acceleration * (1 + 1e-6)).all()


def test_the_same_seed_gives_the_same_motion(panda, wall, ends, carried):
    again = mk.plan(panda, ends[1], wall, ends[0], along=[upright(panda)])
    np.testing.assert_array_equal(again.path, carried.path)


def test_goals_at_the_end_are_met_together_with_those_along_the_way(panda, wall, ends):
    target = (0.45, -0.35, 0.35)
    plan = mk.plan(panda, [mk.Position(panda.tip, target)], wall, ends[0], along=upright(panda))
    assert plan.success
    np.testing.assert_allclose(panda.pose(panda.tip, plan.goal)[:3, 3], target, atol=2e-5)
    assert tilt(panda, milliseconds(plan)) <= TOLERANCE


def test_a_line_is_kept_by_a_motion_in_joint_space(panda, ends):
    point = panda.pose(panda.tip, ends[0])[:3, 3]
    line = mk.Line(panda.tip, point, "y", tolerance=TOLERANCE)
    end = mk.solve(panda, [line, mk.Position(panda.tip, point + np.array([0.0, -0.4, 0.0]))], seed=ends[0])
    plan = mk.plan(panda, end.q, start=ends[0], along=[line], self_collision=False)
    assert plan.success, plan.explain()
    off = (panda.pose(panda.tip, milliseconds(plan))[:, :3, 3] - point)[:, [0, 2]]
    assert np.linalg.norm(off, axis=1).max() <= TOLERANCE


def test_a_box_is_held_by_two_hands():
    robot = mk.load_robot("baxter")
    left, right = robot.tips[-1], robot.tips[-2]
    seed = robot.q({"left_s0": -0.6, "right_s0": 0.6, "left_e1": 1.2, "right_e1": 1.2})
    apart = inverse(robot.pose(left, seed)) @ robot.pose(right, seed)
    grip = mk.RelativePose(right, left, apart, position_tolerance=TOLERANCE, rotation_tolerance=TOLERANCE)
    target = robot.pose(left, seed)
    target[:3, 3] += (0.02, 0.1, 0.1)
    plan = mk.plan(robot, [mk.Pose(left, target)], start=seed, along=[grip], self_collision=False)
    assert plan.success, plan.explain()
    assert np.abs(plan.path[-1] - seed).max() > 0.05
    off = inverse(robot.pose(left, milliseconds(plan)) @ apart) @ robot.pose(right, milliseconds(plan))
    assert np.linalg.norm(off[:, :3, 3], axis=1).max() <= TOLERANCE
    assert np.arccos(np.clip((np.trace(off[:, :3, :3], axis1=1, axis2=2) - 1.0) / 2.0, -1.0, 1.0)).max() <= TOLERANCE


def test_goals_of_the_users_own_are_held_too(panda, ends):
    class Height(mk.Goal):
        links = (panda.tip,)
        tolerance = TOLERANCE

        def residual(self, q, poses):
            return poses[0][2, 3] - 0.3

    plan = mk.plan(panda, ends[1], start=ends[0], along=[Height()])
    assert plan.success, plan.explain()
    assert np.abs(panda.pose(panda.tip, milliseconds(plan))[:, 2, 3] - 0.3).max() <= TOLERANCE


def test_an_error_in_a_goal_of_the_users_own_is_raised(panda, ends):
    class Broken(mk.Goal):
        links = (panda.tip,)

        def residual(self, q, poses):
            raise RuntimeError("no such thing")

    with pytest.raises(RuntimeError, match="no such thing"):
        mk.plan(panda, ends[1], start=ends[0], along=[Broken()])


def test_projection_reaches_the_goals_within_the_limits(panda):
    held = HeldGoals(panda, upright(panda))
    rows, good = held.projected(panda.random(3, 200))
    assert good.mean() > 0.9
    assert (held.deviations(rows[good]) <= 0.01 + 1e-12).all()
    assert tilt(panda, rows[good]) <= 0.011 * TOLERANCE
    np.testing.assert_allclose(panda.clip(rows), rows, atol=1e-12)


def test_a_start_or_goal_off_the_goals_is_named(panda, ends):
    off = ends[0].copy()
    off[5] += 0.1
    plan = mk.plan(panda, ends[1], start=off, along=upright(panda))
    assert (plan.stage, plan.reason) == ("start", "start leaves goals")
    assert "alignaxis_" in plan.detail
    assert "times its tolerance" in plan.detail
    plan = mk.plan(panda, off, start=ends[0], along=upright(panda))
    assert (plan.stage, plan.reason) == ("configurations", "goal leaves goals")


def test_what_a_checker_seals_off_is_not_reached(panda, ends):
    class Barrier:
        def collides(self, q):
            return np.abs(np.atleast_2d(q)[:, 0]) < 0.01 if np.ndim(q) == 2 else abs(q[0]) < 0.01

    plan = mk.plan(panda, ends[1], Barrier(), ends[0], along=upright(panda), path_timeout=0.3)
    assert plan.reason == "no path found in time"
    aside = mk.solve(panda, [upright(panda), mk.Position(panda.tip, (0.35, 0.4, 0.3))], seed=ends[0]).q
    plan = mk.plan(panda, aside, Barrier(), ends[0], along=upright(panda))
    assert plan.success
    assert (milliseconds(plan)[:, 0] >= 0.01).all()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"along": [mk.AlignAxis("panda_hand", "z", priority=1, to="z")]}, GoalError, "priority"),
        ({"along": [mk.Pose("panda_hand")]}, GoalError, "open"),
        ({"planner": "sbl"}, InvalidInputError, "rrtconnect"),
        ({"timing": "ruckig"}, InvalidInputError, "ruckig"),
    ],
)
def test_what_cannot_be_held_is_refused(panda, ends, options, error, words):
    asked = {"along": upright(panda), **options}
    with pytest.raises(error, match=words):
        mk.plan(panda, ends[1], start=ends[0], **asked)


def test_points_at_a_rate_that_leaves_the_goals_are_refused(carried, panda):
    assert tilt(panda, carried.resampled(500.0).at(np.linspace(0.0, carried.duration, 3000))) <= TOLERANCE
    with pytest.raises(TimingError, match="higher rate"):
        carried.resampled(4.0)


def test_recovery_holds_the_goals_and_meets_them_again(panda, wall, carried):
    recovery = Recovery(panda, wall, panda.joint_names, carried.conditions)
    half = 0.5 * carried.duration
    beside = carried.trajectory.at(half).copy()
    beside[6] += 0.3  # a spin about the tool's axis: upright as before, but not on the way
    onwards = recovery.onwards(beside, carried.trajectory, half)
    assert onwards.trajectory is not None, onwards.message
    rows = onwards.trajectory.at(np.linspace(0.0, onwards.trajectory.duration, 2000))
    assert tilt(panda, rows) <= TOLERANCE
    tipped = carried.trajectory.at(half).copy()
    tipped[5] += 0.02
    onwards = recovery.onwards(tipped, carried.trajectory, half)
    assert onwards.trajectory is not None, onwards.message
    rows = onwards.trajectory.at(np.linspace(0.0, onwards.trajectory.duration, 2000))
    angles = np.array([tilt(panda, row[None]) for row in rows])
    assert (np.diff(angles[angles > TOLERANCE]) <= 1e-9).all()  # it is set upright first, and stays so
    assert certify(onwards.trajectory, mk.Planner(panda, scene=wall).space).free
