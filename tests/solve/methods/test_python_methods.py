"""What holds of every method written in Python: verified answers, the same ones again, bounds, clear refusals."""

from __future__ import annotations

import math
import time

import numpy as np
import pinocchio
import pytest

import memetik as mk
from memetik.errors import GoalError, InvalidInputError

SOLVERS = [
    "trac", "slsqp", "lbfgsb", "lbfgs", "bfgs", "cg", "newton", "nlopt_slsqp", "nlopt_lbfgs", "nlopt_var",
    "nlopt_tnewton", "nlopt_mlsl", "relaxed",
]  # fmt: skip
"""What solves every one of the easy poses below."""

SLOW = ["steepest", "nelder_mead", "nlopt_nelder_mead", "nlopt_bobyqa", "nlopt_praxis", "ccd", "fabrik"]
"""What solves some of them."""

OTHERS = [
    "nlopt_mma", "nlopt_ccsaq", "nlopt_sbplx", "nlopt_cobyla", "nlopt_stogo", "nlopt_direct", "nlopt_ags",
    "nlopt_isres", "nlopt_esch", "nlopt_crs",
]  # fmt: skip

GRADIENT_FREE = {"nelder_mead", "nlopt_nelder_mead", "nlopt_bobyqa", "nlopt_praxis", *OTHERS}


@pytest.fixture(scope="module")
def arm():
    robot = mk.load_robot("ur5")
    return robot, mk.Problem(robot, [mk.Pose(robot.tip)])


@pytest.fixture(scope="module")
def truth(arm):
    robot, _ = arm
    model = pinocchio.buildModelFromXML(robot.to_urdf())
    data = model.createData()
    frame = model.getFrameId(robot.tip)
    order = [model.joints[model.getJointId(name)].idx_q for name in robot.joint_names]

    def pose(q):
        configuration = np.zeros(model.nq)
        configuration[order] = q
        pinocchio.framesForwardKinematics(model, data, configuration)
        return data.oMf[frame].homogeneous

    return pose


def targets(robot, count, way=0.5):
    """Poses of configurations, and seeds some way off."""
    rng = np.random.default_rng(11)
    for _ in range(count):
        q = rng.uniform(-1.5, 1.5, robot.dof)
        yield robot.pose(robot.tip, q), q + rng.uniform(-way, way, robot.dof)


@pytest.mark.parametrize("method", SOLVERS)
def test_answers_are_poses_by_an_independent_model(arm, truth, method):
    robot, problem = arm
    for target, seed in targets(robot, 4):
        solution = problem.solve(target, seed=seed, evaluations=20_000, method=method)
        assert solution.success
        pose = truth(solution.q)
        assert np.linalg.norm(pose[:3, 3] - target[:3, 3]) < 1.01e-5
        assert np.abs(pose[:3, :3] - target[:3, :3]).max() < 1.01e-5


@pytest.mark.parametrize("method", SLOW)
def test_slower_methods_solve_some(arm, method):
    robot, problem = arm
    found = [
        problem.solve(target, seed=seed, evaluations=6000, method=method).success
        for target, seed in targets(robot, 4, way=0.2)
    ]
    assert sum(found) >= 1


@pytest.mark.parametrize("method", [*SOLVERS, *SLOW, *OTHERS])
def test_same_seed_gives_the_same_answer_and_evaluations_are_a_bound(arm, method):
    robot, problem = arm
    target, seed = next(targets(robot, 1))
    runs = [problem.solve(target, seed=seed, evaluations=400, rng=7, method=method) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    assert runs[0].evaluations == runs[1].evaluations <= 400 + 100


@pytest.mark.unsanitized
@pytest.mark.parametrize("method", [*SOLVERS, *SLOW, *OTHERS])
@pytest.mark.clock
def test_nothing_is_claimed_of_poses_out_of_reach_and_time_is_a_bound(arm, method):
    robot, problem = arm
    problem.solve(robot.pose(robot.tip, robot.neutral), method=method, evaluations=1)  # what is imported only once
    # An iteration takes less than a millisecond here. Other processes take time away, too: one of twenty is in time.
    for _ in range(20):
        begin = time.perf_counter()
        solution = problem.solve(mk.transform((3.0, 0.0, 0.0)), method=method, timeout=0.03)
        taken = time.perf_counter() - begin
        assert not solution.success
        assert np.isfinite(solution.q).all()
        assert solution.evaluations > 3
        if 0.03 <= taken < 0.035:
            return
    pytest.fail(f"{method} took {taken:.3f} s, not 0.03 s")


@pytest.mark.parametrize("method", ["trac", "slsqp", "nlopt_slsqp", "relaxed", "ccd"])
def test_answers_that_a_predicate_turns_away_are_searched_on(arm, method):
    robot, problem = arm
    target = robot.pose(robot.tip, np.array([0.3, -1.0, 1.2, -0.5, 0.7, 0.2]))
    solution = problem.solve(
        target, seed=np.array([0.2, -1.0, 1.1, -0.5, 0.7, 0.2]), timeout=20.0, method=method, valid=lambda q: q[2] < 0
    )
    assert solution.success
    assert solution.q[2] < 0


@pytest.mark.parametrize("method", ["slsqp", "trac", "relaxed", "nlopt_slsqp"])
def test_other_goals_and_soft_goals_are_served(method):
    robot = mk.load_robot("panda")
    goals = [
        mk.Position(robot.tip, (0.45, 0.1, 0.4)),
        mk.AlignAxis(robot.tip, axis="z", to="-z"),
        mk.CenterJoints(),
    ]
    problem = mk.Problem(robot, goals)
    solution = problem.solve(evaluations=5000, method=method)
    assert solution.success
    pose = robot.pose(robot.tip, solution.q)
    np.testing.assert_allclose(pose[:3, 3], (0.45, 0.1, 0.4), atol=2e-5)
    np.testing.assert_allclose(pose[:3, 2], (0.0, 0.0, -1.0), atol=2e-5)
    # The core's own search and these come to the same optimum of the preference, or near it.
    best = problem.solve(evaluations=20_000)
    assert solution.preference_cost <= 1.5 * best.preference_cost + 1e-6


@pytest.mark.parametrize(
    ("method", "goals"),
    [
        ("ccd", [mk.AlignAxis("tool0", axis="z", to="-z")]),
        ("fabrik", [mk.Position("tool0", (0.4, 0.1, 0.4)), mk.Position("wrist_1_link", (0.3, 0.1, 0.4))]),
        ("fabrik", [mk.Orientation("tool0", np.eye(3))]),
        ("ccd", [mk.Pose("tool0", np.eye(4), relative_to="wrist_1_link")]),
        ("neural", [mk.LookAt("tool0", point=(1.0, 0.0, 0.0))]),
        ("pivot", [mk.Pose("tool0", np.eye(4))]),
        ("pivot_memetic", [mk.Pose("tool0", np.eye(4))]),
    ],
)
def test_goals_that_a_method_cannot_serve_are_refused_with_the_reason(arm, method, goals):
    robot, _ = arm
    with pytest.raises(GoalError, match=r"serves|needs|memetic"):
        mk.Problem(robot, goals).solve(method=method)


@pytest.mark.parametrize("name", ["Scipy", "Nlopt"])
def test_unknown_algorithms_name_the_known_ones(name):
    with pytest.raises(mk.errors.InvalidInputError, match="did you mean 'slsqp'"):
        getattr(mk.methods, name)("slsq")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("Scipy", {"iterations": 0}), ("Nlopt", {"evaluations": -1}), ("Trac", {"mode": "fast"}),
        ("Trac", {"iterations": 1.5}), ("Relaxed", {"gradient": "none"}), ("Relaxed", {"optimizer": "sls"}),
        ("Relaxed", {"orientation": "drop"}), ("Relaxed", {"width": 0.0}), ("Ccd", {"sweeps": True}),
        ("Fabrik", {"share": 2.0}), ("Pivot", {"max_step": 0.0}), ("PivotMemetic", {"elites": 30}),
        ("Neural", {"kind": "both"}), ("Neural", {"hidden": ()}), ("Cascade", {"methods": ()}),
        ("Cascade", {"shares": (0.5, 0.5)}), ("Seeded", {"share": 3.0}), ("Cached", {"store": "here"}),
        ("Cached", {"size": 0}), ("Analytic", {}),
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(name, parameters):
    with pytest.raises(mk.errors.InvalidInputError):
        getattr(mk.methods, name)(**parameters)


def test_differences_are_counted_and_lead_to_the_same_answer(arm):
    robot, problem = arm
    target, seed = next(targets(robot, 1))
    exact, numeric = (
        problem.solve(target, seed=seed, method=mk.methods.Scipy("bfgs", gradient=gradient), evaluations=5000)
        for gradient in ("analytic", "numeric")
    )
    assert exact.success
    assert numeric.success
    np.testing.assert_allclose(numeric.q, exact.q, atol=1e-4)
    assert numeric.evaluations > 5 * exact.evaluations


@pytest.mark.parametrize("algorithm", ["lbfgs", "lbfgsb", "nelder_mead"])
def test_a_search_that_ends_early_is_not_accurate_enough(arm, algorithm):
    robot, problem = arm
    early = mk.methods.Scipy(algorithm, end=1e-3, restarts=False)
    late = mk.methods.Scipy(algorithm, restarts=False)
    solved = [
        [problem.solve(target, seed=seed, method=method, evaluations=5000).success for method in (early, late)]
        for target, seed in targets(robot, 5)
    ]
    assert np.sum(solved, axis=0)[0] < np.sum(solved, axis=0)[1]


@pytest.mark.parametrize("wrong", [{"gradient": "guessed"}, {"end": -1.0}, {"end": math.nan}])
def test_wrong_settings_of_scipy_are_named(wrong):
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        mk.methods.Scipy(**wrong)
