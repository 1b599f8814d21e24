"""Motion capture files."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import memetik as mk
from memetik.errors import DescriptionError, InvalidInputError

TEXT = """HIERARCHY
ROOT Hips
{
  OFFSET 0.0 90.0 0.0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Spine
  {
    OFFSET 0.0 10.0 1.0
    CHANNELS 3 Zrotation Xrotation Yrotation
    JOINT Head
    {
      OFFSET 0.0 40.0 0.0
      CHANNELS 3 Yrotation Xrotation Zrotation
      End Site
      {
        OFFSET 0.0 20.0 0.0
      }
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.0333333
1 2 3 10 20 30 5 6 7 8 9 10
-1 0 2 -10 40 130 15 -6 70 18 -9 100
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "walk.bvh"
    path.write_text(TEXT)
    return path


def test_frames_place_nodes_as_the_format_says(file):
    animation = mk.load_bvh(file)
    numbers = np.array([1, 2, 3, 10, 20, 30, 5, 6, 7, 8, 9, 10], dtype=float)
    hips = Rotation.from_euler("ZXY", numbers[3:6], degrees=True)
    spine = hips * Rotation.from_euler("ZXY", numbers[6:9], degrees=True)
    head = spine * Rotation.from_euler("YXZ", numbers[9:12], degrees=True)
    at = np.array([0.0, 90.0, 0.0]) + numbers[:3]
    at = at + hips.apply([0, 10, 1])
    at = at + spine.apply([0, 40, 0])
    pose = animation.robot.pose("Head", animation.postures[0])
    np.testing.assert_allclose(pose[:3, 3], 0.01 * at, atol=1e-12)
    np.testing.assert_allclose(pose[:3, :3], head.as_matrix(), atol=1e-12)
    top = animation.robot.pose("Head_end", animation.postures[0])
    np.testing.assert_allclose(top[:3, 3], 0.01 * (at + head.apply([0, 20, 0])), atol=1e-12)


def test_bones_reach_from_node_to_node(file):
    links = {link.name: link for link in mk.load_bvh(file).robot.description.links}
    (bone,) = links["Spine"].visuals
    ends = bone.origin @ np.array([[0, 0, sign * 0.5 * bone.shape.length, 1.0] for sign in (-1, 1)]).T
    np.testing.assert_allclose(ends[:3].T, [[0, 0.04, 0], [0, 0.36, 0]], atol=1e-12)
    assert not links["Head_end"].visuals


def test_what_is_saved_is_read_again(file, tmp_path):
    animation = mk.load_bvh(file)
    moved = animation.postures + 0.1
    animation.save(tmp_path / "again.bvh", moved)
    again = mk.load_bvh(tmp_path / "again.bvh")
    np.testing.assert_allclose(again.postures, moved, atol=1e-7)
    assert again.frame_time == pytest.approx(animation.frame_time)
    assert again.robot.links == animation.robot.links
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


def test_an_edited_frame_meets_its_goal(file):
    animation = mk.load_bvh(file)
    goal = animation.robot.pose("Head", animation.postures[1])[:3, 3] + (0.02, -0.05, 0.01)
    solution = mk.solve(
        animation.robot, [mk.Position("Head", goal), mk.MinimalDisplacement()], seed=animation.postures[1]
    )
    assert solution.success


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("HIERARCHY", "SKELETON", "'HIERARCHY' is expected"),
        ("Zrotation", "Wrotation", "channel 'Wrotation'"),
        ("JOINT Spine", "JOINT Hips", "two nodes named 'Hips'"),
        ("Frames: 2", "Frames: 3", "numbers follow"),
        ("0.0333333", "0", "must be positive"),
        ("90.0", "tall", "where a number is expected"),
        ("1 2 3", "1 nan 3", "not finite"),
        ("}\nMOTION", "\nMOTION", "'MOTION'"),
    ],
)
def test_broken_files_are_told(file, old, new, message):
    file.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(DescriptionError, match=message):
        mk.load_bvh(file)


def test_a_missing_file_and_a_bad_scale_are_told(tmp_path):
    with pytest.raises(DescriptionError, match="cannot be read"):
        mk.load_bvh(tmp_path / "none.bvh")
    with pytest.raises(InvalidInputError, match="must be positive"):
        mk.load_bvh(tmp_path / "none.bvh", scale=0.0)
