"""Free spaces against closed forms: a ball in the plane among boxes and balls, an arm of two bars."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.geometry.shapes import Box, Capsule, Cylinder, Sphere
from memetik.motion.planning.free_space import (
    BLOCKED,
    CHECKER_JOINT_STEP,
    PROVED,
    UNKNOWN,
    CheckerSpace,
    LiveSpace,
    OpenSpace,
    SceneSpace,
    motion_levers,
    space_for,
)
from memetik.robot.description import Description, Geometry, Joint, Link
from memetik.robot.robot import Robot

BALL = 0.05
POST = 0.1
"""Radii of the gantry's ball and of the post that stands in its plane."""


@pytest.fixture
def posts(gantry) -> mk.Scene:
    scene = mk.Scene()
    scene.add_sphere("post", POST, mk.transform((0.5, 0.0, 0.0)))
    return scene


def distance_to_post(a: np.ndarray, b: np.ndarray) -> float:
    """Between the segment from a to b and the post's centre."""
    centre = np.array([0.5, 0.0])
    along = b - a
    share = np.clip((centre - a) @ along / max(float(along @ along), 1e-12), 0.0, 1.0)
    return float(np.linalg.norm(a + share * along - centre))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(ends=st.tuples(*[st.floats(-1.0, 1.5)] * 4))
def test_straight_motions_are_free_where_the_balls_do_not_meet(gantry, ends):
    pytest.importorskip("coal")
    scene = mk.Scene()
    scene.add_sphere("post", POST, mk.transform((0.5, 0.0, 0.0)))
    space = space_for(gantry, scene)
    a, b = np.array(ends[:2]), np.array(ends[2:])
    gap = distance_to_post(a, b) - POST - BALL
    if gap < 0.0:
        assert not space.edge(a, b)
        assert not space.quick_edge(a, b)
    elif gap > 5e-3:
        assert space.edge(a, b)
    if space.quick_edge(a, b):
        assert space.edge(a, b)


def test_configurations_are_free_up_to_the_margin(gantry, posts):
    pytest.importorskip("coal")
    near, touching = np.array([0.5, 0.16]), np.array([0.5, 0.149])
    assert space_for(gantry, posts).is_free(near)
    assert not space_for(gantry, posts).is_free(touching)
    kept = space_for(gantry, posts, margin=0.02)
    assert not kept.is_free(near)
    assert kept.is_free(np.array([0.5, 0.171]))
    assert kept.colliding_pair(near) == ("ball", "post")


@pytest.mark.parametrize("margin", [0.0, 0.02])
def test_states_follow_the_distance(gantry, posts, margin):
    """The ball is 0.1 m from the post beyond the margin of 0: it may move by that along y, and no farther."""
    space = space_for(gantry, posts, margin=margin)
    q = np.array([0.5, 0.25 + margin])
    rows = np.array([q, q, [0.5, 0.1]])
    spread = np.array([[0.0, 0.09], [0.0, 0.12], [0.0, 0.0]])
    assert space.states(rows, spread).tolist() == [PROVED, UNKNOWN, BLOCKED]


def test_an_escape_is_proved_however_near_it_begins(gantry, posts):
    pytest.importorskip("coal")
    space = space_for(gantry, posts)
    near = np.array([0.5, 0.15 + 1e-4])
    away = np.array([0.5, 0.3])
    assert space.edge(near, away)
    assert not space.edge(near, np.array([0.5, -0.3]))


def test_the_colliding_pair_is_named(elbow):
    pytest.importorskip("coal")
    scene = mk.Scene()
    scene.add_box("pillar", (0.1, 0.1, 1.0), mk.transform((1.4, 0.0, 0.0)))
    space = space_for(elbow, scene)
    assert set(space.colliding_pair(np.zeros(2))) == {"fore", "pillar"}
    assert space.colliding_pair(np.array([1.5, 0.0])) is None


def test_self_collision_counts_unless_told_otherwise(elbow):
    pytest.importorskip("coal")
    three = Robot(
        Description(
            "three",
            (*elbow.description.links, Link("palm", collisions=(Geometry(Box((0.7, 0.05, 0.05))),))),
            (
                *elbow.description.joints,
                Joint("wrist", "revolute", "hand", "palm", axis=(0.0, 0.0, 1.0), lower=(-3.1,), upper=(3.1,)),
            ),
        )
    )
    folded = np.array([0.0, 2.5, 2.5])
    assert not space_for(three).is_free(folded)
    assert space_for(three, self_collision=False).is_free(folded)
    assert space_for(three).is_free(np.zeros(3))


def test_the_kind_of_space_fits_what_it_is_asked_of(gantry, posts):
    pytest.importorskip("coal")

    class Nothing:
        def collides(self, q):
            return np.zeros(np.shape(q)[:-1], dtype=bool)

    assert isinstance(space_for(gantry, posts), SceneSpace)
    assert isinstance(space_for(gantry, Nothing()), CheckerSpace)
    assert isinstance(space_for(gantry), SceneSpace)
    assert type(space_for(gantry, self_collision=False)) is OpenSpace


def test_a_snapshot_does_not_see_what_a_live_space_sees(gantry, posts):
    pytest.importorskip("coal")
    live = LiveSpace(gantry, posts)
    q = np.array([-0.5, 0.5])
    assert live.current.is_free(q)
    posts.add_sphere("late", 0.1, mk.transform((-0.5, 0.5, 0.0)))
    assert not live.current.is_free(q)
    posts.remove("late")
    assert live.current.is_free(q)


def test_a_live_space_keeps_its_margin_and_its_self_collision(gantry, posts):
    pytest.importorskip("coal")
    live = LiveSpace(gantry, posts, margin=0.02)
    assert not live.current.is_free(np.array([0.5, 0.16]))
    posts.add_sphere("far", 0.1, mk.transform((0.0, 1.8, 0.0)))
    assert not live.current.is_free(np.array([0.5, 0.16]))
    assert type(LiveSpace(gantry, None, self_collision=False).current) is OpenSpace


class Strip:
    """Forbids a strip of the first joint; counts what it is asked."""

    def __init__(self, low: float, high: float):
        self.low, self.high, self.rows = low, high, []

    def collides(self, q):
        rows = np.atleast_2d(q)
        self.rows.extend(rows.tolist())
        found = (rows[:, 0] > self.low) & (rows[:, 0] < self.high)
        return found if np.ndim(q) > 1 else bool(found[0])


@pytest.mark.parametrize("where", [0.0, 0.31, 0.5, 0.77, 0.995])
def test_a_strip_as_wide_as_the_step_is_found_wherever_it_is(gantry, where):
    strip = Strip(where - 1e-9, where + CHECKER_JOINT_STEP)
    space = CheckerSpace(gantry, strip)
    assert not space.edge(np.zeros(2), np.array([1.0, 0.0]))
    assert not space.edge(np.array([1.0, 0.0]), np.zeros(2))


def test_both_ends_of_a_motion_are_asked_about(gantry):
    strip = Strip(9.0, 10.0)
    assert CheckerSpace(gantry, strip).edge(np.zeros(2), np.array([0.3, 0.1]))
    asked = np.array(strip.rows)
    for end in ([0.0, 0.0], [0.3, 0.1]):
        assert np.abs(asked - end).max(axis=1).min() < 1e-12


def test_what_is_blocked_in_the_middle_is_found_by_few_questions(gantry):
    strip = Strip(0.45, 0.55)
    space = CheckerSpace(gantry, strip)
    assert not space.edge(np.zeros(2), np.array([1.0, 0.0]))
    strip.rows.clear()  # by the first questions it finds out whether the checker takes many
    assert not space.edge(np.zeros(2), np.array([1.0, 0.0]))
    assert len(strip.rows) <= 64


def test_a_motion_of_no_distance_asks_about_the_one_configuration(gantry):
    strip = Strip(-0.1, 0.1)
    assert not CheckerSpace(gantry, strip).edge(np.zeros(2), np.zeros(2))


def test_the_finer_space_asks_ten_times_as_densely(gantry):
    counts = []
    finer = CheckerSpace(gantry, Strip(9.0, 10.0)).finer()
    for space in (CheckerSpace(gantry, Strip(9.0, 10.0)), finer):
        assert space.edge(np.zeros(2), np.array([0.1, 0.0]))
        space.checker.rows.clear()
        assert space.edge(np.zeros(2), np.array([1.0, 0.0]))
        counts.append(len(space.checker.rows))
    assert counts[1] == pytest.approx(10 * counts[0], rel=0.02)


def test_only_narrow_spreads_count_as_proved_by_a_checker(gantry):
    space = CheckerSpace(gantry, Strip(0.4, 0.6), step=0.01, joint_step=0.01)
    q = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.5, 0.0]])
    spread = np.array([[0.004, 0.0], [0.006, 0.0], [0.004, 0.004], [0.0, 0.0]])
    assert space.states(q, spread).tolist() == [PROVED, UNKNOWN, UNKNOWN, BLOCKED]


@pytest.mark.parametrize("step", [0.0, -1.0, np.inf, np.nan])
def test_a_step_that_is_none_is_refused(gantry, step):
    with pytest.raises(InvalidInputError, match="step"):
        CheckerSpace(gantry, Strip(0.0, 1.0), step=step)


def test_levers_of_slides_are_one_and_of_bars_their_reach(gantry, elbow):
    np.testing.assert_allclose(motion_levers(gantry), [1.0, 1.0])
    far = np.hypot(0.5, 0.05) + 0.05  # a corner of the fore bar at least, a ball about its origin at most
    levers = motion_levers(elbow)
    assert np.hypot(1.5, 0.05) <= levers[0] <= 1.0 + 0.25 + np.linalg.norm([0.25, 0.05, 0.05]) + 1e-9
    assert np.hypot(0.5, 0.05) <= levers[1] <= far + 0.02


@pytest.mark.parametrize(
    ("shape", "radius"),
    [
        (Box((0.2, 0.4, 0.4)), 0.3),
        (Sphere(0.25), 0.25),
        (Capsule(0.1, 0.6), 0.4),
        (Cylinder(0.3, 0.8), 0.5),
    ],
)
def test_levers_hold_the_whole_shape(shape, radius):
    """The farthest point of the shape is at 1 m plus its radius from the axis at most."""
    arm = Link("arm", collisions=(Geometry(shape, mk.transform((1.0, 0.0, 0.0))),))
    joint = Joint("turn", "revolute", "base", "arm", axis=(0.0, 0.0, 1.0), lower=(-1.0,), upper=(1.0,))
    robot = Robot(Description("one", (Link("base"), arm), (joint,)))
    assert motion_levers(robot)[0] == pytest.approx(1.0 + radius)
    assert OpenSpace(robot).travel(np.array([-0.5])) == pytest.approx(0.5 * (1.0 + radius))


@settings(derandomize=True, max_examples=30, deadline=None)
@given(rng=st.integers(0, 10_000))
def test_no_corner_of_the_arm_travels_farther_than_is_said(elbow, rng):
    generator = np.random.default_rng(rng)
    a, b = elbow.random(generator, 2)
    most = OpenSpace(elbow).travel(b - a)
    corner = mk.transform((0.5, 0.05, 0.05))
    for link, length in (("upper", 2.0), ("fore", 1.0)):
        local = mk.transform((0.5 * length, 0.05, 0.05)) if link == "upper" else corner
        first, second = ((elbow.pose(link, q) @ local)[:3, 3] for q in (a, b))
        assert np.linalg.norm(second - first) <= most + 1e-9


def test_an_open_space_lets_everything_pass(gantry):
    space = OpenSpace(gantry)
    assert space.is_free(np.full(2, 99.0))
    assert space.quick_edge(np.zeros(2), np.ones(2))
    assert space.colliding_pair(np.zeros(2)) is None
    assert (space.states(np.zeros((3, 2)), np.ones((3, 2))) == PROVED).all()
