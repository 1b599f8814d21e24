"""The bundled robots: how they are found and built, their trees, limits, bodies and semantics."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pinocchio
import pytest
from bundled_truth import moving, poses, random_values, touching

from memetik.doctor import diagnose
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.robot import bundled
from memetik.robot.bundled.builder import body, box, capsule, cylinder
from memetik.robot.description import Geometry
from memetik.robot.validate import structural_defects

NAMES = bundled.names()

FIRST = ("panda", "ur5", "ur10", "iiwa14", "pr2", "valkyrie", "elise")
SECOND = (
    "ur3", "ur3e", "ur5e", "ur10e", "fanuc_m10ia", "kr120", "racer5", "racer3", "katana300", "katana400", "youbot_arm",
    "powerball", "baxter", "shadow_hand", "shadow_hand_arm", "ur10_curved_endoscope", "mannequin", "character", "wolf",
    "chain",
)  # fmt: skip

DOF = {
    "panda": 8, "ur5": 6, "ur10": 6, "iiwa14": 7, "pr2": 19, "valkyrie": 61, "elise": 9, "ur3": 6, "ur3e": 6, "ur5e": 6,
    "ur10e": 6, "fanuc_m10ia": 6, "kr120": 6, "racer5": 6, "racer5_plate": 6, "racer3": 6, "racer3_plate": 6,
    "katana300": 6, "katana400": 6, "youbot_arm": 6, "powerball": 6, "baxter": 17, "shadow_hand": 19,
    "shadow_hand_arm": 26, "ur10_curved_endoscope": 6, "mannequin": 42, "character": 78, "wolf": 58, "chain": 15,
}  # fmt: skip


def test_every_promised_robot_is_there_and_each_has_its_number_of_joints() -> None:
    assert set(FIRST) | set(SECOND) <= set(NAMES)
    assert {name: bundled.summary(name).dof for name in NAMES} == DOF


def test_unknown_names_and_parameters_say_what_would_be_right() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'panda'"):
        bundled.description("pande")
    with pytest.raises(InvalidInputError, match="has no parameter 'hands'; it takes 'hand'"):
        bundled.description("panda", hands=True)
    with pytest.raises(InvalidInputError, match="takes none"):
        bundled.description("ur5", model="ur10")
    with pytest.raises(InvalidInputError, match="from 1 to 200, not 201"):
        bundled.description("chain201")


def test_loading_panda_imports_nothing_heavy() -> None:
    code = (
        "import sys; from memetik.robot import bundled; bundled.description('panda');"
        "print(*sorted({m.split('.')[0] for m in sys.modules}));"
        "print(*sorted(m for m in sys.modules if m.startswith('memetik.robot.bundled.')))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert not {"scipy", "trimesh", "yourdfpy", "xacrodoc", "pinocchio", "coal"} & set(out[0].split())
    assert out[1].split() == [f"memetik.robot.bundled.{module}" for module in ("builder", "looks", "panda")]


@pytest.mark.parametrize("name", NAMES)
def test_building_twice_gives_the_same_robot(name: str) -> None:
    assert repr(bundled.description(name)) == repr(bundled.description(name))


@pytest.mark.parametrize("name", [*NAMES, "chain1", "chain200"])
def test_each_is_one_sound_tree(name: str) -> None:
    robot = bundled.description(name)
    assert structural_defects(robot) == []
    children = [joint.child for joint in robot.joints]
    assert len(children) == len(set(children)) == len(robot.links) - 1
    assert len(poses(robot, {})) == len(robot.links)


@pytest.mark.parametrize("name", NAMES)
def test_doctor_has_nothing_to_warn_of(name: str) -> None:
    found = [str(finding) for finding in diagnose(bundled.description(name), samples=200) if finding.severity != "info"]
    assert found == []


@pytest.mark.parametrize("name", NAMES)
def test_limits_are_finite_and_ordered_except_of_continuous_joints(name: str) -> None:
    for joint in moving(bundled.description(name)):
        lower, upper = joint.lower[0], joint.upper[0]
        if joint.kind == "continuous":
            assert (lower, upper) == (-math.inf, math.inf)
        else:
            assert -math.inf < lower < upper < math.inf, joint.name
        assert 0.0 < joint.velocity[0] < math.inf, joint.name
        assert min(joint.effort[0], joint.acceleration[0]) > 0.0, joint.name
        assert lower <= max(joint.soft_lower[0], lower) <= min(joint.soft_upper[0], upper) <= upper, joint.name


@pytest.mark.parametrize("name", NAMES)
def test_inertias_are_those_of_solid_bodies(name: str) -> None:
    """Positive definite, and no moment larger than the sum of the two others."""
    robot = bundled.description(name)
    for link in robot.links:
        if link.inertial is None:
            continue
        moments = np.linalg.eigvalsh(link.inertial.inertia)
        assert link.inertial.mass > 0.0
        assert moments[0] > 0.0, link.name
        assert moments[2] <= (moments[0] + moments[1]) * (1 + 1e-9), link.name
    assert any(link.inertial for link in robot.links)


@pytest.mark.parametrize(
    ("geometry", "build"),
    [
        (capsule((0.1, 0.2, 0.3), (0.1, 0.2, 0.8), 0.07), lambda m: pinocchio.Inertia.FromCapsule(m, 0.07, 0.5)),
        (cylinder((0.1, 0.2, 0.3), (0.1, 0.2, 0.8), 0.07), lambda m: pinocchio.Inertia.FromCylinder(m, 0.07, 0.5)),
        (box((0.1, 0.2, 0.4), (0.1, 0.2, 0.55)), lambda m: pinocchio.Inertia.FromBox(m, 0.1, 0.2, 0.4)),
    ],
)
def test_inertia_of_a_primitive_equals_pinocchios(geometry: Geometry, build) -> None:
    inertial = body("link", geometry, mass=2.5).inertial
    assert inertial is not None
    assert np.allclose(inertial.inertia, build(2.5).inertia, rtol=1e-9)
    assert np.allclose(inertial.com, (0.1, 0.2, 0.55))


def test_inertia_of_two_primitives_is_their_sum_by_the_parallel_axis_theorem() -> None:
    parts = (box((0.1, 0.1, 0.1), (0.3, 0, 0)), box((0.2, 0.1, 0.1), (-0.1, 0.2, 0.0), (0.3, 0.5, -0.7)))
    inertial = body("link", *parts, mass=3.0).inertial
    assert inertial is not None
    total = pinocchio.Inertia.Zero()
    for part, mass in zip(parts, (1.0, 2.0), strict=True):
        at = pinocchio.SE3(part.origin[:3, :3], part.origin[:3, 3])
        total += at.act(pinocchio.Inertia.FromBox(mass, *part.shape.size))
    assert np.allclose(inertial.com, total.lever)
    assert np.allclose(inertial.inertia, total.inertia)


@pytest.mark.parametrize("name", NAMES)
def test_semantics_speak_of_links_joints_and_groups_that_exist(name: str) -> None:
    robot = bundled.description(name)
    links = {link.name for link in robot.links}
    joints = {joint.name: joint for joint in robot.joints}
    groups = {group.name for group in robot.semantics.groups}
    assert robot.semantics.end_effectors, "a robot without a tip is of no use for inverse kinematics"
    for group in robot.semantics.groups:
        assert set(group.links) <= links
        assert set(group.joints) <= set(joints)
        assert set(group.subgroups) <= groups
        assert {end for chain in group.chains for end in chain} <= links
        assert group.links or group.joints or group.subgroups or group.chains
    for effector in robot.semantics.end_effectors:
        assert effector.parent_link in links
        assert {effector.group, effector.parent_group} - {""} <= groups
    for state in robot.semantics.states:
        assert state.group in groups
        for joint, values in state.values.items():
            assert joints[joint].mimic is None
            for value, lower, upper in zip(values, joints[joint].lower, joints[joint].upper, strict=True):
                assert lower <= value <= upper, (state.name, joint)
    solid = {link.name for link in robot.links if link.collisions}
    for one, other, _ in robot.semantics.disabled_pairs:
        assert one != other
        assert {one, other} <= solid


@pytest.mark.parametrize("name", NAMES)
def test_named_states_are_free_of_self_collision(name: str) -> None:
    """Each state on top of the first state of every other group, as the robot would stand."""
    robot = bundled.description(name)
    standing: dict[str, float] = {}
    for state in reversed(robot.semantics.states):
        standing.update({joint: values[0] for joint, values in state.values.items()})
    for state in robot.semantics.states:
        values = {**standing, **{joint: values[0] for joint, values in state.values.items()}}
        assert touching(robot, values) == [], state.name


@pytest.mark.parametrize("name", NAMES)
def test_no_two_links_touch_in_every_configuration_unless_disabled(name: str) -> None:
    robot = bundled.description(name)
    rng = np.random.default_rng(7)
    always = set(touching(robot, random_values(robot, rng)))
    for _ in range(12):
        if not always:
            break
        always &= set(touching(robot, random_values(robot, rng), always))
    assert always == set()
