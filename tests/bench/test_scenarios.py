"""Scenarios: the same for the same seed, what they promise, and configurations that prove targets reachable."""

import numpy as np
import pytest

from memetik.bench.run.seeding import SEEDINGS, seeds_of, straight_configuration
from memetik.bench.run.verification import Verifier
from memetik.bench.scenarios import NOT_FOUND, REACHABLE, SCENARIOS, UNKNOWN, scenario
from memetik.bench.scenarios.build import NoReachableTarget
from memetik.bench.scenarios.target_draft import tool_links
from memetik.collision.exact import CollisionModel
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.robot.robot import load_robot

BUILT_IN = [
    ("Random", "ur10"), ("RandomFar", "ur10"), ("Singular", "ur10"), ("Grid", "ur10"), ("Table", "elise"),
    ("SmallTable", "ur10"), ("TableObjects", "elise"), ("Shelf", "ur10"), ("Barrel", "elise"),
    ("HydrogenTank", "elise"), ("HydrogenTankSmall", "elise"), ("Corridor", "ur10"), ("Clutter:7", "ur10"),
    ("Track", "ur10"), ("FullBody:6", None), ("FullBody:3", None), ("Chain:12", None),
]  # fmt: skip


def verifier_of(found):
    return Verifier(found.robot, found.goals, found.scene, self_collision=found.self_collision)


@pytest.mark.parametrize(("name", "robot"), BUILT_IN)
def test_every_scenario_has_reachable_targets_with_proofs(name, robot):
    found = scenario(name, robot, targets=5)
    assert len(found) == 5
    assert (found.reachable == REACHABLE).all()
    check = verifier_of(found)
    for k in range(5):
        assert check.check(found.of(k), found.known_solutions[k]).holds
        assert found.robot.within_limits(found.seeds[k])


def test_all_names_are_tried_above():
    assert {name.partition(":")[0] for name, _ in BUILT_IN} == set(SCENARIOS)


def test_the_same_seed_gives_the_same_scenario_and_another_seed_another():
    first, again, other = (scenario("Shelf", "ur10", targets=4, seed=seed, reachability="skip") for seed in (0, 0, 1))
    assert first.key == again.key
    assert np.array_equal(first.poses, again.poses)
    assert np.array_equal(first.seeds, again.seeds)
    assert first.key != other.key


def test_unreachable_targets_are_told_apart_and_unknown_ones_too():
    checked = scenario("Table", "ur10", targets=12, reachability="check")
    assert len(checked) == 12
    assert {REACHABLE, NOT_FOUND} == set(checked.reachable.tolist())
    assert np.isnan(checked.known_solutions[checked.reachable == NOT_FOUND]).all()
    far = np.linalg.norm(checked.poses[checked.reachable == NOT_FOUND][:, :2, 3], axis=1)
    assert far.max() > 1.3  # the far end of the table is beyond the arm
    assert (scenario("Table", "ur10", targets=3, reachability="skip").reachable == UNKNOWN).all()


def test_a_robot_that_does_not_fit_a_scenario_is_told_so():
    with pytest.raises(NoReachableTarget, match="not made for it"):
        scenario("HydrogenTankSmall", "ur3", targets=2)


def test_far_targets_are_near_limits_or_at_the_end_of_the_reach():
    far, near = scenario("RandomFar", "ur10", targets=20), scenario("Random", "ur10", targets=200)
    reach = np.linalg.norm(near.poses[:, :3, 3], axis=1)
    distance = np.linalg.norm(far.poses[:, :3, 3], axis=1)
    span = far.robot.upper - far.robot.lower
    margin = np.minimum(far.known_solutions - far.robot.lower, far.robot.upper - far.known_solutions) / span
    cornered = (margin < 0.021).sum(axis=1) >= 4
    assert cornered.sum() >= 10
    assert (distance[~cornered] > np.percentile(reach, 80)).all()


def test_singular_targets_lose_a_direction():
    found = scenario("Singular", "elise", targets=6)
    values = np.linalg.svd(found.robot.jacobian(found.link, found.known_solutions), compute_uv=False)[:, -1]
    usual = np.linalg.svd(found.robot.jacobian(found.link, found.robot.random(0, 200)), compute_uv=False)[:, -1]
    assert np.median(values) < 0.01 * np.median(usual)


def test_levels_of_clutter_hold_each_other():
    counts = [len(scenario(f"Clutter:{level}", "ur10", targets=2).scene.names) for level in (0, 3, 10)]
    assert counts == [0, 12, 40]
    three, ten = (scenario(f"Clutter:{level}", "ur10", targets=2).scene for level in (3, 10))
    for name in three.names:
        assert np.array_equal(three[name].pose, ten[name].pose)


def test_streams_move_in_small_steps_from_the_configuration_before():
    found = scenario("Track", "ur10", targets=60)
    assert np.abs(found.known_solutions - found.seeds).max() <= 0.02 + 1e-12
    assert np.array_equal(found.seeds[1], found.known_solutions[0])
    assert not CollisionModel(found.robot).collides(found.known_solutions).any()


def test_the_spin_about_the_tool_may_be_left_free():
    found = scenario("Table", "ur10", targets=3, spin="free")
    assert [type(goal).__name__ for goal in found.goals] == ["Position", "AlignAxis"]
    q = found.known_solutions[0].copy()
    q[5] += 1.0 if q[5] < 0 else -1.0  # the last joint turns the tool about its z axis
    assert verifier_of(found).check(found.of(0), q, collision=False).holds


def test_a_tool_is_what_stands_at_the_tip():
    assert tool_links(load_robot("elise"), "tip") == ("tip",)
    assert "wrist_3_link" in tool_links(load_robot("ur10"), "tool0")
    assert "wrist_2_link" not in tool_links(load_robot("ur10"), "tool0")
    assert {"panda_hand", "panda_leftfinger"} <= set(tool_links(load_robot("panda"), "panda_hand_tcp"))


@pytest.mark.parametrize("seeding", SEEDINGS)
def test_seeds_are_the_same_for_all_and_within_limits(seeding):
    found = (
        scenario("HydrogenTank", "elise", targets=4) if seeding != "follow" else scenario("Track", "elise", targets=4)
    )
    seeds = seeds_of(found, seeding, trial=1)
    assert seeds.shape == (4, 9)
    assert np.array_equal(seeds, seeds_of(found, seeding, trial=1))
    assert found.robot.within_limits(seeds).all()
    if seeding in ("random", "keep"):
        assert not np.array_equal(seeds, seeds_of(found, seeding, trial=2))
    if seeding == "another":
        assert all((seed == found.known_solutions).all(axis=1).any() for seed in seeds)
        assert not (seeds == found.known_solutions).all(axis=1).any()


def test_the_straight_seed_has_entered_the_tank_without_touching_it():
    found = scenario("HydrogenTank", "elise", targets=2)
    q = straight_configuration(found)
    opening = found.metadata["opening"]
    tip = found.robot.pose("tip", q)
    assert np.allclose(q[6:], 0.0)
    assert np.allclose(tip[:3, 2], opening["axis"], atol=1e-4)
    assert np.allclose(tip[:3, 3], opening["centre"] + 0.1 * opening["axis"], atol=1e-4)
    assert not CollisionModel(found.robot, found.scene).collides(q)


def test_an_argument_may_be_an_option_too():
    assert scenario("Chain", joints=12, targets=1).robot.dof == 12
    assert scenario("FullBody", setup=3, targets=1).key != scenario("FullBody:8", targets=1).key


def test_wrong_names_and_arguments_lead_to_right_ones():
    with pytest.raises(UnknownNameError, match="Shelf"):
        scenario("Shelves", "ur10")
    with pytest.raises(InvalidInputError, match="no argument"):
        scenario("Shelf:3", "ur10")
    with pytest.raises(InvalidInputError, match="0 to 10"):
        scenario("Clutter:11", "ur10")
    with pytest.raises(InvalidInputError, match="needs a robot"):
        scenario("Random")
    with pytest.raises(UnknownNameError, match="setup"):
        scenario("FullBody:9")
    for joints in ("5", "201", "many", ""):
        with pytest.raises(InvalidInputError, match="from 6 to 200"):
            scenario(f"Chain:{joints}")
    with pytest.raises(InvalidInputError, match="brings its own robot"):
        scenario("FullBody:3", "ur10")
    with pytest.raises(InvalidInputError, match="seed is"):
        scenario("Random", "ur10", seed=-1)
    for name, options, words in (
        ("Shelf", {"spinn": "free"}, "its options are spin, link"),
        ("Grid", {"spin": "free"}, "no option 'spin'"),
        ("Shelf", {"size": "x"}, "cannot be made with the options"),
        ("Shelf", {"link": 5}, "name of a link"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            scenario(name, "ur10", targets=1, reachability="skip", **options)
    with pytest.raises(InvalidInputError, match="seeding"):
        seeds_of(scenario("Random", "ur10", targets=1), "randm", 0)
