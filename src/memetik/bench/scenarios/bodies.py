"""Robots of their own: a humanoid's whole body in eight setups, and serial chains of 6 to 200 joints."""

from __future__ import annotations

import numpy as np

from memetik.bench.scenarios.target_draft import Order, TargetDraft, pose_goal
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.goals.base import Goal
from memetik.goals.direction import LookAt
from memetik.goals.pose import Orientation, Pose, Position

HEAD, RIGHT, LEFT = "upperNeckPitchLink", "rightPalm", "leftPalm"
FEET = ("rightFoot", "leftFoot")
FINGERTIPS = (
    "rightThumbPitch3Link",
    "rightIndexFingerPitch3Link",
    "rightMiddleFingerPitch3Link",
    "rightPinkyPitch3Link",
)

FEWEST, MOST = 6, 200
"""Joints of a chain."""

SETUPS: dict[str, tuple[str, str]] = {
    "1": ("torso_right_arm", "pose of the right wrist"),
    "2": ("right_leg", "pose of the right foot"),
    "3": ("torso_both_arms", "poses of both wrists"),
    "4": ("torso_right_arm_head", "pose of the right wrist, place of the elbow, line of sight"),
    "5": ("torso_both_arms_head", "poses of both wrists, line of sight"),
    "6": ("torso_right_hand", "turn of the right palm, places of four fingertips"),
    "7": ("body_without_head", "poses of both wrists and both feet"),
    "8": ("full_body", "poses of both wrists and both feet, line of sight"),
}
"""The humanoid's setups by number: the group of its joints, and what is asked of it."""


def full_body(order: Order) -> TargetDraft:
    """Targets of all goals of a setup, from random configurations. The body may touch itself."""
    robot, rng = order.robot, order.rng
    goals = _body_goals(order, str(order.option("setup", "8")))
    q = robot.random(rng, order.count)
    targets = tuple(_target(robot.pose(goal.links[0], q), goal, rng) for goal in goals)
    return TargetDraft(robot, goals, targets, self_collision=False, known_solutions=q)


def body_robot(setup: str | None) -> str:
    """The group of the humanoid that a setup moves."""
    setup = "8" if setup is None else setup
    if setup not in SETUPS:
        raise UnknownNameError("setup", setup, "scenario 'FullBody'", SETUPS)
    return f"valkyrie:{SETUPS[setup][0]}"


def chain(order: Order) -> TargetDraft:
    """Poses of random configurations of a long chain, which may touch itself."""
    goal = pose_goal(order)
    q = order.robot.random(order.rng, order.count)
    return TargetDraft(order.robot, (goal,), (order.robot.pose(goal.link, q),), self_collision=False, known_solutions=q)


def chain_robot(joints: str | None) -> str:
    """The bundled chain of so many joints."""
    text = "30" if joints is None else joints
    if not text.isdigit() or not FEWEST <= int(text) <= MOST:
        raise InvalidInputError(
            f"scenario 'Chain' takes a number of joints from {FEWEST} to {MOST}, such as Chain:30, not {text!r}."
        )
    return f"chain{int(text)}"


def _body_goals(order: Order, setup: str) -> tuple[Goal, ...]:
    away, turn = order.tolerance.position, order.tolerance.rotation

    def pose(link: str) -> Goal:
        return Pose(link, position_tolerance=away, rotation_tolerance=turn)

    sight = LookAt(HEAD, "x", tolerance=turn)
    hands = (pose(RIGHT), pose(LEFT))
    feet = tuple(pose(foot) for foot in FEET)
    return {
        "1": (pose(RIGHT),),
        "2": (pose(FEET[0]),),
        "3": hands,
        "4": (pose(RIGHT), Position("rightElbowPitchLink", tolerance=away), sight),
        "5": (*hands, sight),
        "6": (Orientation(RIGHT, tolerance=turn), *(Position(tip, tolerance=away) for tip in FINGERTIPS)),
        "7": (*hands, *feet),
        "8": (*hands, *feet, sight),
    }[setup]


def _target(poses: np.ndarray, goal: Goal, rng: np.random.Generator) -> np.ndarray:
    if isinstance(goal, Pose):
        return poses
    if isinstance(goal, Position):
        return np.ascontiguousarray(poses[:, :3, 3])
    if isinstance(goal, Orientation):
        return np.ascontiguousarray(poses[:, :3, :3])
    assert isinstance(goal, LookAt)
    return poses[:, :3, 3] + rng.uniform(0.3, 2.0, (len(poses), 1)) * (poses[:, :3, :3] @ goal.axis)
