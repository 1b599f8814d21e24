"""Parameters of every method: what does not fit is refused with an error of our own, whatever it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError, MemetikError
from memetik.solve.methods import METHODS

M = mk.methods

CLASSES = {entry.owner: entry.load() for entry in METHODS.values()}
NEEDED = {"Analytic": {"function": lambda pose: []}}
"""What a class cannot be made without."""

PARAMETERS = [(name, f.name) for name, owner in CLASSES.items() for f in fields(owner) if f.init]
BAD = [
    None,
    "x",
    "",
    math.nan,
    math.inf,
    -math.inf,
    -1,
    -0.5,
    2**70,
    1e300,
    True,
    1j,
    b"x",
    [],
    ["x"],
    {},
    (),
    object(),
]
OPEN = {("Analytic", "function"), ("Cached", "store")}
"""Parameters of kinds of their own."""


def made(name, **parameters):
    return CLASSES[name](**{**NEEDED.get(name, {}), **parameters})


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_no_value_of_a_parameter_raises_anything_but_our_own_errors(name, parameter):
    refused = []
    for value in BAD:
        try:
            method = made(name, **{parameter: value})
        except MemetikError as error:
            refused.append(str(error))
            continue
        # What is taken is of the default's kind: a parameter that takes anything is not checked.
        default = getattr(made(name), parameter)
        given = getattr(method, parameter)
        assert default is None or given is None or isinstance(given, type(default)) or callable(given)
        if isinstance(method, M.Native):
            assert method.core is not None
    if (name, parameter) not in OPEN:
        assert all(parameter in said or "method" in said for said in refused)
    assert len(refused) >= 10


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_numbers_of_numpy_are_numbers(name, parameter):
    default = getattr(made(name), parameter)
    kinds = {bool: np.bool_, int: np.int64, float: np.float32}
    if type(default) not in kinds:
        pytest.skip("no number")
    method = made(name, **{parameter: kinds[type(default)](default)})
    assert type(getattr(method, parameter)) is type(default)
    assert getattr(method, parameter) == pytest.approx(default)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: M.Memetic(islands=True), "islands of Memetic must be a whole number in 1..1000000, not True"),
        (lambda: M.Memetic(mutation_low=3.0, mutation_high=2.0), "mutation_high of Memetic must not be below"),
        (lambda: M.Jac(cutoff=1.5), r"cutoff of Jac must be a number in 0..1, not 1.5"),
        (lambda: M.Jac(inverse="pseud"), "inverse of Jac is unknown: 'pseud'; did you mean 'pseudo'"),
        (lambda: M.Decoupled(spread=-1), "spread of Decoupled"),
        (lambda: M.Ccd(restarts="x"), "restarts of Ccd is True or False, not 'x'"),
        (lambda: M.Cascade(raced="x"), "raced of Cascade is True or False"),
        (lambda: M.Cascade(methods=5), "methods of Cascade are a list"),
        (lambda: M.Cascade(shares=0.5), "shares of Cascade must be a list"),
        (lambda: M.Cascade(shares=(0.0,)), "shares of Cascade are numbers above 0"),
        (lambda: M.Pivot(exact="x"), "exact of Pivot"),
        (lambda: M.Neural(hidden=5), "hidden of Neural must be a list"),
        (lambda: M.Neural(hidden=(8, 0)), "an entry of hidden of Neural"),
        (lambda: M.Scipy([]), "algorithm of Scipy"),
        (lambda: M.Nlopt([]), "algorithm of Nlopt"),
        (lambda: M.PivotMemetic(population=10, elites=9), "8 elites at most"),
        (lambda: M.Preset(weights=5), "weights of a preset"),
        (lambda: M.Preset(weights={"center": -1.0}), "'center' in weights"),
        (lambda: M.Preset(options=5), "options of a preset"),
        (lambda: M.Preset(position_only="no"), "position_only of a preset"),
    ],
)
def test_errors_name_the_parameter_and_what_would_be_right(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


def test_the_published_gain_of_the_goal_is_taken():
    """K_ee = 100 I, K_rcm = I (Colan et al. 2023)."""
    assert M.Pivot(pivot_gain=1.0, goal_gain=100.0, exact=False).goal_gain == 100.0


def test_options_of_a_preset_are_arguments_of_solve():
    with pytest.raises(mk.errors.UnknownNameError, match="did you mean 'timeout'"):
        M.Preset(options={"timeot": 1.0})


@pytest.mark.parametrize(
    "wrong",
    [
        {"iterations": -3}, {"iterations": "x"}, {"iterations": True}, {"velocity": "a"}, {"jerk": math.nan},
        {"dt": "x"}, {"dt": 0.0}, {"dt": math.inf}, {"manipulability": None}, {"method": "relaxed"},
    ],
)  # fmt: skip
def test_streams_refuse_what_does_not_fit(wrong):
    robot = mk.load_robot("ur5")
    problem = mk.Problem(robot, [mk.Position(robot.tip)])
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        M.RelaxedStream(problem, robot.neutral, **{"dt": 0.01, **wrong})


@pytest.mark.parametrize("given", [5, ["a"], [[1.0, "b"]], "ab", [None], [[0.1, 0.2]]])
def test_closed_forms_that_give_something_else_are_told(given):
    robot = mk.load_robot("ur5")
    problem = mk.Problem(robot, [mk.Pose(robot.tip)])
    with pytest.raises(InvalidInputError, match="closed form"):
        problem.solve(robot.pose(robot.tip, robot.neutral), method=M.Analytic(lambda pose: given))


def test_parameters_of_a_method_of_ones_own_are_checked_by_their_annotations():
    @dataclass(frozen=True)
    class Own(M.PythonMethod):
        offset: int = -3
        name: str = "mine"

        def search(self, task, start):
            task.submit(start)

    assert Own(offset=-5, name="other").offset == -5
    for wrong in ({"offset": 1.5}, {"restarts": "no"}, {"name": 5}):
        with pytest.raises(InvalidInputError, match="of Own"):
            Own(**wrong)


def test_lazy_classes_are_listed():
    assert {*CLASSES, "Preset", "load_preset", "preset_from_moveit", "RelaxedStream", "PoseStore"} <= set(dir(M))
