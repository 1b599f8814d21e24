"""Goals that were renamed: files, default names and old code still find them."""

import pickle

import pytest

import memetik as mk
from memetik import goals
from memetik.solve.problem_file import goal_class, goal_from_dict, goal_to_dict

RENAMED = {
    "Center": "CenterJoints",
    "Displacement": "MinimalDisplacement",
    "Effort": "GravityTorque",
    "Penetration": "NoPenetration",
    "Project": "ProjectOntoSurface",
    "Scan": "Viewpoint",
    "Side": "AvoidDirection",
}


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_name_warns_and_gives_the_class(old: str) -> None:
    new = getattr(goals, RENAMED[old])
    for module in (mk, goals):
        with pytest.warns(DeprecationWarning, match=RENAMED[old]):
            assert getattr(module, old) is new
    with pytest.warns(DeprecationWarning, match=RENAMED[old]):
        assert pickle.loads(f"c{new.__module__}\n{old}\n.".encode()) is new


@pytest.mark.parametrize("old", RENAMED)
def test_files_keep_the_old_name_and_take_both(old: str) -> None:
    new = getattr(goals, RENAMED[old])
    assert new.stored_name == old
    assert goal_class(old) is goal_class(RENAMED[old]) is new


def test_a_renamed_goal_is_written_and_named_as_before() -> None:
    goal = goals.AvoidDirection("hand", "z", "x")
    assert goal.default_name() == "side_hand"
    assert goals.NoPenetration().default_name() == "penetration"
    data = goal_to_dict(goal)
    assert data["type"] == "Side"
    assert repr(goal_from_dict(data)) == repr(goal_from_dict({**data, "type": "AvoidDirection"})) == repr(goal)


def test_a_goal_of_the_users_own_has_its_own_name() -> None:
    class Upright(goals.Goal):
        pass

    assert Upright.stored_name == "Upright"
    assert Upright().default_name() == "upright"
