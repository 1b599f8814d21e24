"""Batched kinematics of the core: against Pinocchio, the definition and finite differences, at every batch size."""

from __future__ import annotations

import numpy as np
import pytest
from axis_trees import Batch, PinocchioTree, random_tree, reference_poses

from memetik import _core


def configurations(rng: np.random.Generator, tree: dict, count: int) -> np.ndarray:
    return rng.uniform(-3.0, 3.0, (count, tree["dof"]))


def relative_difference(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.max(np.abs(found - wanted), initial=0.0) / max(1.0, np.max(np.abs(wanted), initial=0.0)))


@pytest.mark.parametrize("seed", range(40))
def test_poses_follow_the_definition_of_an_axis(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, axes=int(rng.integers(0, 30)), links=int(rng.integers(1, 12)))
    links = rng.integers(0, len(tree["masses"]), int(rng.integers(1, 6))).tolist()
    q = configurations(rng, tree, 11)
    wanted = np.array([reference_poses(tree, row)[links] for row in q])
    np.testing.assert_allclose(Batch(tree).poses(links, q), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_kinematics_and_dynamics_equal_pinocchio(seed: int) -> None:
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(1000 + seed)
    tree = random_tree(rng, axes=int(rng.integers(1, 25)), links=20)
    truth, batch = PinocchioTree(pin, tree), Batch(tree)
    q, v, a = (configurations(rng, tree, 9) for _ in range(3))
    link = int(rng.integers(20))
    pairs = {
        "poses": (batch.poses(list(range(20)), q), [truth.poses(row) for row in q]),
        "jacobians": (batch.jacobians(link, q), [truth.jacobian(link, row) for row in q]),
        "centers of mass": (batch.centers_of_mass(q), [truth.center_of_mass(row) for row in q]),
        "gravity torques": (batch.gravity_torques(q), [truth.gravity_torques(row) for row in q]),
        "inverse dynamics": (
            batch.inverse_dynamics(q, v, a),
            [truth.inverse_dynamics(*row) for row in zip(q, v, a, strict=True)],
        ),
        "mass matrices": (batch.mass_matrices(q), [truth.mass_matrix(row) for row in q]),
    }
    for name, (found, wanted) in pairs.items():
        assert relative_difference(found, np.array(wanted)) < 1e-12, name


def test_jacobians_equal_central_differences_on_500_random_trees() -> None:
    step = 1e-6
    for seed in range(500):
        rng = np.random.default_rng(seed)
        tree = random_tree(rng, axes=int(rng.integers(1, 16)), links=6)
        batch, dof = Batch(tree), tree["dof"]
        q = configurations(rng, tree, 1)
        link, reference = rng.integers(0, 6, 2).tolist()
        point = rng.uniform(-0.5, 0.5, 3) if rng.random() < 0.7 else None
        for seen_from in (None, reference):
            jacobian = batch.jacobians(link, q, point, seen_from)[0]
            steps = step * np.eye(dof)
            ahead, behind = (batch.both(link, q + s, point, seen_from)[0] for s in (steps, -steps))
            here = batch.both(link, q, point, seen_from)[0][0]
            offset = np.append(np.zeros(3) if point is None else point, 1.0)
            linear = ((ahead - behind) @ offset)[:, :3].T / (2 * step)
            spin = (ahead - behind)[:, :3, :3] / (2 * step) @ here[:3, :3].T
            angular = np.array([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]])
            assert relative_difference(jacobian, np.vstack([linear, angular])) < 1e-6, seed
        if batch.core.mass > 0:
            ahead, behind = (batch.centers_of_mass(q + s) for s in (steps, -steps))
            wanted = (ahead - behind).T / (2 * step)
            assert relative_difference(batch.center_of_mass_jacobians(q)[0], wanted) < 1e-6, seed


def test_a_relative_pose_is_seen_from_the_reference() -> None:
    rng = np.random.default_rng(5)
    tree = random_tree(rng)
    q = configurations(rng, tree, 10)
    poses = Batch(tree).poses([3, 8], q)
    relative, _ = Batch(tree).both(8, q, reference=3)
    np.testing.assert_allclose(relative, np.linalg.inv(poses[:, 0]) @ poses[:, 1], atol=1e-12)


def test_a_link_seen_from_itself_does_not_move() -> None:
    rng = np.random.default_rng(6)
    tree = random_tree(rng)
    poses, jacobians = Batch(tree).both(5, configurations(rng, tree, 9), reference=5)
    np.testing.assert_allclose(poses, np.broadcast_to(np.eye(4), poses.shape), atol=1e-14)
    assert not jacobians.any()


def test_resting_inverse_dynamics_are_gravity_torques() -> None:
    rng = np.random.default_rng(7)
    tree = random_tree(rng)
    q = configurations(rng, tree, 20)
    batch, still = Batch(tree), np.zeros_like(q)
    np.testing.assert_allclose(batch.inverse_dynamics(q, still, still), batch.gravity_torques(q), atol=1e-11)


def test_a_pendulum_has_its_textbook_torque() -> None:
    """A point of mass m at distance l below a horizontal axis: m l^2 a + m g l sin(angle)."""
    mass, length = 2.0, 0.7
    horizontal = [[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]  # z along the world's x
    tree = {
        "parents": np.array([-1], dtype=np.int32),
        "prismatic": np.array([False]),
        "placements": np.array([horizontal]),
        "variables": np.array([0], dtype=np.int32),
        "multipliers": np.ones(1),
        "offsets": np.zeros(1),
        "link_axes": np.array([0], dtype=np.int32),
        "link_placements": np.eye(4)[None, :3],
        "masses": np.array([mass]),
        "coms": np.array([[0.0, -length, 0.0]]),  # the axis frame's y is the world's z
        "inertias": np.zeros((1, 3, 3)),
        "dof": 1,
    }
    core = _core.Tree(_core.TreeArrays(**tree))
    angle, acceleration = np.linspace(-3, 3, 13)[:, None], np.linspace(-2, 5, 13)[:, None]
    out = np.empty_like(angle)
    core.inverse_dynamics(angle, np.full_like(angle, 4.0), acceleration, np.array([0.0, 0.0, -9.81]), out)
    wanted = mass * length**2 * acceleration + mass * 9.81 * length * np.sin(angle)
    np.testing.assert_allclose(out, wanted, atol=1e-12)


@pytest.mark.parametrize("magnitude", [1e-300, 1e-8, 1.0, 1e2, 9.9e4, 1.1e5, 1e9, 1e15])
def test_sine_and_cosine_hold_for_any_angle(magnitude: float) -> None:
    rng = np.random.default_rng(8)
    placement = np.eye(4)[None, :3]
    one, link = np.ones(1), np.zeros((1, 3))
    integers = np.zeros(1, dtype=np.int32)
    arrays = _core.TreeArrays(
        parents=integers - 1,
        prismatic=one < 0,
        placements=placement,
        variables=integers,
        multipliers=one,
        offsets=0 * one,
        link_axes=integers,
        link_placements=placement,
        masses=one,
        coms=link,
        inertias=np.zeros((1, 3, 3)),
        dof=1,
    )
    core = _core.Tree(arrays)
    q = np.concatenate([rng.uniform(-magnitude, magnitude, 999), np.arange(-40, 41) * np.pi / 4])[:, None]
    out = np.empty((len(q), 1, 4, 4))
    core.poses(integers, q, out)
    np.testing.assert_allclose(out[:, 0, 0, 0], np.cos(q[:, 0]), rtol=0, atol=3e-16)
    np.testing.assert_allclose(out[:, 0, 1, 0], np.sin(q[:, 0]), rtol=0, atol=3e-16)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65])
def test_each_row_of_a_batch_is_as_if_it_were_alone(count: int) -> None:
    rng = np.random.default_rng(9)
    for axes in (0, 1, 2, 5, 9, 14):
        tree = random_tree(rng, axes=axes)
        batch, q = Batch(tree), configurations(rng, tree, count)
        for name, result in batch.everything(2, 4, q).items():
            assert len(result) == count
            for row in range(0, count, 5):
                alone = batch.everything(2, 4, q[row : row + 1])[name][0]
                np.testing.assert_array_equal(result[row], alone, err_msg=name)


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(10)
    tree = random_tree(rng)
    q = configurations(rng, tree, 3001)
    wanted = Batch(tree).everything(1, 7, q)
    for threads in (2, 3, 5, 1000, 2**31 - 1):
        for name, result in Batch(tree, threads).everything(1, 7, q).items():
            np.testing.assert_array_equal(result, wanted[name], err_msg=name)


@pytest.mark.parametrize("count", [100_000, 100_003])
@pytest.mark.parametrize("shift", range(8))
def test_large_results_are_complete_wherever_they_lie_in_memory(shift: int, count: int) -> None:
    """Large arrays are written past the caches, in whole lines; nothing around them may be touched."""
    rng = np.random.default_rng(11)
    tree = random_tree(rng, axes=7, mimic=0.0)
    core, dof = _core.Tree(_core.TreeArrays(**tree)), tree["dof"]
    link = int(np.argmax(tree["link_axes"]))
    q = np.tile(configurations(rng, tree, 1001), (count // 1001 + 1, 1))[:count]
    memory = np.full(16 + shift + count * (16 + 6 * dof), 7.5)
    poses = memory[8 + shift :][: count * 16].reshape(count, 4, 4)
    jacobians = memory[8 + shift + count * 16 :][: count * 6 * dof].reshape(count, 6, dof)
    assert jacobians.nbytes > 8 << 20
    core.poses_and_jacobians(link, q, poses, jacobians, threads=1 + shift % 2)
    few_poses, few_jacobians = Batch(tree).both(link, q[:1001])
    np.testing.assert_array_equal(poses, np.tile(few_poses, (count // 1001 + 1, 1, 1))[:count])
    np.testing.assert_array_equal(jacobians, np.tile(few_jacobians, (count // 1001 + 1, 1, 1))[:count])
    assert (memory[: 8 + shift] == 7.5).all()
    assert (memory[8 + shift + count * (16 + 6 * dof) :] == 7.5).all()


def test_a_robot_without_mass_has_torques_but_no_center_of_mass() -> None:
    rng = np.random.default_rng(12)
    tree = random_tree(rng)
    tree["masses"] *= 0.0
    tree["inertias"] *= 0.0
    q = configurations(rng, tree, 3)
    assert not Batch(tree).gravity_torques(q).any()
    assert not Batch(tree).mass_matrices(q).any()
    with pytest.raises(ValueError, match="needs a robot with mass"):
        Batch(tree).centers_of_mass(q)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 8, 999])
def test_numbers_that_are_not_finite_are_noticed(value: float, row: int) -> None:
    rng = np.random.default_rng(13)
    tree = random_tree(rng)
    q = configurations(rng, tree, 1000)
    batch, spoiled = Batch(tree), q.copy()
    spoiled[row, rng.integers(tree["dof"])] = value
    for call in (
        lambda: batch.poses([1], spoiled),
        lambda: batch.jacobians(1, spoiled),
        lambda: batch.jacobians(1, spoiled, None, 3),
        lambda: batch.gravity_torques(spoiled),
        lambda: batch.mass_matrices(spoiled),
        lambda: batch.inverse_dynamics(spoiled, q, q),
        lambda: batch.inverse_dynamics(q, spoiled, q),
        lambda: batch.inverse_dynamics(q, q, spoiled),
    ):
        with pytest.raises(ValueError, match="finite"):
            call()
    with pytest.raises(ValueError, match="finite"):
        batch.core.gravity_torques(q, np.array([0.0, value, 0.0]), np.empty_like(q))
