"""Bringing up an arm, stage by stage: which arm is chosen, which limits are filled in, and what the file says."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.execution.bring_up import DEFAULT_VELOCITY, STAGES, BringUpReport, Stage, bring_up, replace_pairs

pytest.importorskip("coal")

QUICK = {"samples": 200, "targets": 4, "motions": 1}

URDF = """
<robot name="two">
  <link name="base"><collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
  <link name="upper"><collision><origin xyz="0 0 0.25"/><geometry><cylinder radius="0.03" length="0.4"/></geometry>
    </collision></link>
  <link name="fore"><collision><origin xyz="0 0 0.28"/><geometry><cylinder radius="0.03" length="0.5"/></geometry>
    </collision></link>
  <link name="hand"/>
  <joint name="turn" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.06"/>
    <axis xyz="1 0 0"/><limit lower="-2.5" upper="2.5" effort="50" velocity="VELOCITY"/></joint>
  <joint name="bend" type="TYPE"><parent link="upper"/><child link="fore"/><origin xyz="0 0 0.5"/>
    <axis xyz="1 0 0"/><limit lower="LOWER" upper="UPPER" effort="50" velocity="0"/></joint>
  <joint name="end" type="fixed"><parent link="fore"/><child link="hand"/><origin xyz="0 0 0.4"/></joint>
</robot>
"""

SRDF = """
<robot name="two">
  <group name="arm"><chain base_link="base" tip_link="hand"/></group>
  <group name="first"><joint name="turn"/></group>
  <end_effector name="tool" parent_link="hand" group="hand" parent_group="arm"/>EFFECTOR
</robot>
"""


def write(folder: Path, velocity="1.5", kind="revolute", lower="-2.8", upper="2.8") -> Path:
    path = folder / "two.urdf"
    text = URDF.replace("VELOCITY", velocity).replace("TYPE", kind).replace("LOWER", lower).replace("UPPER", upper)
    path.write_text(text)
    return path


def stages(report: BringUpReport) -> dict[str, Stage]:
    return {stage.name: stage for stage in report.stages}


@pytest.mark.parametrize(
    ("kind", "lower", "upper", "turns"),
    [("revolute", "-2.8", "2.8", True), ("prismatic", "0", "0.3", False)],
)
def test_joints_without_limits_get_cautious_ones_of_their_kind(tmp_path, kind, lower, upper, turns):
    report = bring_up(write(tmp_path, "1.5", kind, lower, upper), tmp_path / "two.toml", **QUICK)
    data = tomllib.loads((tmp_path / "two.toml").read_text())
    velocity = DEFAULT_VELOCITY[turns]
    assert data["limits"]["bend"] == {"velocity": velocity, "acceleration": 2.0 * velocity}
    assert "turn" not in data["limits"]
    limits = stages(report)["limits"]
    assert limits.summary == "limits of 1 of 2 joints filled in, 2 notes about limits from the reader"
    assert any("bend: no velocity limit" in detail and ("rad/s" in detail) == turns for detail in limits.details)
    robot = mk.load_robot(tmp_path / "two.toml")
    np.testing.assert_allclose(robot.velocity, [1.5, velocity])
    np.testing.assert_allclose(robot.acceleration, [3.0, 2.0 * velocity])


def test_ranges_that_are_odd_are_pointed_out(tmp_path):
    report = bring_up(write(tmp_path, lower="-4.0", upper="4.0"), tmp_path / "two.toml", **QUICK)
    assert any("bend: the range is 458 degrees" in detail for detail in stages(report)["limits"].details)
    report = bring_up(write(tmp_path, lower="0.0", upper="0.0005"), tmp_path / "two.toml", **QUICK)
    assert any("bend: the range is only 0.0005 rad" in detail for detail in stages(report)["limits"].details)


def test_the_arm_with_the_end_effector_is_the_one_that_is_moved(tmp_path):
    urdf, srdf = write(tmp_path), tmp_path / "two.srdf"
    srdf.write_text(SRDF.replace("EFFECTOR", ""))
    report = bring_up(urdf, tmp_path / "two.toml", srdf=srdf, **QUICK)
    data = tomllib.loads((tmp_path / "two.toml").read_text())
    assert data["robot"] == {"source": "two.urdf", "srdf": "two.srdf", "tip": "hand", "group": "arm"}
    assert "2 joints of group 'arm'" in stages(report)["load"].summary


def test_of_several_arms_one_must_be_named(tmp_path):
    urdf, srdf = write(tmp_path), tmp_path / "two.srdf"
    second = '<end_effector name="other" parent_link="upper" group="x" parent_group="first"/>'
    srdf.write_text(SRDF.replace("EFFECTOR", second))
    report = bring_up(urdf, tmp_path / "two.toml", srdf=srdf, **QUICK)
    assert report.path is None
    assert not report.ready
    assert "choose group= from arm, first" in stages(report)["load"].summary
    assert not (tmp_path / "two.toml").exists()
    chosen = bring_up(urdf, tmp_path / "two.toml", srdf=srdf, group="first", tip="upper", **QUICK)
    assert chosen.path == tmp_path / "two.toml"
    assert stages(chosen)["load"].figures == {"dof": 1, "tip": "upper"}


def test_unknown_groups_and_tips_are_told_in_the_stage_that_loads(tmp_path):
    urdf = write(tmp_path)
    for options, name in (({"group": "leg"}, "leg"), ({"tip": "foot"}, "foot")):
        report = bring_up(urdf, tmp_path / "two.toml", **options, **QUICK)
        assert not report.ready
        assert name in stages(report)["load"].summary


def test_the_file_can_be_moved_with_its_robot(tmp_path):
    (tmp_path / "there").mkdir()
    urdf = write(tmp_path / "there")
    bring_up(urdf, tmp_path / "there" / "two.toml", **QUICK)
    moved = tmp_path / "elsewhere"
    (tmp_path / "there").rename(moved)
    assert mk.load_robot(moved / "two.toml").tip == "hand"


def test_a_robot_far_away_is_named_by_its_whole_path(tmp_path):
    urdf = write(tmp_path)
    far = tmp_path / "a" / "b" / "c"
    far.mkdir(parents=True)
    bring_up(urdf, far / "two.toml", **QUICK)
    assert tomllib.loads((far / "two.toml").read_text())["robot"]["source"] == str(urdf)
    assert mk.load_robot(far / "two.toml").dof == 2


def test_every_stage_is_announced_and_its_figures_are_in_the_file(tmp_path):
    seen: list[str] = []
    report = bring_up(write(tmp_path), tmp_path / "two.toml", watch=seen.append, **QUICK)
    assert tuple(seen) == STAGES
    assert [stage.name for stage in report.stages] == list(STAGES)
    checks = tomllib.loads((tmp_path / "two.toml").read_text())["checks"]
    by_name = stages(report)
    assert checks["self_collision_samples"] == 200
    assert checks["load_dof"] == 2
    assert checks["planning_planned"] == by_name["planning"].figures["planned"]
    assert checks["spheres_bodies"] == by_name["spheres"].figures["bodies"]


def test_pairs_that_need_no_check_are_in_the_file_and_in_force(tmp_path):
    bring_up(write(tmp_path), tmp_path / "two.toml", **QUICK)
    data = tomllib.loads((tmp_path / "two.toml").read_text())
    assert ["base", "upper", "Adjacent"] in data["collision"]["unchecked"]
    robot = mk.load_robot(tmp_path / "two.toml")
    assert ("base", "upper") in {pair[:2] for pair in robot.description.semantics.disabled_pairs}


def test_a_robot_without_shapes_is_not_ready_and_still_written(tmp_path):
    path = tmp_path / "bare.urdf"
    text = write(tmp_path).read_text()
    while "<collision>" in text:
        begin, end = text.index("<collision>"), text.index("</collision>") + len("</collision>")
        text = text[:begin] + text[end:]
    path.write_text(text)
    report = bring_up(path, tmp_path / "bare.toml", **QUICK)
    assert not report.ready
    assert stages(report)["self-collision"].summary == "no link has a collision shape: nothing can be checked"
    assert (tmp_path / "bare.toml").exists()


def test_only_toml_files_are_written(tmp_path):
    with pytest.raises(InvalidInputError, match=r"\.toml file, not to 'two.yaml'"):
        bring_up(write(tmp_path), tmp_path / "two.yaml", **QUICK)


def test_pairs_keep_the_reason_each_was_given(elbow):
    found = replace_pairs(
        elbow, [("base", "upper", "Adjacent"), ("base", "fore", "Never"), ("upper", "fore", "Adjacent")]
    )
    disabled = {frozenset(pair[:2]): pair[2] for pair in found.description.semantics.disabled_pairs}
    assert disabled == {
        frozenset(("base", "upper")): "Adjacent",
        frozenset(("base", "fore")): "Never",
        frozenset(("upper", "fore")): "Adjacent",
    }


def test_a_report_is_ready_only_if_every_stage_is():
    good, bad = Stage("one", True, ""), Stage("two", False, "")
    assert BringUpReport((good, good), None).ready
    assert not BringUpReport((good, bad), None).ready
