"""The sources' tables: what was run, what they print, and which orderings they state.

Ruppel     "Performance optimization and implementation of evolutionary inverse kinematics in ROS", 2017
Starke     "Bio IK: A Memetic Evolutionary Algorithm for Generic Multi-Objective Inverse Kinematics", 2020
Engelke    "Benchmarking and Improving Inverse Kinematics for Endoscopic Inspection Tasks", 2024
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from method_verdicts import QUICKER, Reason

from memetik.solve.literature.bio import Bio1, Bio1Ros, Bio2
from memetik.solve.literature.newton import GradientDescent, Jac, Kdl
from memetik.solve.literature.populations import De, Ga
from memetik.solve.methods import METHODS

SLOW_TARGETS = 300
"""For methods written in Python, whole bodies and scenes, at most."""
NEVER = 1_000_000
"""As patience: a bare algorithm goes on until its time is over."""


@dataclass(frozen=True)
class Row:
    """A method as the source ran it, and the percentages that it prints. A row without is an experiment of ours."""

    label: str
    method: Any
    source: Mapping[str, float] = field(default_factory=dict)
    share: float = 1.0
    """Evaluations it is given, as a share of the table's: threads, or what its iterations cost otherwise."""
    evaluations: Mapping[str, float] = field(default_factory=dict)
    """By robot, where it has a number of its own."""
    slow: bool = False
    """Written in Python: fewer targets."""
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    """The mean times that the source prints."""
    cost: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds of an evaluation in the source, by which times are counted here."""
    turns: Literal["limited", "free", "clipped", "ignored"] = "limited"
    """Joints of a full turn or more: limited as they are (BioIK's methods leave them free until they have an answer,
    which they turn back); free, for methods that do not; or those without limits clipped at half a turn to either side,
    as KDL's plugin does. Ignored: the search knows no limits at all, and an answer outside of them does not count."""


@dataclass(frozen=True)
class Table:
    """One or several tables of a source.

    Orderings are those of the printed percentages (and times) that differ by more than the noise of the source's
    `samples`; `orderings` are further ones that its text states: (better, worse) by label, on the robots named or on
    all that both rows have figures of.

    evaluations  of all rows, by robot. Robots without figures of the source are experiments of ours.
    unit         of the times that are printed; they are means, of targets that were solved where `times_of_solved`.
    reasons      why orderings fail here.
    notes        what a figure means.
    """

    name: str
    rows: tuple[Row, ...]
    evaluations: Mapping[str, int]
    orderings: tuple[tuple[str, str] | tuple[str, str, tuple[str, ...]], ...] = ()
    samples: int = 10_000
    position: float = 1e-5
    rotation: float = 1e-5
    unit: str = "milliseconds"
    times_of_solved: bool = False
    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()


def _python(name: str, **parameters: Any) -> Any:
    """A method in Python, with other parameters than its name stands for."""
    entry = METHODS[name]
    return entry.load()(**{**entry.parameters, **parameters})


TWO: tuple[str, ...] = ("pr2_arm", "ur5")
FIVE: tuple[str, ...] = ("pr2_arm", "ur5", "valkyrie_arm", "valkyrie_leg", "iiwa14")
SIX: tuple[str, ...] = ("pr2_arm", "baxter_arm", "iiwa14", "kr120", "ur5", "fanuc_m10ia")


def _of(robots: tuple[str, ...], *percent: float) -> dict[str, float]:
    return dict(zip(robots, percent, strict=True))


def one(**parameters: Any) -> Bio2:
    """BioIK 2 on four islands, as the thesis' tables have it, each on a thread."""
    return Bio2(**{"islands": 4, **parameters})


# Work that a source's 5 ms stand for, where it gives the time alone.
#
# BioIK 2 evaluates 20 300 configurations in 0.335 ms on four threads (Engelke, 7.2 and table 8.9), so 75 000 in 5 ms
# on each. Ruppel's own times agree: what it needs here over the mean times of his table 4.2 is 56 000 to 75 000 a ms.
BIO2: dict[str, int] = dict.fromkeys(FIVE, 4 * 75_000)

# KDL looks at the clock between attempts only, of 500 iterations by default: the mean times of table 4.2 over the
# shares that fail are 6 to 11 ms, beyond the 5 that it had. So it has one attempt, and its iteration takes a
# 500th of that time. So do TRAC-IK's, on two threads, and the custom pseudo-inverse's: kinematics, Jacobian, SVD.
KDL_RATES: dict[str, float] = _of(FIVE, 53.10, 41.70, 41.13, 91.68, 51.62)
KDL_TIMES: dict[str, float] = _of(FIVE, 4.68, 4.59, 3.50, 0.91, 3.17)
KDL_COST: dict[str, float] = {r: KDL_TIMES[r] / (1 - KDL_RATES[r] / 100) / 500 for r in FIVE}
KDL_COST["pr2_torso"] = KDL_COST["pr2_arm"]

# BioIK 1: quadratic fitness solves the 57.0 % and 43.2 % of table 3.2 after 11 000 and 20 000 evaluations of a thread.
BIO1 = 15_000
# Gradient descent: with continuation it solves UR5's 83.8 % of table 3.5 after as many. Table 3.6 has the same fitness.
DESCENT = 13_500
# Ten generations on average take Bio IK about 1 ms (Starke, chapter 5.4), so it has a hundred in 10 ms, each of as many
# evaluations as measured here, on the main thread and those of three elites. GA and DE have a hundred times as long on
# one of these four.
GENERATIONS = 100
PER_GENERATION: dict[str, int] = dict(zip(SIX, (632, 737, 631, 568, 581, 585), strict=True))
ONE_SECOND = 100 / 4
LIMITED: tuple[str, ...] = ("iiwa14", "kr120", "fanuc_m10ia")
"""Arms of table 5.2 that are run with joints that turn freely, too."""
THREAD: dict[str, float] = dict.fromkeys((*SIX, *(f"{robot}_turning" for robot in LIMITED)), 1.0)
"""Times of table 5.2 are counted in evaluations, on one thread."""


def tables() -> dict[str, Table]:
    """All tables by name."""
    found = (
        first_algorithm(), gradients(), generic_optimisers(),
        variants(
            "3.8 mutation", TWO,
            Row("memetic, per individual", one(), _of(TWO, 100.0, 99.93)),
            Row("evolution, per individual", one(local="none"), _of(TWO, 100.0, 99.86)),
            Row("evolution, per gene", one(local="none", mutate_per_gene=True), _of(TWO, 76.38, 35.85)),
            orderings=(("memetic, per individual", "evolution, per individual", ("ur5",)),),
        ),
        variants(
            "3.9 islands", TWO,
            Row("1 island", one(islands=1), _of(TWO, 99.99, 99.34), 0.25),
            Row("2 islands", one(islands=2), _of(TWO, 100.0, 99.81), 0.5),
            Row("4 islands", one(), _of(TWO, 100.0, 99.93)),
        ),
        variants(
            "3.10 wipe-outs", TWO,
            Row("with", one(), _of(TWO, 100.0, 99.93)),
            Row("without", one(wipeouts=False), _of(TWO, 95.39, 96.42)),
        ),
        variants(
            "3.11 start", TWO,
            Row("seed", one(), _of(TWO, 100.0, 99.93)),
            Row("random on other islands", one(random_start=True), _of(TWO, 100.0, 99.97)),
            orderings=(("random on other islands", "seed", ("ur5",)),),
        ),
        variants(
            "3.12 swarm", TWO,
            Row("with", one(), _of(TWO, 100.0, 99.93)),
            Row("without", one(swarm=False), _of(TWO, 99.41, 91.24)),
        ),
        variants(
            "3.13 memetics", FIVE,
            Row("quadratic", one(), _of(FIVE, 100.0, 99.93, 99.93, 100.0, 99.93)),
            Row("linear", one(local="linear"), _of(FIVE, 99.99, 99.90, 99.94, 99.99, 99.91)),
            Row("L-BFGS", one(local="lbfgs"), _of(FIVE, 99.99, 99.90, 99.91, 100.0, 99.92)),
            Row("none", one(local="none"), _of(FIVE, 99.98, 99.75, 99.50, 99.99, 99.71)),
            orderings=(
                ("quadratic", "linear", ("pr2_arm", "ur5", "valkyrie_leg", "iiwa14")),
                ("quadratic", "L-BFGS", ("pr2_arm", "ur5", "valkyrie_arm", "iiwa14")),
            ),
        ),
        variants(
            "3.14 rotation", FIVE,
            Row("square distance", one(), _of(FIVE, 100.0, 99.93, 99.93, 100.0, 99.93)),
            Row("dot product", one(rotation="dot_product"), _of(FIVE, 100.0, 99.83, 86.30, 97.21, 99.73)),
            Row("square angle", one(rotation="square_angle"), _of(FIVE, 99.95, 97.08, 98.97, 100.0, 98.77)),
        ),
        solvers(), serial_arms(),
    )  # fmt: skip
    return {table.name: table for table in found}


def first_algorithm() -> Table:
    thread = dict.fromkeys(TWO, BIO1)
    return Table(
        "3.1 3.2 3.3 BioIK 1",
        (
            Row("linear", Bio1Ros(combination="mean"), _of(TWO, 51.5, 24.1)),
            Row("quadratic", Bio1Ros(), _of(TWO, 57.0, 43.2)),
            Row("quadratic, 4 islands", Bio1Ros(islands=4), _of(TWO, 77.4, 53.4), 4.0),
            _kdl(_of(TWO, 50.6, 41.8)),
            _trac(_of(TWO, 99.9, 99.7)),
        ),
        thread,
        orderings=(("quadratic", "KDL"),),
        samples=1000,
    )  # fmt: skip


def gradients() -> Table:
    robots = (*TWO, "pr2_torso")
    jac = {robot: 5 / KDL_COST[robot] for robot in robots}
    return Table(
        "3.4 3.5 gradients",
        (
            Row("gd", GradientDescent(restarts=False), _of(TWO, 7.7, 1.4)),
            Row("gd_r", GradientDescent(acceptance="reset", patience=NEVER), _of(TWO, 36.9, 10.9)),
            Row("gd_c", _continuing(1), _of(TWO, 67.8, 83.8)),
            Row("gd_c_4", _continuing(4), _of(TWO, 85.0, 90.5), 4.0),
            Row("jac", _bare_jac(1), _of(TWO, 67.3, 87.9), evaluations=jac),
            Row("jac_4", _bare_jac(4), _of(TWO, 82.5, 95.5), 4.0, evaluations=jac),
            _kdl(_of(TWO, 50.6, 41.8), also=("pr2_torso",)),
            _trac(_of(TWO, 99.9, 99.7), also=("pr2_torso",)),
            Row("jac, clipped as KDL", _bare_jac(1, free_turns=False), evaluations=jac, turns="clipped"),
        ),
        dict.fromkeys(robots, DESCENT),
        orderings=(("gd_c", "jac", ("pr2_arm",)), ("gd_c_4", "jac_4", ("pr2_arm",))),
        samples=1000,
        reasons=(
            Reason(
                "it depends on the joints: with the torso's (pr2_torso), where KDL and gd_c solve the source's shares, "
                "gradient descent is ahead",
                ("gd_c", "gd_c_4"), ("jac", "jac_4"), ("pr2_arm",), at="pr2_torso",
            ),
        ),
        notes=(
            "jac and KDL are the same iteration, q <- clip(q - J^+ r). What sets them apart in the source is what they "
            "clip: BioIK leaves joints of a full turn or more free and turns the answer back; KDL clips them, those "
            "without limits at half a turn.",
        ),
    )  # fmt: skip


def generic_optimisers() -> Table:
    return Table(
        "3.6 generic optimisers",
        (
            *(
                Row(label, _as_cppoptlib(name, end), {"ur5": ur5, "pr2_arm": pr2}, slow=True, turns="ignored")
                for label, name, end, ur5, pr2 in (
                    ("BFGS", "bfgs", 0.0, 92.5, 13.9),
                    ("conjugate gradient", "cg", 0.0, 35.4, 13.5),
                    ("gradient descent", "steepest", 0.0, 35.6, 6.9),
                    ("L-BFGS", "lbfgs", 1e-4, 0.0, 0.1),
                    ("Nelder-Mead", "nelder_mead", 1e-4, 30.7, 15.8),
                    ("Newton", "newton", 0.0, 18.1, 3.1),
                )
            ),
            Row("L-BFGS-B", _as_cppoptlib("lbfgsb", 1e-4), {"ur5": 0.4, "pr2_arm": 1.7}, slow=True, turns="free"),
            Row("L-BFGS to its end", _as_cppoptlib("lbfgs", 0.0), slow=True, turns="ignored"),
            Row("Nelder-Mead to its end", _as_cppoptlib("nelder_mead", 0.0), slow=True, turns="ignored"),
            Row("BFGS within limits", _as_cppoptlib("bfgs", 0.0), slow=True, turns="free"),
        ),
        dict.fromkeys(("ur5", "pr2_arm", "pr2_torso"), DESCENT),
        orderings=(("Nelder-Mead", "BFGS", ("pr2_arm",)), ("Nelder-Mead", "conjugate gradient", ("pr2_arm",))),
        samples=1000,
        reasons=(
            Reason(
                "it depends on the joints and on the end: with the torso's (pr2_torso), and run to its end, "
                "Nelder-Mead is not behind",
                ("Nelder-Mead",), where=("pr2_arm",), at="pr2_torso", instead={"Nelder-Mead": "Nelder-Mead to its end"},
            ),
        ),
        notes=(
            "CppNumericalSolvers takes central differences and knows no limits but in L-BFGS-B; its L-BFGS and "
            "L-BFGS-B end where the gradient is shorter than 1e-4 and Nelder-Mead where its simplex is as small, "
            "too early for 1e-5 m. The rows to their end are without that.",
        ),
    )  # fmt: skip


def variants(
    name: str,
    robots: tuple[str, ...],
    *rows: Row,
    orderings: tuple[tuple[str, str, tuple[str, ...]], ...] = (),
    reasons: tuple[Reason, ...] = (),
) -> Table:
    """BioIK 2 with and without one of its parts, beside TRAC-IK and KDL."""
    reference = (
        _trac({robot: _of(FIVE, 99.91, 99.29, 99.64, 99.98, 99.88)[robot] for robot in robots}),
        _kdl({robot: KDL_RATES[robot] for robot in robots}),
    )
    return Table(name, (*rows, *reference), {r: BIO2[r] for r in robots}, orderings=orderings, reasons=reasons)


def solvers() -> Table:
    return Table(
        "3.7 4.1 4.2 solvers",
        (
            Row("BioIK 2", one(), _of(FIVE, 100.0, 99.93, 99.93, 100.0, 99.93),
                milliseconds=_of(FIVE, 0.45, 0.50, 0.51, 0.28, 0.47), cost=dict.fromkeys(FIVE, 5 / 300_000)),
            Row("BioIK 1", Bio1Ros(islands=4), _of(FIVE, 75.69, 51.20, 29.13, 70.14, 66.84),
                evaluations=dict.fromkeys(FIVE, 4 * BIO1), milliseconds=_of(FIVE, 3.93, 4.12, 4.67, 3.14, 3.49),
                cost=dict.fromkeys(FIVE, 5 / BIO1 / 4)),
            replace(_trac(_of(FIVE, 99.91, 99.29, 99.64, 99.98, 99.88)),
                    milliseconds=_of(FIVE, 0.77, 0.52, 0.73, 0.18, 0.41), cost={r: KDL_COST[r] / 2 for r in FIVE}),
            replace(_kdl(KDL_RATES), milliseconds=KDL_TIMES, cost=KDL_COST),
            Row("BioIK 1, 11 000", Bio1Ros(islands=4), evaluations=dict.fromkeys(FIVE, 4 * 11_000)),
        ),
        BIO2,
        reasons=(
            Reason(
                "within the span of BioIK 1's calibration: not so with the 11 000 evaluations of a thread that the PR2 "
                "stands for", ("KDL",), ("BioIK 1",), instead={"BioIK 1": "BioIK 1, 11 000"},
            ),
            Reason(
                "within the span of BioIK 1's calibration, 11 000 to 20 000 evaluations for 5 ms, which is 2.5 to "
                "3.2 ms here", ("KDL",), ("BioIK 1",), ("iiwa14",), QUICKER,
            ),
        ),
        notes=("Times are evaluations at what one takes in the source: no program of ours is timed.",),
    )  # fmt: skip


def serial_arms() -> Table:
    ga, de = (36.24, 39.22, 61.14, 52.21, 68.53, 42.67), (66.89, 56.84, 87.39, 77.17, 89.75, 76.91)
    turning = {f"{robot}_turning": GENERATIONS * PER_GENERATION[robot] for robot in LIMITED}
    newton = ("Jacobian-T", "Jacobian-DLS")
    ends = "its runs end at limits, of which the source prints none: not so where all joints turn freely ({})"
    tenth = "their GA, of unknown settings, solves in 1 s about what ours does in 0.1 s"
    damping = "the source does not print its damping: with 0.5 not so"
    sooner = {"GA, 1 s": "GA, 0.1 s"}
    damped = {"Jacobian-DLS": "Jacobian-DLS, damping 0.5"}
    return Table(
        "5.2 serial arms",
        (
            Row("Jacobian-T", _limited("transpose"), _of(SIX, 25.27, 36.92, 88.71, 58.77, 88.14, 45.78)),
            Row("Jacobian-DLS", _limited("damped"), _of(SIX, 28.61, 9.78, 68.64, 59.62, 77.81, 55.83)),
            Row("L-BFGS-B", _python("lbfgsb", restarts=False), _of(SIX, 37.68, 43.19, 74.33, 67.74, 86.97, 49.66),
                slow=True, turns="free"),
            Row("GA, 1 s", Ga(), _of(SIX, *ga), ONE_SECOND,
                milliseconds=_of(SIX, 334.53, 362.18, 297.87, 398.49, 323.84, 416.81), cost=THREAD),
            Row("DE, 1 s", De(), _of(SIX, *de), ONE_SECOND,
                milliseconds=_of(SIX, 197.65, 171.39, 129.42, 231.87, 159.11, 203.64), cost=THREAD),
            Row("Bio IK, 10 ms", Bio1(), _of(SIX, 99.47, 99.16, 99.93, 99.21, 99.38, 98.96),
                milliseconds=_of(SIX, 0.91, 1.12, 0.74, 1.09, 0.91, 1.07), cost={r: n / 4 for r, n in THREAD.items()}),
            Row("Bio IK, 1 s", Bio1(), _of(SIX, 100, 100, 100, 100, 100, 100), 100.0),
            Row("Jacobian-DLS, damping 0.5", _limited("damped", damping=0.5)),
            Row("L-BFGS, limits ignored", _python("lbfgs", restarts=False), slow=True, turns="ignored"),
            Row("GA, 0.1 s", Ga(), share=ONE_SECOND / 10),
            Row("DE, 10 ms", De(), share=ONE_SECOND / 100),
        ),
        {**{robot: GENERATIONS * PER_GENERATION[robot] for robot in SIX}, **turning},
        position=1e-4,
        rotation=1e-3,
        unit="evaluations of a thread (source: milliseconds)",
        times_of_solved=True,
        reasons=(
            *(
                Reason(ends.format(f"{robot}_turning"), newton, where=(robot,), at=f"{robot}_turning")
                for robot in LIMITED
            ),
            *(
                Reason(
                    f"{ends.format(f'{robot}_turning')}, if {tenth}",
                    newton, where=(robot,), at=f"{robot}_turning", instead=sooner,
                )
                for robot in LIMITED
            ),
            Reason(tenth, worse=("GA, 1 s",), instead=sooner),
            Reason(
                "theirs, of unknown settings, solves 57 to 90 % in 1 s, ours nearly all; Bio IK is ahead at equal time",
                worse=("DE, 1 s",), instead={"DE, 1 s": "DE, 10 ms"},
            ),
            Reason(damping, ("Jacobian-DLS",), instead=damped),
            Reason(f"{tenth}; {damping}", ("Jacobian-DLS",), instead={**sooner, **damped}),
            Reason(
                f"{damping}, if L-BFGS, too, ends at limits as the text has it",
                ("Jacobian-DLS",), ("L-BFGS-B",), instead={**damped, "L-BFGS-B": "L-BFGS, limits ignored"},
            ),
        ),
        notes=(
            "Joints of a full turn or more are free; the Jacobian methods end where another one first meets a limit.",
        ),
    )  # fmt: skip


def _kdl(source: Mapping[str, float], also: tuple[str, ...] = ()) -> Row:
    evaluations = dict.fromkeys((*source, *also), 500.0)
    method = Kdl(adaptive=False, restarts=False, iterations=NEVER)
    return Row("KDL", method, source, evaluations=evaluations, turns="clipped")


def _trac(source: Mapping[str, float], also: tuple[str, ...] = ()) -> Row:
    """Two threads for 5 ms."""
    evaluations = {robot: 2 * 5 / KDL_COST[robot] for robot in (*source, *also)}
    return Row("TRAC-IK", _python("trac"), source, evaluations=evaluations, slow=True)


def _as_cppoptlib(algorithm: str, end: float) -> Any:
    return _python(algorithm, restarts=False, gradient="numeric", end=end, iterations=NEVER)


def _continuing(islands: int) -> GradientDescent:
    return GradientDescent(acceptance="always", islands=islands, patience=NEVER, restarts=False)


def _bare_jac(islands: int, free_turns: bool = True) -> Jac:
    return Jac(islands=islands, restarts=False, patience=NEVER, iterations=NEVER, free_turns=free_turns)


def _limited(inverse: Any, **parameters: Any) -> Jac:
    return Jac(inverse=inverse, stop_at_limits=True, restarts=False, iterations=NEVER, patience=NEVER, **parameters)
