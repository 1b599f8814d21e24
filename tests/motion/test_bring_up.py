"""Bringing up an arm: the stages, and the file that load_robot reads."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import memetik as mk
from memetik.cli.app import app
from memetik.files.toml_writer import to_toml
from memetik.motion.execution.bring_up import STAGES, bring_up

URDF = """
<robot name="two">
  <link name="base"><collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
  <link name="upper"><collision><origin xyz="0 0 0.25"/><geometry><cylinder radius="0.03" length="0.4"/></geometry>
    </collision></link>
  <link name="fore"><collision><origin xyz="0 0 0.28"/><geometry><cylinder radius="0.03" length="0.5"/></geometry>
    </collision></link>
  <link name="hand"/>
  <joint name="turn" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.06"/>
    <axis xyz="1 0 0"/><limit lower="-2.5" upper="2.5" effort="50" velocity="0"/></joint>
  <joint name="bend" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0 0 0.5"/>
    <axis xyz="1 0 0"/><limit lower="-2.8" upper="2.8" effort="50" velocity="2"/></joint>
  <joint name="end" type="fixed"><parent link="fore"/><child link="hand"/><origin xyz="0 0 0.4"/></joint>
</robot>
"""


@pytest.fixture
def urdf(tmp_path):
    path = tmp_path / "two.urdf"
    path.write_text(URDF)
    return path


def test_an_arm_is_set_up_and_loaded_from_its_file(urdf, tmp_path):
    report = bring_up(urdf, tmp_path / "two.toml", samples=500, targets=10, motions=3)
    assert [stage.name for stage in report.stages] == list(STAGES)
    robot = mk.load_robot(tmp_path / "two.toml")
    assert robot.tip == "hand"
    assert np.isfinite(robot.velocity).all()
    assert (robot.velocity > 0.0).all()
    disabled = {frozenset(pair[:2]): pair[2] for pair in robot.description.semantics.disabled_pairs}
    assert disabled[frozenset(("base", "upper"))] == "Adjacent"
    assert frozenset(("base", "fore")) not in disabled  # they meet in some postures
    by_name = {stage.name: stage for stage in report.stages}
    assert any("turn" in detail for detail in by_name["limits"].details)
    assert by_name["planning"].figures["planned"] == 3


def test_the_file_is_the_same_for_the_same_seed(urdf, tmp_path):
    texts = []
    for name in ("a.toml", "b.toml"):
        bring_up(urdf, tmp_path / name, samples=300, targets=5, motions=2, rng=3)
        text = (tmp_path / name).read_text()
        texts.append([line for line in text.splitlines() if "seconds" not in line])
    assert texts[0] == texts[1]


def test_a_broken_description_is_diagnosed_and_nothing_is_written(urdf, tmp_path):
    urdf.write_text(URDF.replace('<child link="fore"/>', '<child link="missing"/>'))
    report = bring_up(urdf, tmp_path / "two.toml", samples=100, targets=2, motions=1)
    assert not report.ready
    assert report.path is None
    assert not (tmp_path / "two.toml").exists()
    assert report.stages[0].details


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("schema = 'memetik.setup/2'", "memetik.setup/1"),
        ("not toml", "TOML"),
        ("schema = 'memetik.setup/1'\n[robot]\nsource = 'nothing.urdf'", "nothing.urdf"),
        ("schema = 'memetik.setup/1'\n[robot]\nsource = 'x.toml'", "robot config"),
        ("schema = 'memetik.setup/1'\n[robot]\nsource = 'panda'\ntip = 'hnd'", "hnd"),
        ("schema = 'memetik.setup/1'\n[robot]\nsource = 'panda'\ncolour = 'red'", "colour"),
        ("schema = 'memetik.setup/1'\n[robot]\nsource = 'panda'\n[limits.elbow]\nvelocity = 1.0", "elbow"),
        ("schema = 'memetik.setup/1'\n[robot]\nsource = 'panda'\n[collision]\nunchecked = [['a']]", "pair"),
    ],
)
def test_what_is_wrong_in_a_set_up_file_is_named(tmp_path, content, message):
    path = tmp_path / "arm.toml"
    path.write_text(content)
    with pytest.raises(mk.DescriptionError, match=message):
        mk.load_robot(path)


def test_limits_and_tip_of_a_set_up_file_are_in_force(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(
        "schema = 'memetik.setup/1'\n[robot]\nsource = 'ur5'\ntip = 'wrist_2_link'\n"
        "[limits.elbow_joint]\nvelocity = 0.5\nupper = 1.0\n"
    )
    robot = mk.load_robot(path)
    assert robot.tip == "wrist_2_link"
    index = robot.joint_index("elbow_joint")
    assert robot.velocity[index] == 0.5
    assert robot.upper[index] == 1.0


def test_the_command_line_says_ready(tmp_path):
    target = tmp_path / "ur5.toml"
    options = ["--samples", "200", "--targets", "5", "--motions", "2", "-o", str(target), "--json"]
    done = CliRunner().invoke(app, ["setup", "ur5", *options])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert found["schema"] == "memetik.setup-report/1"
    assert found["ready"]
    assert target.exists()


def test_toml_that_is_written_is_read_again():
    import tomllib

    document = {
        "text": 'a "quoted" \\ line\n',
        "numbers": [1, 2.5, float("inf")],
        "yes": True,
        "table": {"a key": {"x": 1}, "list": [["a", "b"], ["c"]]},
        "many": [{"n": 1}, {"n": 2}],
    }
    assert tomllib.loads(to_toml(document)) == document
