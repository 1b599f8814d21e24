"""Pairs left unchecked: from SRDF, neighbours, and by sampling, which must not change from call to call."""

import sys

import numpy as np
import pytest

from memetik.collision.allowed_pairs import (
    PairRule,
    adjacent_pairs,
    checked_pairs,
    count_collisions,
    default_pairs,
    pairs_never_within,
    propose_allowed,
    srdf_pairs,
)
from memetik.collision.exact import CollisionModel
from memetik.errors import UnknownNameError
from memetik.geometry.shapes import Box, Sphere
from memetik.geometry.transforms import transform
from memetik.robot.description import Description, Geometry, Joint, Link
from memetik.robot.robot import Robot, load_robot
from memetik.scene.scene import Scene

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


def test_the_share_of_colliding_configurations_is_right():
    robot = arm()
    configurations = robot.random(1, 300)
    poses = robot.pose(["hand", "base"], configurations)
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


def test_sampled_configurations_are_within_the_limits():
    robot = load_robot("panda")
    configurations = robot.random(3, 200)
    assert (configurations >= robot.lower).all()
    assert (configurations <= robot.upper).all()
    assert np.ptp(configurations, axis=0) == pytest.approx(robot.upper - robot.lower, rel=0.1)


def test_pairs_that_are_never_near_are_far_apart_in_other_configurations_too():
    robot = load_robot("panda")
    never = pairs_never_within(robot, 0.01)
    assert never
    assert not never & default_pairs(robot)
    model = CollisionModel(robot, None, allowed=default_pairs(robot))
    counts = model.count_collisions(robot.random(77, 400))
    assert not any(counts[pair] for pair in never)


def test_pairs_kept_on_disk_are_found_anew_where_a_mesh_file_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMETIK_CACHE", str(tmp_path / "cache"))
    small = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
    links = "".join(
        f'<link name="{name}"><collision><geometry><mesh filename="{mesh}.obj"/></geometry></collision></link>'
        for name, mesh in (("a", "first"), ("b", "other"), ("c", "other"))
    )
    joints = "".join(
        f'<joint name="j{parent}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        '<origin xyz="0 0 1"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        for parent, child in (("a", "b"), ("b", "c"))
    )
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{links}{joints}</robot>')
    for size, expected in ((1, False), (50, True), (1, False)):
        for name in ("first", "other"):
            large = size if name == "first" else 1
            (tmp_path / f"{name}.obj").write_text(small.replace("0.1", str(0.1 * large)))
        for _ in range(2):  # made, and taken from the disk
            default_pairs.cache_clear()
            assert (("a", "c") in default_pairs(load_robot(tmp_path / "arm.urdf"))) == expected


@pytest.mark.parametrize("name", ["panda", "ur10"])
def test_counts_are_those_of_coal(name):
    robot = load_robot(name)
    q = robot.random(3, 200)
    ours = count_collisions(robot, q)
    coals = CollisionModel(robot, None, allowed=()).count_collisions(q)
    assert {pair: count for pair, count in ours.counts.items() if count} == {k: n for k, n in coals.items() if n}
    assert set(coals) <= set(ours.counts)


def test_pairs_need_no_coal(monkeypatch):
    with_coal = default_pairs(arm())
    monkeypatch.setitem(sys.modules, "coal", None)
    assert default_pairs(arm()) == with_coal
    assert propose_allowed(arm(), samples=50).always == {("hand", "upper")}


def test_the_rule_as_a_table_is_the_rule():
    scene = Scene()
    for name in ("ball", "box"):
        scene.add_sphere(name, 0.1)
    scene.attach("cup", Sphere(0.05), link="hand", touch=("fore", "box"))
    scene.allow("ball", "base")
    rule = PairRule.in_scene(frozenset({("fore", "hand")}), scene.snapshot(), True)
    names, objects = ["base", "hand", "cup", "hand", "fore"], ["ball", "box"]
    assert rule.table(names, objects).tolist() == [[rule.checks(a, b) for b in objects] for a in names]


def test_the_pair_rule_leaves_out_what_is_allowed_attached_or_links_alone():
    scene = Scene()
    scene.add_sphere("ball", 0.1)
    scene.attach("cup", Sphere(0.05), link="hand", touch="fore")
    scene.allow("ball", "base")
    rule = PairRule.in_scene(frozenset({("fore", "hand")}), scene.snapshot(), True)
    assert rule.checks("ball", "hand")
    assert rule.checks("hand", "upper")
    assert rule.checks("cup", "upper")
    assert not rule.checks("ball", "base")
    assert not rule.checks("hand", "fore")
    assert not rule.checks("cup", "hand")
    assert not rule.checks("fore", "cup")
    alone = PairRule.in_scene(frozenset(), scene.snapshot(), False)
    assert not alone.checks("hand", "upper")
    assert alone.checks("hand", "ball")
    assert alone.checks("cup", "upper")
