"""What readers make of exported trajectories, by interpolation of their own: joint_trajectory_controller's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BPoly

import memetik as mk
from memetik.motion.timing.rest_segments import straight
from memetik.motion.timing.timing import TimingError, time_path
from memetik.motion.timing.trajectory import Trajectory, join
from memetik.motion.timing.trajectory_file import from_csv, to_csv

POINTS = [
    [0.0, -0.3, 0.0, -2.0, 0.0, 1.6, 0.7],
    [0.8, 0.2, 0.3, -1.5, 0.2, 1.8, 0.1],
    [-0.4, 0.4, 0.6, -1.0, 0.9, 2.4, 0.9],
]


def controller(message: dict, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions and accelerations of joint_trajectory_controller: Hermite interpolation of what all points have."""
    points = message["points"]
    times = [p["time_from_start"]["sec"] + 1e-9 * p["time_from_start"]["nanosec"] for p in points]
    keys = [key for key in ("positions", "velocities", "accelerations") if len(points[0][key])]
    columns = range(len(message["joint_names"]))
    joints = [BPoly.from_derivatives(times, [[p[key][k] for key in keys] for p in points]) for k in columns]
    return np.stack([j(t) for j in joints], axis=1), np.stack([j(t, 2) for j in joints], axis=1)


@pytest.fixture(scope="module")
def arm() -> mk.Robot:
    return mk.load_robot("panda").group("panda_arm")


def trajectories(arm: mk.Robot) -> dict[str, Trajectory]:
    made = {method: time_path(arm, POINTS, method=method) for method in ("blends", "spline")}
    back = straight(arm.joint_names, made["blends"].end, POINTS[0], (arm.velocity, np.full(7, 5.0)))
    return {**made, "fifth degree": back, "both": join([made["blends"], back])}


@pytest.mark.parametrize("kind", ["blends", "spline", "fifth degree", "both"])
def test_what_a_controller_makes_of_a_message_is_the_motion(arm, kind):
    way = trajectories(arm)[kind]
    t = np.linspace(0.0, way.duration, 5000)[1:-1]
    q, push = controller(way.to_ros(), t)
    assert np.abs(q - way.at(t)).max() < 2e-6
    assert (np.abs(push).max(axis=0) <= way.peaks(2) * 1.001 + 1e-3).all()


@pytest.mark.parametrize("kind", ["blends", "spline", "fifth degree", "both"])
def test_tables_and_messages_are_read_as_they_were_meant(arm, kind):
    way = trajectories(arm)[kind]
    t = np.linspace(0.0, way.duration, 2000)
    for back in (from_csv(to_csv(way)), Trajectory.from_ros(way.to_ros())):
        assert np.abs(back.at(t) - way.at(t)).max() < 2e-6


def test_points_without_velocities_stay_straight():
    way = Trajectory.from_points(("a",), [0.0, 1.0, 2.0], [[0.0], [1.0], [0.0]])
    assert [point["velocities"] for point in way.to_ros()["points"]] == [[], [], []]
    np.testing.assert_allclose(Trajectory.from_ros(way.to_ros()).at([0.5, 1.5]), [[0.5], [0.5]])


def test_a_plan_is_resampled_within_its_free_space_or_the_rate_is_refused(gantry):
    """A post stands inside the corner: at few points a second the corner would be cut through it."""
    scene = mk.Scene()
    scene.add_box("wall", (0.8, 0.6, 0.2), mk.transform((0.0, 0.2, 0.0)))
    plan = mk.plan(gantry, [0.55, 0.4], scene=scene, start=[-0.55, 0.4])
    assert plan.success
    assert len(plan.path) > 2
    fine = plan.resampled(200.0)
    assert not mk.CollisionModel(gantry, scene).collides(fine.at(np.linspace(0.0, fine.duration, 999))).any()
    with pytest.raises(TimingError, match=r"points at 2 Hz cannot be proved free.*higher rate"):
        plan.resampled(2.0)
