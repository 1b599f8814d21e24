"""The collision context: three models of one scene, shared, and a snapshot of them for the core."""

import numpy as np
import pytest

import memetik as mk
from memetik.collision.context import CollisionContext
from memetik.errors import InvalidInputError

pytest.importorskip("coal")


def with_box(margin: float = 0.0) -> tuple[mk.Scene, CollisionContext]:
    scene = mk.Scene()
    scene.add_box("box", (0.2, 0.2, 0.2), mk.transform((0.5, 0.0, 0.4)))
    return scene, CollisionContext(mk.load_robot("panda"), scene, True, margin)


def test_the_three_models_agree_on_what_is_clearly_free_or_clearly_in_collision():
    _, context = with_box(0.01)
    q = context.robot.random(0, 400)
    exact = context.exact.collides(q, context.margin)
    assert np.array_equal([context.in_collision(row) for row in q[:50]], exact[:50])
    assert exact.any()
    assert not exact.all()
    assert not (exact & ~context.conservative.collides(q, context.margin)).any()
    assert not (context.tight.collides(q, context.margin) & ~exact).any()


def test_a_snapshot_holds_the_scene_as_it_is_now():
    scene, context = with_box()
    before = context.snapshot()
    assert context.snapshot().tight is before.tight
    scene.move("box", mk.transform((0.5, 0.0, 3.0)))
    after = context.snapshot()
    assert after.tight is not before.tight
    assert after.conservative is context.conservative.core
    assert after.margin == context.margin
    q = context.robot.neutral[None]
    assert bool(after.exact.collides(q)[0]) == context.in_collision(context.robot.neutral)


def test_the_tight_model_leaves_out_pairs_that_are_never_near():
    _, context = with_box()
    assert context.tight.pairs < context.conservative.pairs


def test_problems_of_one_robot_in_one_scene_share_a_context():
    robot, scene = mk.load_robot("panda"), mk.Scene()
    first, second = (mk.Problem(robot, mk.Pose(robot.tip), scene=scene) for _ in range(2))
    assert first.collision_context is second.collision_context
    assert mk.Problem(robot, mk.Pose(robot.tip), scene=mk.Scene()).collision_context is not first.collision_context
    with pytest.warns(DeprecationWarning, match="collision_context"):
        assert first.confinement is first.collision_context


def test_new_shapes_count_as_preparation_and_moves_do_not():
    scene, context = with_box()
    before = context.preparation_time
    context.snapshot()
    assert context.preparation_time == before
    scene.add_sphere("ball", 0.1, mk.transform((0.0, 0.6, 0.5)))
    context.snapshot()
    assert context.preparation_time > before


def test_what_is_no_scene_is_refused():
    with pytest.raises(InvalidInputError, match="an object with a method collides"):
        CollisionContext(mk.load_robot("panda"), "scene.toml", True, 0.0)
