"""Starts that touch a little, and joints without limits."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.robot.description import Description, Joint, Link

pytest.importorskip("coal")


def wall(depth: float) -> mk.Scene:
    """A wall that the gantry's ball, of 0.05 m, enters by `depth` when it is at the origin."""
    scene = mk.Scene()
    scene.add_box("wall", (0.2, 2.0, 0.2), mk.transform((-0.15 + depth, 0.0, 0.0)))
    return scene


@pytest.mark.parametrize(("depth", "margin"), [(5e-4, 0.0), (-0.004, 0.01), (5e-4, 0.01)])
def test_a_start_that_touches_slightly_or_is_within_the_margin_is_left_the_shortest_way(gantry, depth, margin):
    scene = wall(depth)
    plan = mk.plan(gantry, [0.5, 0.3], scene=scene, start=[0.0, 0.0], margin=margin)
    assert plan.success, plan.explain()
    np.testing.assert_allclose(plan.trajectory.start, [0.0, 0.0], atol=1e-12)
    out = plan.path[1]
    assert depth + margin <= out[0] < 1.2 * (depth + margin) + 1e-4  # straight away from the wall
    assert abs(out[1]) < 0.4 * (depth + margin)
    assert "left first" in plan.explain()
    model = mk.CollisionModel(gantry, scene)
    way = plan.trajectory.at(np.linspace(0.0, plan.duration, 2000))
    distances = model.distance(way)
    first = int(np.argmax(distances >= margin))
    assert (distances[first:] >= margin - 1e-6).all()
    assert (np.diff(way[:first, 0]) >= -1e-12).all()


def test_a_start_deep_in_something_is_still_refused(gantry):
    plan = mk.plan(gantry, [0.5, 0.3], scene=wall(0.01), start=[0.0, 0.0])
    assert (plan.success, plan.reason) == (False, "start in collision")
    assert "wall" in plan.detail


@pytest.fixture
def turret() -> mk.Robot:
    joints = (
        Joint("turn", "continuous", "base", "arm", axis=(0.0, 0.0, 1.0), velocity=(1.0,)),
        Joint("tilt", "revolute", "arm", "tool", axis=(0.0, 1.0, 0.0), lower=(-7.0,), upper=(7.0,), velocity=(1.0,)),
    )
    return mk.Robot(Description("turret", (Link("base"), Link("arm"), Link("tool")), joints))


@pytest.mark.parametrize("turns", [-3, 0, 2])
def test_joints_without_limits_go_the_short_way_to_given_configurations(turret, turns):
    goal = np.array([3.0 + 2.0 * np.pi * turns, 0.5])
    plan = mk.plan(turret, goal, start=[-3.0, 0.0])
    assert plan.success
    assert plan.length < 0.7
    np.testing.assert_allclose(np.exp(1j * plan.goal), np.exp(1j * goal), atol=1e-9)
    named = mk.plan(turret, {"turn": goal[0]}, start=[-3.0, 0.0])
    assert named.length < 0.5


def test_joints_with_limits_go_to_the_turn_that_was_asked_for(turret):
    plan = mk.plan(turret, [0.0, 6.0], start=[0.0, 0.0])
    assert plan.goal[1] == 6.0
