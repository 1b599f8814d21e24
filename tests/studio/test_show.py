"""Pictures of robots, solutions and motions: pages that are complete in themselves."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.trajectory import Trajectory
from memetik.studio.show import show_motion


def test_a_robot_is_shown_in_a_page_of_its_own(tmp_path) -> None:
    robot = mk.load_robot("ur5")
    picture = robot.show()
    assert "__VISER_EMBED_DATA__" in picture.page
    assert picture._repr_html_().startswith("<iframe srcdoc=")
    picture.save(tmp_path / "robot.html")
    assert (tmp_path / "robot.html").stat().st_size == len(picture.page.encode())
    more = robot.show(robot.random(0, 4))
    assert len(more.page) > len(picture.page)


def test_a_solution_is_shown_with_its_scene(tmp_path) -> None:
    robot = mk.load_robot("panda")
    scene = mk.Scene()
    scene.add_box("wall", (0.2, 0.2, 0.2), mk.transform((0.5, 0.4, 0.3)))
    goal = mk.Pose("panda_hand", robot.pose("panda_hand", robot.state("ready")))
    solution = mk.solve(robot, [goal, mk.AvoidLimits()], scene=scene, seed=robot.state("ready"))
    plain = mk.solve(robot, [goal], seed=robot.state("ready")).show()
    assert len(solution.show().page) > len(plain.page)


def test_a_motion_is_shown_as_it_runs() -> None:
    robot = mk.load_robot("ur5")
    q = robot.state("ready")
    trajectory = Trajectory.from_points(robot.joint_names, [0.0, 1.0], np.array([q, q + 0.3]))
    still, moving = robot.show(q), show_motion(robot, trajectory)
    assert len(moving.page) > len(still.page)


def test_a_plan_is_shown_or_says_why_not() -> None:
    robot = mk.load_robot("ur5")
    q = robot.state("ready")
    plan = mk.plan(robot, q + 0.3, start=q)
    assert plan.success
    assert len(plan.show().page) > len(robot.show(q).page)
    failed = mk.plan(robot, q + 100.0, start=q)
    with pytest.raises(InvalidInputError, match="goal outside limits"):
        failed.show()
