"""xacro files become robots: arguments, includes, packages, errors."""

import json

import pytest
from public_robots import TOOLBOX

from memetik.cli.ros_words import argument_words
from memetik.doctor import diagnose
from memetik.errors import DescriptionError, InvalidInputError
from memetik.robot.load import load_description
from memetik.robot.readers.xacro import _Expansion
from memetik.robot.robot import Robot, load_robot
from memetik.robot.source_words import join_arguments, split_arguments

XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="length" default="0.5"/><xacro:arg name="tool" default="false"/>
  <xacro:include filename="parts/joint.xacro"/>
  <link name="base"/><link name="tip"/>
  <xacro:hinge name="turn" parent="base" child="tip" length="$(arg length)"/>
  <xacro:if value="$(arg tool)"><link name="tool"/>
    <xacro:hinge name="wrist" parent="tip" child="tool" length="1"/></xacro:if>
</robot>"""

PART = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="hinge" params="name parent child length">
    <joint name="${name}" type="revolute"><parent link="${parent}"/><child link="${child}"/>
      <origin xyz="0 0 ${2 * length}"/><limit lower="${-pi}" upper="${pi}" effort="1" velocity="1"/></joint>
  </xacro:macro></robot>"""


@pytest.fixture
def xacro_file(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "joint.xacro").write_text(PART)
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(XACRO)
    return path


def test_arguments_reach_the_macros(xacro_file):
    assert load_description(xacro_file).joints[0].origin[2, 3] == 1.0
    longer = load_description(xacro_file, arguments={"length": 2, "tool": True})
    assert longer.joints[0].origin[2, 3] == 4.0
    assert [link.name for link in longer.links] == ["base", "tip", "tool"]


def test_includes_start_at_the_file_wherever_the_program_runs(xacro_file, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert load_description(str(xacro_file)).name == "arm"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (XACRO.replace("$(arg length)", "${missing}"), "missing"),
        (XACRO.replace("parts/joint", "parts/none"), "none"),
        (XACRO.replace("</robot>", ""), "arm.urdf.xacro"),
        (PART, r"only defines macros \(hinge\)"),
        ("", "arm.urdf.xacro"),
    ],
)
def test_xacro_errors_name_the_file(xacro_file, text, word):
    xacro_file.write_text(text)
    with pytest.raises(DescriptionError, match=word):
        load_description(xacro_file)


def test_arguments_of_a_plain_urdf_are_an_error(tmp_path):
    path = tmp_path / "plain.urdf"
    path.write_text('<robot name="r"><link name="a"/></robot>')
    with pytest.raises(InvalidInputError, match="not a xacro file"):
        load_description(path, arguments={"length": 1})


def test_packages_are_found_by_search_path_and_by_name(tmp_path, xacro_file):
    package = tmp_path / "elsewhere" / "renamed"
    package.mkdir(parents=True)
    (package / "joint.xacro").write_text(PART)
    xacro_file.write_text(XACRO.replace("parts/joint.xacro", "$(find hinge_parts)/joint.xacro"))
    assert load_description(xacro_file, search_path={"hinge_parts": package}).name == "arm"
    (package / "package.xml").write_text("<package><name>hinge_parts</name></package>")
    assert load_description(xacro_file, search_path=[package]).name == "arm"
    with pytest.raises(DescriptionError, match=r"package 'hinge_parts' is not found; looked for in search_path"):
        load_description(xacro_file)


@pytest.mark.parametrize(
    ("name", "dof"),
    [("wx250s.urdf.xacro", 9), ("panda_arm_hand.urdf.xacro", 9), ("lbr_iiwa_14_r820.xacro", 7), ("irb140.xacro", 6)],
)
def test_public_xacro_robots_load(name, dof):
    path = next(TOOLBOX.rglob(name))
    assert sum(joint.axes for joint in load_description(path).joints) == dof


def test_expanded_and_plain_descriptions_of_a_public_robot_agree():
    expanded = Robot(load_description(next(TOOLBOX.rglob("lbr_iiwa_14_r820.xacro"))))
    plain = Robot(load_description(next(TOOLBOX.rglob("lbr_iiwa_14_r820.urdf"))))
    q = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert expanded.joint_names == plain.joint_names
    assert abs(expanded.pose("tool0", q) - plain.pose("tool0", q)).max() < 1e-4  # the plain one is rounded


def test_expanding_leaves_no_trace_in_xacro(xacro_file, monkeypatch):
    import xacro

    monkeypatch.setenv("MEMETIK_CACHE", "off")
    before = dict(vars(xacro)), dict(vars(xacro.substitution_args))
    load_description(xacro_file)
    after = dict(vars(xacro)), dict(vars(xacro.substitution_args))
    for old, new in zip(before, after, strict=True):
        assert {name for name in {*old, *new} if old.get(name) is not new.get(name)} <= {
            *("filestack", "macrostack", "all_includes", "substitution_args_context", "verbosity")
        }


def test_any_name_of_an_argument_reaches_the_file_by_a_plain_path(xacro_file):
    xacro_file.write_text(XACRO.replace("$(arg length)", "$(arg name)").replace('"length" default', '"name" default'))
    assert load_description(str(xacro_file), arguments={"name": 3}).joints[0].origin[2, 3] == 6.0


def test_a_misspelt_argument_is_refused_with_those_that_there_are(xacro_file):
    with pytest.raises(InvalidInputError, match=r"no argument 'lenght'; did you mean 'length'.*length \('0.5'\), tool"):
        load_description(xacro_file, arguments={"lenght": 2})


def test_an_argument_without_value_lists_the_declared_ones(xacro_file):
    xacro_file.write_text(XACRO.replace("$(arg length)", "$(arg width)"))
    with pytest.raises(DescriptionError, match=r"line 5.*width.*Arguments \(with defaults\): length \('0.5'\)"):
        load_description(xacro_file)


def test_errors_name_macro_file_and_line(xacro_file):
    part = xacro_file.parent / "parts" / "joint.xacro"
    part.write_text(PART.replace("${2 * length}", "${2 * lenght}"))
    with pytest.raises(DescriptionError, match=r"joint\.xacro, line 4, in macro 'hinge'.*lenght") as caught:
        load_description(xacro_file)
    assert caught.value.line == 4


def test_xacro_in_a_file_called_urdf_is_expanded_with_a_note(xacro_file):
    path = xacro_file.rename(xacro_file.with_name("arm.urdf"))
    description = load_description(path, arguments={"length": 2})
    assert description.joints[0].origin[2, 3] == 4.0
    assert "holds xacro" in description.notes[0].message


SRDF_XACRO = """<robot name="$(arg name)" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="name" default="x"/><xacro:macro name="pair" params="one two">
<disable_collisions link1="${one}" link2="${two}" reason="Never"/></xacro:macro>
<group name="arm"><chain base_link="base" tip_link="tip"/></group><xacro:pair one="base" two="tip"/></robot>"""


def test_an_srdf_in_xacro_is_expanded_and_found_beside_the_file_and_in_a_moveit_package(xacro_file):
    beside = xacro_file.parent / "arm.srdf.xacro"
    beside.write_text(SRDF_XACRO)
    for options in ({}, {"srdf": beside}, {"srdf": True}):
        semantics = load_description(xacro_file, **options).semantics
        assert semantics.disabled_pairs == (("base", "tip", "Never"),)
        assert [group.name for group in semantics.groups] == ["arm"]
    config = xacro_file.parent.parent / "ws" / "arm_moveit_config" / "config"
    config.mkdir(parents=True)
    (config.parent / "package.xml").write_text("<package><name>arm_moveit_config</name></package>")
    beside.rename(config / "arm.srdf")
    assert not load_description(xacro_file).semantics.groups
    found = load_description(xacro_file, search_path=config.parent.parent)
    assert [group.name for group in found.semantics.groups] == ["arm"]


def test_expansions_are_kept_until_any_file_of_them_changes(xacro_file, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMETIK_CACHE", str(tmp_path / "cache"))
    runs = []
    run = _Expansion.run
    monkeypatch.setattr(_Expansion, "run", lambda self, given: runs.append(given) or run(self, given))
    part = xacro_file.parent / "parts" / "joint.xacro"
    assert [load_description(xacro_file).joints[0].origin[2, 3] for _ in range(3)] == [1.0] * 3
    assert len(runs) == 1
    load_description(xacro_file, arguments={"length": 1})
    assert len(runs) == 2
    part.write_text(PART.replace("2 * length", "3 * length"))
    assert load_description(xacro_file).joints[0].origin[2, 3] == 1.5
    assert len(runs) == 3
    (entry, *_) = (tmp_path / "cache" / "xacro").iterdir()
    entry.write_text("{broken")
    assert load_description(xacro_file).joints[0].origin[2, 3] == 1.5


def test_expansions_that_ask_the_environment_are_not_kept(xacro_file, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMETIK_CACHE", str(tmp_path / "cache"))
    xacro_file.write_text(XACRO.replace('length="$(arg length)"', 'length="$(optenv ARM_LENGTH 1)"'))
    assert load_description(xacro_file).joints[0].origin[2, 3] == 2.0
    monkeypatch.setenv("ARM_LENGTH", "3")
    assert load_description(xacro_file).joints[0].origin[2, 3] == 6.0


def test_arguments_may_follow_the_path_as_on_the_command_line_of_xacro(xacro_file):
    assert load_description(f"{xacro_file} length:=2 tool:=true").joints[0].origin[2, 3] == 4.0
    assert load_description(f"{xacro_file} length:='2'", arguments={"length": 3}).joints[0].origin[2, 3] == 6.0
    text = join_arguments("a b.xacro", {"one": "it's", "two": ""})
    assert split_arguments(text) == ("a b.xacro", {"one": "it's", "two": ""})


def test_verbs_take_arguments(xacro_file, tmp_path):
    from typer.testing import CliRunner

    from memetik.cli.app import app

    for words in (["--arg", "length=2"], ["--arg", "length:=2"], argument_words(["length:=2"])):
        done = CliRunner().invoke(app, ["fk", str(xacro_file), "--json", *words])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["poses"]["tip"]["position"][2] == 4.0
    done = CliRunner().invoke(app, ["doctor", str(xacro_file), "--samples", "0", "--json", "--arg", "lenght=2"])
    assert "no argument 'lenght'" in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE r [<!ENTITY a "b">]>' + XACRO,
        XACRO.replace("</robot>", "<link/>" * 70_000 + "</robot>"),
        XACRO.replace("</robot>", "<a>" * 3_000 + "</a>" * 3_000 + "</robot>"),
    ],
)
def test_xacro_is_bounded_as_other_xml_is(xacro_file, text):
    xacro_file.write_text(text)
    with pytest.raises(DescriptionError, match=r"document type|more than 60000 elements|nests elements"):
        load_description(xacro_file)


def test_arguments_of_the_root_have_their_declared_defaults(tmp_path):
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="$(arg name)"><xacro:arg name="name" default="arm"/>'
        '<xacro:arg name="size" default="1"/><link name="a$(arg size)"/></robot>'
    )
    (tmp_path / "arm.srdf.xacro").write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="$(arg name)"><xacro:arg name="name" default="x"/>'
        '<group name="$(arg name)_all"><link name="a2"/></group></robot>'
    )
    robot = load_robot(path, arguments={"size": 2})
    assert (robot.name, robot.links, robot.groups) == ("arm", ("a2",), ("arm_all",))
    assert load_robot(path, arguments={"name": "left"}).name == "left"
    findings = diagnose(path, arguments={"size": 2})
    assert not [finding for finding in findings if finding.code.startswith("srdf")]
