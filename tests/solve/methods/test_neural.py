"""Learned methods: the network by differences, training that helps, weights that are kept."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import memetik as mk
from memetik.solve.literature import neural
from memetik.solve.literature.network import Network
from memetik.solve.literature.neural import Neural, Sight, rotation_vectors


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMETIK_CACHE", str(tmp_path))
    monkeypatch.setattr(neural, "_trained", {})
    return tmp_path


@pytest.fixture(scope="module")
def planar():
    robot = mk.load_robot("chain3")
    return robot, mk.Problem(robot, [mk.Position(robot.tip)])


def test_gradients_of_the_network_are_exact():
    rng = np.random.default_rng(0)
    network = Network.random([3, 5, 4, 2], rng)
    network.weights = [w.astype(float) for w in network.weights]
    network.biases = [rng.standard_normal(b.shape) for b in network.biases]
    inputs, wanted = rng.standard_normal((7, 3)), rng.standard_normal((7, 2))

    def judge(outputs, wanted):
        return outputs - wanted, outputs - wanted

    gradients, _ = network._gradients(inputs, wanted, judge)
    for parameter, gradient in zip([*network.weights, *network.biases], gradients, strict=True):
        for index in np.ndindex(parameter.shape):
            kept, losses = parameter[index], []
            for step in (1e-6, -1e-6):
                parameter[index] = kept + step
                losses.append(network._gradients(inputs, wanted, judge)[1])
            parameter[index] = kept
            assert gradient[index] == pytest.approx((losses[0] - losses[1]) / 2e-6, abs=1e-6)


def test_rotation_vectors_are_those_of_scipy():
    turns = Rotation.random(50, random_state=1)
    np.testing.assert_allclose(rotation_vectors(turns.as_matrix()), turns.as_rotvec(), atol=1e-7)


def test_steps_of_the_network_lead_nearer(planar, own_cache):
    """The trained matrix does what a pseudo-inverse would: most of a small difference is gone after a step."""
    _, problem = planar
    method = Neural(hidden=(48, 48), steps=500)
    network, sight = method.network(problem), Sight(problem)
    rng = np.random.default_rng(5)
    x = 0.8 * sight.draw(rng, 200)
    moved = x + 0.05 * rng.standard_normal(x.shape)
    difference = sight.difference(sight.frames(x), sight.frames(moved))
    matrices = network(sight.joint_inputs(x)).reshape(len(x), x.shape[1], -1)
    after = x + np.einsum("knm,km->kn", matrices, difference)
    left = np.linalg.norm(sight.difference(sight.frames(after), sight.frames(moved)), axis=1)
    assert np.median(left / np.linalg.norm(difference, axis=1)) < 0.5


def test_a_trained_method_solves_and_keeps_its_weights(planar, own_cache):
    robot, problem = planar
    method = Neural(hidden=(48, 48), steps=1500)
    solved = sum(
        problem.solve(
            robot.pose(robot.tip, robot.random(k))[:3, 3], seed=robot.random(100 + k), evaluations=3000, method=method
        ).success
        for k in range(8)
    )
    assert solved >= 5
    (kept,) = own_cache.glob("network-*.npz")
    trained = method.network(problem)
    neural._trained.clear()
    again = method.network(problem)
    assert again is not trained
    np.testing.assert_array_equal(again.weights[0], trained.weights[0])
    assert kept.exists()


def test_training_is_reproducible(planar, own_cache, monkeypatch):
    _, problem = planar
    monkeypatch.setenv("MEMETIK_CACHE", "off")
    method = Neural(hidden=(16,), steps=30)
    first = method.network(problem)
    neural._trained.clear()
    np.testing.assert_array_equal(first.weights[0], method.network(problem).weights[0])


def test_a_learned_configuration_is_nearer_than_the_middle_and_seeds_the_memetic_search(planar, own_cache):
    robot, problem = planar
    method = Neural("direct", hidden=(48, 48), steps=500)
    learned, middle = [], []
    for k in range(20):
        target = robot.pose(robot.tip, robot.random(k))[:3, 3]
        guess = problem.solve(target, evaluations=10, method=method)
        learned.append(np.linalg.norm(robot.pose(robot.tip, guess.q)[:3, 3] - target))
        middle.append(np.linalg.norm(robot.pose(robot.tip, robot.neutral)[:3, 3] - target))
        both = problem.solve(target, evaluations=3000, method=mk.methods.Seeded(method, "memetic"))
        assert both.success
    assert np.mean(learned) < np.mean(middle)
