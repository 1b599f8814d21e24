"""How answers change with their targets: against differences of solves, and an optimiser from outside."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import memetik as mk

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import sensitivity as bench


@pytest.fixture(scope="module")
def panda():
    return mk.load_robot("panda")


@pytest.fixture(scope="module")
def ur5():
    return mk.load_robot("ur5")


@pytest.fixture(scope="module")
def poses(ur5):
    return ur5.pose("tool0", np.random.default_rng(3).uniform(-1.2, 1.2, (6, 6)))


@pytest.mark.parametrize("arm", bench.ARMS)
def test_derivatives_agree_with_central_differences_of_solves(arm):
    robot = mk.load_robot(arm)
    errors, *_ = bench.measure(robot, 2, at_limit=arm in ("panda", "iiwa14"))
    assert max(errors) < 1e-5


def solved(problem, *targets, **options):
    solution = problem.solve(*targets, **options)
    assert solution, solution.explain()
    return solution


def test_stated_targets_have_the_derivative_of_open_ones(panda):
    q = panda.q({"panda_joint4": -2.0, "panda_joint6": 1.8})
    target = panda.pose("panda_hand", q)
    stated = solved(mk.Problem(panda, [mk.Pose("panda_hand", target)]), seed=q).sensitivity()
    given = solved(mk.Problem(panda, [mk.Pose("panda_hand")]), target, seed=q).sensitivity()
    assert list(stated) == list(given) == ["pose_panda_hand"]
    np.testing.assert_allclose(stated["pose_panda_hand"], given["pose_panda_hand"], atol=1e-9)


def test_a_batch_has_the_derivatives_of_its_elements(ur5, poses):
    batch = mk.Problem(ur5, [mk.Pose("tool0")]).solve_batch(poses)
    whole = batch.sensitivity(threads=2)["pose_tool0"]
    for k in range(len(poses)):
        np.testing.assert_array_equal(whole[k], batch[k].sensitivity()["pose_tool0"])


def test_elements_without_a_solution_have_the_derivative_zero(ur5, poses):
    targets = poses.copy()
    targets[1, :3, 3] = (5.0, 0.0, 0.0)
    batch = mk.Problem(ur5, [mk.Pose("tool0")]).solve_batch(targets, evaluations=2000)
    derivative = batch.sensitivity()["pose_tool0"]
    assert not derivative[1].any()
    assert derivative[0].any()
    with pytest.raises(mk.InvalidInputError, match="explain"):
        batch[1].sensitivity()


def test_the_base_of_a_solve_is_the_base_of_its_derivative(ur5, poses):
    base = mk.transform((0.3, -0.2, 0.1), rpy=(0.1, 0.2, 0.9))
    problem = bench.problem_of(ur5)
    here, there = solved(problem, poses[0]), solved(problem, base @ poses[0], base=base)
    turn = np.kron(np.eye(2), base[:3, :3])
    assert np.abs(here.q - there.q).max() < 1e-9
    np.testing.assert_allclose(there.sensitivity()["pose_tool0"] @ turn, here.sensitivity()["pose_tool0"], atol=1e-6)


CASES = {
    "position": ([mk.Position("panda_hand", tolerance=1e-11)], lambda T: T[:3, 3]),
    "orientation": ([mk.Orientation("panda_hand", tolerance=1e-11)], lambda T: T[:3, :3]),
    "direction": ([mk.AlignAxis("panda_hand", "z", tolerance=1e-11)], lambda T: T[:3, 2]),
    "range": ([mk.Position("panda_hand", tolerance=(1e-11, 1e-11, (-0.02, 0.02)))], lambda T: T[:3, 3] + (0, 0, 0.01)),
}


@pytest.mark.parametrize("case", CASES)
def test_goals_stay_met_to_first_order_with_the_least_motion(panda, case):
    goals, target_of = CASES[case]
    q = panda.q([0.3, -0.4, 0.2, -2.0, 0.1, 1.9, 0.4, 0.0])
    target = target_of(panda.pose("panda_hand", q))
    problem = mk.Problem(panda, goals)
    solution = solved(problem, target, seed=q)
    (derivative,) = solution.sensitivity().values()
    rng = np.random.default_rng(0)
    for _ in range(3):
        step = 1e-4 * rng.normal(size=derivative.shape[1])
        ends = [solved(problem, shifted(case, target, s * step), seed=q) for s in (1.0, -1.0)]
        change = derivative @ step
        assert np.abs(0.5 * (ends[0].q - ends[1].q) - change).max() < 1e-5 * np.abs(change).max() + 1e-9


def shifted(case, target, step):
    if case == "orientation":
        return Rotation.from_rotvec(step).as_matrix() @ target
    if case == "direction":
        return (target + step) / np.linalg.norm(target + step)
    return target + step


def test_a_look_stays_on_its_moving_point_with_the_least_motion(panda):
    """The hand's axis less the direction to the point, from the poses of the hand: differentiated by differences."""
    q = panda.q([0.3, -0.4, 0.2, -2.0, 0.1, 1.9, 0.4, 0.0])
    hand = panda.pose("panda_hand", q)
    point = hand[:3, 3] + 0.4 * hand[:3, 2]

    def off(q, point):
        hand = panda.pose("panda_hand", q)
        return hand[:3, 2] - (point - hand[:3, 3]) / np.linalg.norm(point - hand[:3, 3])

    h, entries = 1e-5, range(7)
    by_q = np.stack([off(q + h * e, point) - off(q - h * e, point) for e in np.eye(8)[:7]], axis=1) / (2 * h)
    by_point = np.stack([off(q, point + h * e) - off(q, point - h * e) for e in np.eye(3)], axis=1) / (2 * h)
    derivative = solved(mk.Problem(panda, [mk.LookAt("panda_hand", "z")]), point, seed=q).sensitivity()
    expected = -np.linalg.pinv(by_q, rcond=1e-6) @ by_point
    np.testing.assert_allclose(derivative["lookat_panda_hand"][entries], expected, atol=1e-6)


def test_soft_goals_stay_at_their_minimum(panda):
    """Against a constrained optimiser from outside that minimises the same cost at moved targets."""
    looking = mk.LookAt("panda_hand", "z", (1, 0, 0), priority=1)
    problem = mk.Problem(panda, [mk.Position("panda_hand"), mk.CenterJoints(), looking])
    hard, entries, start = problem.core.hard_rows, problem.core.variables, panda.neutral

    def optimum(target, x):
        def rows(x):
            residual, jacobian = problem.core.evaluate((target,), start, x[None])
            return residual[0], jacobian[0]

        equal = {"type": "eq", "fun": lambda x: rows(x)[0][:hard], "jac": lambda x: rows(x)[1][:hard]}
        for _ in range(2):
            x = minimize(
                lambda x: (rows(x)[0][hard:] ** 2).sum(), x, jac=lambda x: 2 * rows(x)[1][hard:].T @ rows(x)[0][hard:],
                constraints=[equal], method="SLSQP", options={"ftol": 1e-18, "maxiter": 500},
            ).x  # fmt: skip
        return x

    target = np.array([0.45, 0.1, 0.4])
    solution = solved(problem, target, refine_evaluations=20_000)
    x = optimum(target, solution.q[entries])
    assert np.abs(x - solution.q[entries]).max() < 1e-4
    derivative = solution.sensitivity()["position_panda_hand"][entries]
    h = 1e-3
    for k in range(3):
        slopes = [
            (optimum(target + s * np.eye(3)[k], x) - optimum(target - s * np.eye(3)[k], x)) / (2 * s)
            for s in (h, h / 2)
        ]
        np.testing.assert_allclose(derivative[:, k], (4 * slopes[1] - slopes[0]) / 3, atol=2e-4)


def test_goals_without_a_target_have_no_derivative(panda):
    with pytest.raises(mk.GoalError, match=r"target, such as mk\.Pose"):
        solved(mk.Problem(panda, [mk.CenterJoints(priority=0, weight=1e-9)]), seed=panda.neutral).sensitivity()


def test_tensors_go_in_and_come_out_without_copies(ur5, poses):
    torch = pytest.importorskip("torch")
    problem = mk.Problem(ur5, [mk.Pose("tool0")])
    batch = problem.solve_batch(torch.tensor(poses), seed=torch.zeros(6, dtype=torch.float64))
    np.testing.assert_array_equal(batch.q, problem.solve_batch(poses, seed=np.zeros(6)).q)
    assert torch.from_dlpack(batch.q).data_ptr() == batch.q.ctypes.data
    with pytest.raises(mk.InvalidInputError, match="detach"):
        problem.solve(torch.tensor(poses, requires_grad=True))


def test_gradients_of_torch_are_those_of_differences(ur5, poses):
    torch = pytest.importorskip("torch")
    problem = mk.Problem(ur5, [mk.Pose("tool0")])
    solver = mk.torch_solver(problem)
    weights, target = torch.arange(1.0, 7.0, dtype=torch.float64), poses[0]
    motion = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    seed = problem.solve(target).q
    turn = torch.linalg.matrix_exp(torch.stack([
        torch.stack([torch.zeros((), dtype=torch.float64), -motion[5], motion[4]]),
        torch.stack([motion[5], torch.zeros((), dtype=torch.float64), -motion[3]]),
        torch.stack([-motion[4], motion[3], torch.zeros((), dtype=torch.float64)]),
    ]))  # fmt: skip
    whole = torch.tensor(target)
    placed = torch.cat([turn @ whole[:3, :3], (whole[:3, 3] + motion[:3])[:, None]], dim=1)
    q, success = solver(torch.cat([placed, whole[3:]]), seed=torch.tensor(seed))
    assert success
    assert q.shape == (6,)
    (weights @ q).backward()
    for k in range(6):
        ends = [problem.solve(bench.moved(target, k, s), seed=seed).q @ weights.numpy() for s in (1e-4, -1e-4)]
        assert abs(motion.grad[k] - (ends[0] - ends[1]) / 2e-4) < 1e-4 * abs(motion.grad).max()


def test_gradients_of_jax_are_those_of_torch(ur5, poses):
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    problem = mk.Problem(ur5, [mk.Pose("tool0")])
    tensor = torch.tensor(poses, requires_grad=True)
    q, success = mk.torch_solver(problem)(tensor)
    assert success.all()
    (q**2).sum().backward()
    with jax.enable_x64(True):
        solver = mk.jax_solver(problem)
        gradient = jax.jit(jax.grad(lambda T: (solver(T)[0] ** 2).sum()))(jax.numpy.asarray(poses))
        each = jax.vmap(lambda T: solver(T)[0])(jax.numpy.asarray(poses))
    np.testing.assert_allclose(np.asarray(gradient), tensor.grad.numpy(), atol=1e-12)
    np.testing.assert_array_equal(np.asarray(each), q.detach().numpy())
