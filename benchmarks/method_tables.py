"""The sources' tables: what was run, what they print, and which orderings they state.

Ruppel     "Performance optimization and implementation of evolutionary inverse kinematics in ROS", 2017
Starke     "Bio IK: A Memetic Evolutionary Algorithm for Generic Multi-Objective Inverse Kinematics", 2020
Engelke    "Benchmarking and Improving Inverse Kinematics for Endoscopic Inspection Tasks", 2024
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from memetik.solve.methods import METHODS
from memetik.solve.methods.bio import Bio1, Bio1Ros, Bio2
from memetik.solve.methods.descent import GradientDescent
from memetik.solve.methods.newton import Jac, Kdl
from memetik.solve.methods.populations import De, Ga

NEVER = 1_000_000
"""As patience: a bare algorithm goes on until its time is over."""


@dataclass(frozen=True)
class Row:
    """A method as the source ran it, and the percentages that it prints."""

    label: str
    method: Any
    source: Mapping[str, float]
    share: float = 1.0
    """Evaluations it is given, as a share of the table's: threads, or what its iterations cost otherwise."""
    slow: bool = False
    """Written in Python: fewer targets."""
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    """The mean times that the source prints."""
    turns: Literal["limited", "free", "clipped", "ignored"] = "limited"
    """Joints of a full turn or more: limited as they are (BioIK's methods leave them free until they have an answer,
    which they turn back); free, for methods that do not; or those without limits clipped at half a turn to either side,
    as KDL's plugin does. Ignored: the search knows no limits at all, and an answer outside of them does not count."""


@dataclass(frozen=True)
class Table:
    """One or several tables of a source.

    anchor     the row that calibrates the work: evaluations are given to all rows so that this one solves as many
               targets as in the source. None: `evaluations`.
    orderings  (better, worse) by label; on the robots named, or on all.
    notes      why an ordering does not hold, or what a figure means.
    """

    name: str
    rows: tuple[Row, ...]
    orderings: tuple[tuple[str, str] | tuple[str, str, tuple[str, ...]], ...]
    anchor: str | None = None
    evaluations: Mapping[str, int] = field(default_factory=dict)
    position: float = 1e-5
    rotation: float = 1e-5
    most: int = 60_000
    """Evaluations up to which the anchor is looked for."""
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


# Where a source gives the time alone, its work follows from the numbers it prints elsewhere: BioIK 2 evaluates 20 300
# postures in 0.335 ms on four threads (Engelke, tables 8.9 and chapter 7.2), so about 75 000 in 5 ms on each; KDL's
# iteration with its decomposition takes about 10 us, so 500 in 5 ms.
BIO2: dict[str, int] = dict.fromkeys(FIVE, 4 * 75_000)
KDL_SHARE = 500 / 300_000


def tables() -> dict[str, Table]:
    """All tables by name."""
    found = (
        Table(
            "3.1-3.3 BioIK 1",
            (
                Row("linear", Bio1Ros(combination="mean"), _of(TWO, 51.5, 24.1)),
                Row("quadratic", Bio1Ros(), _of(TWO, 57.0, 43.2)),
                Row("quadratic, 4 islands", Bio1Ros(islands=4), _of(TWO, 77.4, 53.4), 4.0),
            ),
            (("quadratic", "linear"), ("quadratic, 4 islands", "quadratic")),
            anchor="quadratic",
        ),
        Table(
            "3.4-3.5 gradients",
            (
                Row("gd", GradientDescent(restarts=False), _of(TWO, 7.7, 1.4)),
                Row("gd_r", GradientDescent(acceptance="reset", patience=NEVER), _of(TWO, 36.9, 10.9)),
                Row("gd_c", _continuing(1), _of(TWO, 67.8, 83.8)),
                Row("gd_c_4", _continuing(4), _of(TWO, 85.0, 90.5), 4.0),
            ),
            (("gd_r", "gd"), ("gd_c", "gd_r"), ("gd_c_4", "gd_c")),
            anchor="gd_c",
        ),
        Table(
            "3.4 Jacobians",
            (
                Row("jac", _bare_jac(1), _of(TWO, 67.3, 87.9)),
                Row("jac, clipped", _bare_jac(1, free_turns=False), _of(TWO, 67.3, 87.9), turns="clipped"),
                Row("jac_4", _bare_jac(4), _of(TWO, 82.5, 95.5), 4.0),
                Row("kdl", _bare_kdl(), _of(TWO, 50.6, 41.8), turns="clipped"),
                Row("trac", _python("trac"), _of(TWO, 99.9, 99.7), 2.0, slow=True),
            ),
            (("jac_4", "jac"), ("jac", "kdl"), ("trac", "jac_4")),
            evaluations=dict.fromkeys(TWO, 500),
            notes=(
                "jac and kdl are the same iteration, q <- clip(q - J^+ r). What sets them apart in the source is what",
                "they clip: BioIK leaves joints of a full turn or more free and turns the answer back; KDL clips them,",
                "those without limits at half a turn. 'jac, clipped' is jac as KDL clips it.",
            ),
        ),
        Table(
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
                Row("L-BFGS to its end", _as_cppoptlib("lbfgs", 0.0), {"ur5": 0.0, "pr2_arm": 0.1}, slow=True,
                    turns="ignored"),
                Row("BFGS within limits", _as_cppoptlib("bfgs", 0.0), {"ur5": 92.5, "pr2_arm": 13.9}, slow=True,
                    turns="free"),
            ),
            tuple(
                ("BFGS", other, ("ur5",))
                for other in ("conjugate gradient", "gradient descent", "L-BFGS-B", "L-BFGS", "Nelder-Mead", "Newton")
            ),
            evaluations=dict.fromkeys(TWO, 2_500),
            notes=(
                "CppNumericalSolvers takes central differences and knows no limits but in L-BFGS-B; its L-BFGS and",
                "L-BFGS-B end where the gradient is shorter than 1e-4 and Nelder-Mead where its simplex is as small,",
                "too early for 1e-5 m. The last two rows are without that: L-BFGS solves as much as BFGS then, and",
                "BFGS more where joints have limits.",
            ),
        ),
        Table(
            "3.8 mutation",
            (
                Row("memetic, per individual", one(), _of(TWO, 100.0, 99.93)),
                Row("evolution, per individual", one(local="none"), _of(TWO, 100.0, 99.86)),
                Row("evolution, per gene", one(local="none", mutate_per_gene=True), _of(TWO, 76.38, 35.85)),
            ),
            (
                ("memetic, per individual", "evolution, per individual"),
                ("evolution, per individual", "evolution, per gene"),
            ),
            evaluations=BIO2,
        ),
        Table(
            "3.9 islands",
            (
                Row("1 island", one(islands=1), _of(TWO, 99.99, 99.34), 0.25),
                Row("2 islands", one(islands=2), _of(TWO, 100.0, 99.81), 0.5),
                Row("4 islands", one(), _of(TWO, 100.0, 99.93)),
            ),
            (("2 islands", "1 island"), ("4 islands", "2 islands")),
            evaluations=BIO2,
        ),
        Table(
            "3.10 wipe-outs",
            (
                Row("with", one(), _of(TWO, 100.0, 99.93)),
                Row("without", one(wipeouts=False), _of(TWO, 95.39, 96.42)),
            ),
            (("with", "without"),),
            evaluations=BIO2,
        ),
        Table(
            "3.11 start",
            (
                Row("seed", one(), _of(TWO, 100.0, 99.93)),
                Row("random on other islands", one(random_start=True), _of(TWO, 100.0, 99.97)),
            ),
            (("random on other islands", "seed"),),
            evaluations=BIO2,
        ),
        Table(
            "3.12 swarm",
            (
                Row("with", one(), _of(TWO, 100.0, 99.93)),
                Row("without", one(swarm=False), _of(TWO, 99.41, 91.24)),
            ),
            (("with", "without"),),
            evaluations=BIO2,
        ),
        Table(
            "3.13 memetics",
            (
                Row("quadratic", one(), _of(FIVE, 100.0, 99.93, 99.93, 100.0, 99.93)),
                Row("linear", one(local="linear"), _of(FIVE, 99.99, 99.90, 99.94, 99.99, 99.91)),
                Row("L-BFGS", one(local="lbfgs"), _of(FIVE, 99.99, 99.90, 99.91, 100.0, 99.92)),
                Row("none", one(local="none"), _of(FIVE, 99.98, 99.75, 99.50, 99.99, 99.71)),
            ),
            (("quadratic", "none"), ("linear", "none"), ("L-BFGS", "none")),
            evaluations=BIO2,
        ),
        Table(
            "3.14 rotation",
            (
                Row("square distance", one(), _of(FIVE, 100.0, 99.93, 99.93, 100.0, 99.93)),
                Row("dot product", one(rotation="dot_product"), _of(FIVE, 100.0, 99.83, 86.30, 97.21, 99.73)),
                Row("square angle", one(rotation="square_angle"), _of(FIVE, 99.95, 97.08, 98.97, 100.0, 98.77)),
            ),
            (
                ("square distance", "dot product"),
                ("square distance", "square angle"),
                ("square angle", "dot product", ("valkyrie_arm", "valkyrie_leg")),
            ),
            evaluations=BIO2,
        ),
        Table(
            "3.7 4.1 4.2 solvers",
            (
                Row(
                    "BioIK 2",
                    one(),
                    _of(FIVE, 100.0, 99.93, 99.93, 100.0, 99.93),
                    milliseconds=_of(FIVE, 0.45, 0.50, 0.51, 0.28, 0.47),
                ),
                Row(
                    "BioIK 1",
                    Bio1Ros(islands=4),
                    _of(FIVE, 75.69, 51.20, 29.13, 70.14, 66.84),
                    0.1,
                    milliseconds=_of(FIVE, 3.93, 4.12, 4.67, 3.14, 3.49),
                ),
                Row(
                    "TRAC-IK",
                    _python("trac"),
                    _of(FIVE, 99.91, 99.29, 99.64, 99.98, 99.88),
                    2 * KDL_SHARE,
                    slow=True,
                    milliseconds=_of(FIVE, 0.77, 0.52, 0.73, 0.18, 0.41),
                ),
                Row(
                    "KDL",
                    _bare_kdl(),
                    _of(FIVE, 53.10, 41.70, 41.13, 91.68, 51.62),
                    KDL_SHARE,
                    turns="clipped",
                    milliseconds=_of(FIVE, 4.68, 4.59, 3.50, 0.91, 3.17),
                ),
            ),
            (("BioIK 2", "BioIK 1"), ("BioIK 2", "KDL"), ("BioIK 2", "TRAC-IK"), ("TRAC-IK", "KDL")),
            evaluations=BIO2,
            notes=(
                "The source's times are of the wall, with four threads for BioIK and two for TRAC-IK; here one thread",
                "carries all islands. TRAC-IK is written in Python here: its time is that of the interpreter. KDL's",
                "500 iterations, which take the source 5 ms, take about one here.",
            ),
        ),
        Table(
            "5.2 serial arms",
            (
                Row("Jacobian-T", _limited("transpose"), _of(SIX, 25.27, 36.92, 88.71, 58.77, 88.14, 45.78)),
                Row("Jacobian-DLS", _limited("damped"), _of(SIX, 28.61, 9.78, 68.64, 59.62, 77.81, 55.83)),
                Row(
                    "L-BFGS-B",
                    _python("lbfgsb", restarts=False),
                    _of(SIX, 37.68, 43.19, 74.33, 67.74, 86.97, 49.66),
                    slow=True,
                ),
                Row("GA", Ga(), _of(SIX, 36.24, 39.22, 61.14, 52.21, 68.53, 42.67)),
                Row("GA, 100 times", Ga(), _of(SIX, 36.24, 39.22, 61.14, 52.21, 68.53, 42.67), 100.0),
                Row("DE", De(), _of(SIX, 66.89, 56.84, 87.39, 77.17, 89.75, 76.91)),
                Row("DE, 100 times", De(), _of(SIX, 66.89, 56.84, 87.39, 77.17, 89.75, 76.91), 100.0),
                Row("Bio IK", Bio1(), _of(SIX, 99.47, 99.16, 99.93, 99.21, 99.38, 98.96)),
                Row("Bio IK, 100 times", Bio1(), _of(SIX, 100, 100, 100, 100, 100, 100), 100.0),
            ),
            (
                ("Bio IK", "Jacobian-T"), ("Bio IK", "Jacobian-DLS"), ("Bio IK", "L-BFGS-B"), ("Bio IK", "GA"),
                ("Bio IK", "DE"), ("DE", "GA"), ("Bio IK, 100 times", "Bio IK"),
                ("Bio IK, 100 times", "GA, 100 times"), ("Bio IK, 100 times", "DE, 100 times"),
                ("DE, 100 times", "GA, 100 times"),
            ),
            # 10 ms of 75 to 90 generations, at the ten per millisecond that the mean times and generations imply.
            evaluations=dict.fromkeys(SIX, 20_000),
            position=1e-4,
            rotation=1e-3,
            notes=(
                "The Jacobian methods end where a joint first meets a limit, as there, but with whole steps.",
                "The source ran GA and DE for 1 s, a hundred times as long as Bio IK, and prints no settings.",
            ),
        ),
    )  # fmt: skip
    return {table.name: table for table in found}


def _as_cppoptlib(algorithm: str, end: float) -> Any:
    return _python(algorithm, restarts=False, gradient="numeric", end=end, iterations=NEVER)


def _continuing(islands: int) -> GradientDescent:
    return GradientDescent(acceptance="always", islands=islands, patience=NEVER, restarts=False)


def _bare_jac(islands: int, free_turns: bool = True) -> Jac:
    return Jac(islands=islands, restarts=False, patience=NEVER, iterations=NEVER, free_turns=free_turns)


def _bare_kdl() -> Kdl:
    return Kdl(adaptive=False, restarts=False, iterations=NEVER)


def _limited(inverse: str) -> Jac:
    return Jac(inverse=inverse, stop_at_limits=True, free_turns=False, restarts=False, iterations=NEVER)  # type: ignore
