"""Pairs left unchecked: from SRDF, neighbours, and by sampling, which must not change from call to call."""

import numpy as np
import pytest

from memetik.errors import UnknownNameError
from memetik.robot.description import Description, Geometry, Joint, Link
from memetik.robot.robot import Robot, load_robot
from memetik.robot.shapes import Box, Sphere
from memetik.robot.transforms import transform
from memetik.scene.allowed import (
    adjacent_pairs,
    checked_pairs,
    default_pairs,
    pairs_never_within,
    propose_allowed,
    sample_postures,
    srdf_pairs,
)
from memetik.scene.exact import CollisionModel

pytest.importorskip("coal")


def arm() -> Robot:
    """base - upper - (elbow, no shape) - fore - hand; hand's shape is so large that it always meets upper's."""
    links = (
        Link("base", collisions=(Geometry(Box((0.1, 0.1, 0.1))),)),
        Link("upper", collisions=(Geometry(Sphere(0.2)),)),
        Link("elbow"),
        Link("fore", collisions=(Geometry(Sphere(0.05)),)),
        Link("hand", collisions=(Geometry(Sphere(0.3)),)),
        Link("far", collisions=(Geometry(Sphere(0.01)),)),
    )

    def turn(name, parent, child, place):
        return Joint(name, "revolute", parent, child, transform(place), (0.0, 1.0, 0.0), lower=(-2.0,), upper=(2.0,))

    joints = (
        turn("j1", "base", "upper", (0, 0, 0.3)),
        Joint("fix", "fixed", "upper", "elbow", transform((0, 0, 0.2))),
        turn("j2", "elbow", "fore", (0, 0, 0.0)),
        turn("j3", "fore", "hand", (0, 0, 0.1)),
        turn("j4", "base", "far", (0, 50.0, 0.0)),
    )
    return Robot(Description("arm", links, joints))


def test_neighbours_are_found_across_links_without_shapes():
    assert adjacent_pairs(arm()) == {("base", "upper"), ("fore", "upper"), ("fore", "hand"), ("base", "far")}


def test_sampling_sorts_pairs_into_always_never_and_sometimes():
    proposal = propose_allowed(arm(), samples=300, rng=1)
    assert proposal.adjacent == adjacent_pairs(arm())
    assert proposal.always == {("hand", "upper")}
    assert ("far", "hand") in proposal.never
    assert ("far", "upper") in proposal.never
    assert set(proposal.sometimes) == {("base", "hand")}
    assert 0.0 < proposal.sometimes["base", "hand"] < 1.0
    assert proposal.reasons()["hand", "upper"] == "Default"
    assert proposal.reasons()["far", "hand"] == "Never"
    assert ("base", "hand") not in proposal.pairs


def test_the_share_of_colliding_postures_is_right():
    robot = arm()
    postures = sample_postures(robot, 300, 1)
    poses = robot.pose(["hand", "base"], postures)
    local = np.einsum("nij,nj->ni", np.swapaxes(poses[:, 1, :3, :3], 1, 2), poses[:, 0, :3, 3] - poses[:, 1, :3, 3])
    gap = np.linalg.norm(np.maximum(np.abs(local) - 0.05, 0.0), axis=1)
    assert propose_allowed(robot, samples=300, rng=1).sometimes["base", "hand"] == pytest.approx((gap < 0.3).mean())


def test_the_same_rng_gives_the_same_proposal():
    first, second = (propose_allowed(load_robot("panda"), samples=300, rng=5) for _ in range(2))
    assert first == second
    assert first != propose_allowed(load_robot("panda"), samples=300, rng=6)


def test_srdf_pairs_and_neighbours_are_the_default():
    robot = load_robot("panda")
    assert srdf_pairs(robot)
    assert default_pairs(robot) == srdf_pairs(robot) | adjacent_pairs(robot)
    assert ("panda_link0", "panda_link1") in default_pairs(robot)
    assert CollisionModel(robot).allowed == default_pairs(robot)


def test_without_srdf_links_that_always_collide_are_left_out_too():
    assert default_pairs(arm()) == adjacent_pairs(arm()) | {("hand", "upper")}
    assert CollisionModel(arm()).pairs == {("base", "fore"), ("base", "hand"), *FAR_PAIRS}


FAR_PAIRS = {("far", "fore"), ("far", "hand"), ("far", "upper")}


def test_pairs_by_hand_are_of_known_names():
    robot = arm()
    assert checked_pairs(robot, [("upper", "base")]) == {("base", "upper")}
    assert checked_pairs(robot, [("upper", "cup")], known=["cup"]) == {("cup", "upper")}
    with pytest.raises(UnknownNameError, match="did you mean 'upper'"):
        checked_pairs(robot, [("uper", "base")])


def test_sampled_postures_are_within_the_limits():
    robot = load_robot("panda")
    postures = sample_postures(robot, 200, 3)
    assert (postures >= robot.lower).all()
    assert (postures <= robot.upper).all()
    assert np.ptp(postures, axis=0) == pytest.approx(robot.upper - robot.lower, rel=0.1)


def test_pairs_that_are_never_near_are_far_apart_in_other_postures_too():
    robot = load_robot("panda")
    never = pairs_never_within(robot, 0.01)
    assert never
    assert not never & default_pairs(robot)
    model = CollisionModel(robot, None, allowed=default_pairs(robot))
    counts = model.count_collisions(sample_postures(robot, 400, 77))
    assert not any(counts[pair] for pair in never)
