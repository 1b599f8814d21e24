"""Trackers that are told velocities."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.geometry.transforms import rotation_log

DT = 0.005


@pytest.fixture(scope="module")
def panda() -> mk.Robot:
    return mk.load_robot("panda")


def moved(panda: mk.Robot, twist, frame: str | None, steps: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start and end of the hand, and the axes of the frame at the start."""
    start = panda.state("ready")
    tracker = mk.Tracker(mk.Problem(panda, [mk.Pose("panda_hand")]), seed=start, dt=DT)
    for _ in range(steps):
        step = tracker.step_twist(twist, frame=frame)
    axes = np.eye(3) if frame is None else panda.pose(frame, start)[:3, :3]
    return panda.pose("panda_hand", start), panda.pose("panda_hand", step.q), axes


@pytest.mark.parametrize("frame", [None, "panda_hand", "panda_link0"])
def test_a_velocity_carries_the_link_along_the_axes_of_its_frame(panda, frame):
    twist = np.array([0.05, -0.03, 0.04, 0.0, 0.0, 0.0])
    before, after, axes = moved(panda, twist, frame)
    np.testing.assert_allclose(after[:3, 3] - before[:3, 3], axes @ twist[:3] * 200 * DT, atol=2e-3)
    assert np.linalg.norm(rotation_log(after[:3, :3] @ before[:3, :3].T)) < 5e-3


def test_an_angular_velocity_turns_the_link_about_its_origin(panda):
    before, after, axes = moved(panda, [0.0, 0.0, 0.0, 0.0, 0.0, 0.4], "panda_hand")
    np.testing.assert_allclose(after[:3, 3], before[:3, 3], atol=2e-3)
    turn = rotation_log(after[:3, :3] @ before[:3, :3].T)
    np.testing.assert_allclose(turn, axes @ [0.0, 0.0, 0.4 * 200 * DT], atol=5e-3)


def test_what_holds_the_link_up_is_not_caught_up_with_afterwards(panda):
    """Out of reach the carried pose stays on its leash: turning round moves the arm at once."""
    tracker = mk.Tracker(mk.Problem(panda, [mk.Pose("panda_hand")]), seed=panda.state("ready"), dt=DT)
    for _ in range(1500):
        tracker.step_twist([0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    far = panda.pose("panda_hand", tracker.q)[0, 3]
    for _ in range(150):
        tracker.step_twist([-0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert panda.pose("panda_hand", tracker.q)[0, 3] < far - 0.1


def test_targets_may_be_given_in_the_frame_of_a_link(panda):
    start = panda.state("ready")
    tracker = mk.Tracker(mk.Problem(panda, [mk.Pose("panda_hand")]), seed=start, dt=DT)
    ahead = tracker.in_world(mk.transform((0.0, 0.0, 0.05)), "panda_hand")
    np.testing.assert_allclose(ahead, panda.pose("panda_hand", start) @ mk.transform((0.0, 0.0, 0.05)))


def test_what_is_no_twist_or_no_pose_goal_is_refused(panda):
    tracker = mk.Tracker(mk.Problem(panda, [mk.Pose("panda_hand")]))
    for wrong in ([1.0, 2.0], [np.nan] * 6):
        with pytest.raises(mk.InvalidInputError, match="6 finite numbers"):
            tracker.step_twist(wrong)
    with pytest.raises(mk.InvalidInputError, match="Pose goal"):
        mk.Tracker(mk.Problem(panda, [mk.Position("panda_hand")])).step_twist(np.zeros(6))
