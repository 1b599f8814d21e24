"""xacro files become robots: arguments, includes, packages, errors."""

import pytest
from public_robots import TOOLBOX

from memetik.errors import DescriptionError, InvalidInputError
from memetik.robot.load import load_description
from memetik.robot.robot import Robot

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
        (PART, "only define macros"),
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
    with pytest.raises(DescriptionError, match=r"joint\.xacro"):
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


def test_finding_packages_leaves_no_trace_in_xacrodoc(xacro_file):
    from xacrodoc import packages

    before = packages._finder
    load_description(xacro_file)
    assert packages._finder is before
