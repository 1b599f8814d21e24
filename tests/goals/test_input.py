"""What goals say of wrong input, how they print, and that they pickle."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import memetik as mk
from memetik import goals
from memetik.errors import GoalError, InvalidInputError, UnknownNameError
from memetik.goals.compiler import GoalCompiler
from memetik.robot.description import Description, Joint, Link
from memetik.robot.robot import Robot


@pytest.fixture(scope="module")
def panda() -> Robot:
    return mk.load_robot("panda")


WRONG: list[tuple[Callable[[], goals.Goal], str]] = [
    (lambda: goals.AlignAxis("hand", "w", "z"), "the axis of AlignAxis must be one of 'x'"),
    (lambda: goals.AlignAxis("hand", "z", (0, 0, 0)), "must have a direction"),
    (lambda: goals.AlignAxis("hand", "z", (0, math.nan, 1)), "must be 3 finite numbers"),
    (lambda: goals.AlignAxis("", "z", "x"), "needs the name of a link"),
    (lambda: goals.AlignAxis("hand", "z", "x", tolerance=0.0), "the tolerance of AlignAxis must be positive"),
    (
        lambda: goals.AlignAxis("hand", "z", "x", rotation_scale=-1.0),
        "the rotation_scale of AlignAxis must be positive",
    ),
    (lambda: goals.AlignAxis("hand", "z", "x", weight=-1.0), "weight of AlignAxis must be finite and not negative"),
    (lambda: goals.AlignAxis("hand", "z", "x", weight="much"), "weight of AlignAxis must be finite and not negative"),
    (lambda: goals.AlignAxis("hand", "z", "x", priority=-1), "priority of AlignAxis is 0 for a hard goal"),
    (lambda: goals.AlignAxis("hand", "z", "x", loss="huber"), "must be a Loss such as"),
    (lambda: goals.Cone("hand", "z", "x", 4.0), "the angle of Cone must lie between 0 and pi"),
    (lambda: goals.Cone("hand", "z", "x", 0.1, (0, 0)), "the position of Cone must be 3 finite numbers"),
    (lambda: goals.PartialOrientation("hand"), "leaves roll, pitch and yaw free"),
    (lambda: goals.PartialOrientation("hand", roll="loose"), "an angle, a range, 'free' or 'open'"),
    (lambda: goals.PartialOrientation("hand", pitch=(1.0, 2.0)), "within -pi/2 and pi/2"),
    (lambda: goals.PartialOrientation("hand", roll=(1.0, 0.5)), "lower below upper"),
    (lambda: goals.PartialOrientation("hand", roll="open", pitch=(0.1, 0.2)), "open angles or ranges, not both"),
    (lambda: goals.Line("hand", (0, 0, 0), "x", (1.0, 1.0)), "lower below upper"),
    (lambda: goals.Plane("hand", (0, 0, 0), "z", math.nan), "the height of Plane must be a finite number"),
    (lambda: goals.Distance("hand", (0, 0), 1.0), "a point (3,), points (K, 3) or a link"),
    (lambda: goals.Distance("hand", (0, 0, math.inf), 1.0), "must be finite"),
    (lambda: goals.Distance("hand", "elbow", 1.0, relative_to="base"), "names two links"),
    (lambda: goals.Distance("hand", (0, 0, 0), -1.0), "no point has the distance"),
    (lambda: goals.MinDistance("hand", (0, 0, 0), 0.0), "the distance of MinDistance must be positive"),
    (lambda: goals.MaxDistance("hand", np.zeros((3, 3)), 1.0, radii=(0.1, 0.2)), "one number or 3"),
    (lambda: goals.Pivot(["hand"], (0, 0, 0)), "at least two links"),
    (lambda: goals.Pivot(["arm", "hand"], (0, 0, 0), segment=(0, 1)), "are for one link"),
    (lambda: goals.Viewpoint("hand", (0, 0, 0)), "needs the point and the normal"),
    (lambda: goals.Viewpoint("hand", (0, 0, 0), "z", -0.1), "the distance of Viewpoint must be positive"),
    (lambda: goals.Balance((0, 0, 0), line="z"), "runs along gravity"),
    (lambda: goals.Balance((0, 0, 0), polygon=np.eye(3)), "not both"),
    (lambda: goals.Balance(polygon=[(0, 0, 0), (1, 0, 0), (2, 0, 1)]), "has no area"),
    (lambda: goals.Balance(polygon=[(0, 0, 0), (1, 0, 0), (0, 1, 0)], margin=0.5), "leaves nothing"),
    (lambda: goals.Balance((0, 0, 0), margin=0.1), "none is given"),
    (lambda: goals.JointValue(3), "needs the name of a joint"),
    (lambda: goals.JointValue("a", (2.0, 1.0)), "lower below upper"),
    (lambda: goals.JointFunction("a", abs), "needs a list of joints"),
    (lambda: goals.JointFunction(["a"], 3), "must be callable"),
    (lambda: goals.JointFunction(["a"], None), "the function of JointFunction must be callable"),
    (lambda: goals.AvoidLimits(weights="speed"), "there are no weights 'speed'"),
    (lambda: goals.MinimalDisplacement(weights={"a": -1.0}), "must not be negative"),
    (lambda: goals.Manipulability("hand", part="turning"), "there is no part 'turning'"),
    (lambda: goals.Manipulability("hand", relative_to="base"), "measured in the world"),
    (lambda: goals.GravityTorque(weights="all"), "there are no weights 'all'"),
]


@pytest.mark.parametrize(("make", "sentence"), WRONG, ids=[sentence for _, sentence in WRONG])
def test_wrong_arguments_are_told_in_sentences(make: Callable[[], goals.Goal], sentence: str) -> None:
    with pytest.raises(GoalError) as caught:
        make()
    assert sentence in str(caught.value)
    assert str(caught.value).endswith((".", "?"))


UNFIT: list[tuple[Callable[[], goals.Goal], type[Exception], str]] = [
    (lambda: goals.AlignAxis("hand", "z", "x"), UnknownNameError, "did you mean 'panda_hand'"),
    (lambda: goals.AlignAxis("panda_hand", "z", "x", relative_to="bench"), UnknownNameError, "is not in robot 'panda'"),
    (lambda: goals.JointValue("joint1", 0.0), UnknownNameError, "did you mean 'panda_joint1'"),
    (lambda: goals.AvoidLimits(joints=["joint"]), UnknownNameError, "is not in robot 'panda'"),
    (lambda: goals.Pivot(["panda_link4", "panda_link2"], (0, 0, 0)), GoalError, "is no descendant of"),
    (lambda: goals.Manipulability("panda_link3"), GoalError, "is moved by 3 joints"),
    (lambda: goals.MinimalDisplacement([0.0]), GoalError, "is no configuration of robot"),
    (lambda: goals.CenterJoints(weights=[1.0, 2.0]), GoalError, "are 8 numbers, not 2"),
]


@pytest.mark.parametrize(("make", "error", "sentence"), UNFIT, ids=[case[2] for case in UNFIT])
def test_goals_that_do_not_fit_the_robot_say_so(
    make: Callable[[], goals.Goal], error: type[Exception], sentence: str, panda: Robot
) -> None:
    with pytest.raises(error) as caught:
        GoalCompiler(panda).add(make())
    assert sentence in str(caught.value)


def test_goals_on_masses_or_limits_need_them() -> None:
    bare = Robot(Description("bare", (Link("a"), Link("b")), (Joint("turn", "continuous", "a", "b"),)))
    for goal, sentence in (
        (goals.Balance((0, 0, 0)), "needs masses"),
        (goals.GravityTorque(), "needs masses"),
        (goals.AvoidLimits(), "needs joints with limits"),
    ):
        with pytest.raises(GoalError, match=sentence):
            GoalCompiler(bare).add(goal)


def test_a_mimic_joints_value_is_its_own(panda: Robot) -> None:
    solution = mk.Problem(panda, goals.JointValue("panda_finger_joint2", 0.013)).solve(evaluations=1000)
    assert solution.success
    assert solution.joints["panda_finger_joint1"] == pytest.approx(0.013, abs=2e-5)


def test_goals_print_what_was_said() -> None:
    assert repr(goals.AlignAxis("hand", "z", "-z")) == "AlignAxis('hand', axis=[0., 0., 1.], to=[ 0., 0., -1.])"
    assert repr(goals.JointValue("a", 0.5, weight=2.0)) == "JointValue(weight=2.0, joint='a', value=0.5)"
    assert repr(goals.PartialOrientation("hand", yaw=0.5)) == "PartialOrientation('hand', yaw=0.5)"
    assert repr(goals.AvoidLimits()) == "AvoidLimits()"


def test_goals_cannot_be_changed() -> None:
    goal = goals.AlignAxis("hand", "z", "x")
    with pytest.raises(AttributeError):
        goal.to = (0, 0, 1)  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        goal.to[0] = 5.0


def test_goals_pickle(panda: Robot) -> None:
    made = [
        goals.PartialOrientation("panda_hand", roll=0.1, pitch=(0.0, 0.3)),
        goals.Balance(polygon=[(0, 0, 0), (1, 0, 0), (0, 1, 0)]),
        goals.MinDistance("panda_hand", np.eye(3), 0.1, radii=0.2, loss=goals.Hyperbola()),
        goals.Pivot(panda.links[2:5], (0, 0, 0)),
        goals.MinimalDisplacement(weights={"panda_joint1": 3.0}),
    ]
    for goal in made:
        again = pickle.loads(pickle.dumps(goal))
        assert repr(again) == repr(goal)
        first, second = GoalCompiler(panda), GoalCompiler(panda)
        first.add(goal)
        second.add(again)
        for one, other in zip(first.terms, second.terms, strict=True):
            assert np.array_equal(one.spec.data, other.spec.data)


def test_soft_goals_are_soft_by_default_and_others_hard() -> None:
    for goal in (
        goals.AvoidLimits(),
        goals.CenterJoints(),
        goals.MinimalDisplacement(),
        goals.Manipulability("a"),
        goals.GravityTorque(),
    ):
        assert goal.priority == goals.SOFT
    for goal in (goals.Line("a"), goals.Balance(), goals.JointValue("a"), goals.Viewpoint("a"), goals.Pivot("a")):
        assert goal.priority == goals.HARD


def test_open_targets_are_checked(panda: Robot) -> None:
    problem = mk.Problem(panda, goals.AlignAxis("panda_hand", "z"))
    with pytest.raises(InvalidInputError):
        problem.solve((0.0, 0.0, 0.0))
    with pytest.raises(InvalidInputError):
        problem.solve((0.0, 1.0))
