"""The default method against every other: success, time and work on random poses and in the benchmark's scenarios.

Run: python benchmarks/sources/method_comparison.py [--targets 20] [--timeout 0.1 | --evaluations 1000] [--robot R]
     [--method M]
     python benchmarks/sources/method_comparison.py --scenarios [Shelf Chain:30 ...] [--targets 20] [--timeout 0.1]
     python benchmarks/sources/method_comparison.py --work [--targets 200]
     python benchmarks/sources/method_comparison.py --pivot [--targets 20] [--timeout 0.3]
The first takes about five minutes with the defaults; options are repeatable. Networks are trained when they first meet
a robot, which is not timed; `--no-neural` leaves them out.

Targets are poses of random configurations within the limits, seeds are other random configurations; 1e-5 m, 1e-5 rad,
one thread. All methods take turns on the same targets on one pinned core, called from Python; failures count with the
time they took. "solved" is what the core verified; every answer is checked again by Pinocchio. A method that is ahead
of the default in success or in mean time is listed. `--scenarios` does the same in the benchmark's scenarios, in all of
them (about half an hour) or in those named; there the benchmark's own check, numpy and coal, is the judge.

`--work` counts the objective evaluations of RelaxedIK on the scenario Random of the thesis on endoscopic inspection:
UR10 with the endoscope, self-collision forbidden, gradients by differences and each of them counted. The source needed
582 on average. `--pivot` has the endoscope's first rod pass through a hole, within a millimetre, and its tip take a
pose.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import benchmarks_path  # noqa: F401
import numpy as np
from peers.measure import pinned
from peers.report import Report
from peers.targets import Tasks, reachable
from peers.verification import Checker
from rich.progress import track

import memetik as mk
from memetik.bench.run.seeding import default_seeding, seeds_of
from memetik.bench.run.verification import Verifier
from memetik.bench.scenarios import SCENARIOS, scenario
from memetik.errors import MemetikError

ROBOTS = ("panda", "ur5", "iiwa14")
DEFAULT = "memetic"
NOT_BY_NAME = {"pivot", "pivot_memetic", "analytic", "cascade"}
"""Methods for other goals, or made of others."""
NEURAL = {"neural", "neural_direct", "seeded"}
COLUMNS = ("method", "solved", "mean ms", "median ms", "evaluations", "restarts")
ENDOSCOPE = ("Barrel", "HydrogenTank", "HydrogenTankSmall")
"""Scenarios that an arm alone does not reach into; the others are run on UR10, or on a robot of their own."""
ARGUMENTS = {"Clutter": ("5",), "FullBody": ("1", "3", "4", "6", "8"), "Chain": ("30",)}
ROD = "endoscope_rod_1"
SOURCE_WORK, MOST_WORK = 582, 700

QUICK = 5e-3
"""Seconds up to which a solve is timed twice, the faster time counts."""

Holds = Callable[[int, np.ndarray], bool]
"""Whether a configuration is an answer to the task of that number."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=20, help="targets on each robot")
    parser.add_argument("--timeout", type=float, default=0.1, help="seconds for each")
    parser.add_argument("--evaluations", type=int, help="bound the work instead of the time: the same on any machine")
    parser.add_argument("--robot", action="append", help="one of the bundled robots")
    parser.add_argument("--method", action="append", help="compare these methods with the default only")
    parser.add_argument("--no-neural", action="store_true", help="leave out what has to be trained")
    parser.add_argument(
        "--scenarios", nargs="*", metavar="NAME", help="in the benchmark's scenarios; without names, all"
    )
    parser.add_argument("--pivot", action="store_true", help="compare what goes through a hole instead")
    parser.add_argument("--work", action="store_true", help="count RelaxedIK's evaluations instead")
    options = parser.parse_args(arguments)
    report = Report()
    with pinned(None):
        if options.work:
            count_work(report, options.targets)
        elif options.pivot:
            compare_pivots(report, options.targets, bound_of(options))
        elif options.scenarios is not None:
            for name in options.scenarios or every_scenario():
                compare_in(report, name, options)
        else:
            for name in options.robot or ROBOTS:
                compare_on(report, mk.load_robot(name), options)
    return report.status() if report.bars else 0


def compare_on(report: Report, robot: mk.Robot, options: argparse.Namespace) -> None:
    """All methods on poses of one robot."""
    goals = [mk.Pose(robot.tip)]
    tasks, checker = reachable(robot, goals, options.targets, seed=3), Checker(robot)
    holds = lambda k, q: checker.holds(goals, tasks.of(k), q)  # noqa: E731
    compare(report, robot.name, mk.Problem(robot, goals), tasks, holds, options)


def compare_in(report: Report, name: str, options: argparse.Namespace) -> None:
    """All methods in one scenario."""
    own = name.partition(":")[0] in ("FullBody", "Chain")
    robot = None if own else "elise" if name in ENDOSCOPE else "ur10"
    setting = scenario(name, robot, targets=options.targets, seed=3)
    tasks = Tasks(setting.targets, seeds_of(setting, default_seeding(setting), trial=0))
    verifier = Verifier(setting.robot, setting.goals, setting.scene, self_collision=setting.self_collision)
    holds = lambda k, q: verifier.check(tasks.of(k), q).holds  # noqa: E731
    compare(report, f"{name} of {setting.robot.name}", setting.problem, tasks, holds, options)


def every_scenario() -> list[str]:
    return [f"{name}:{argument}" if argument else name for name in SCENARIOS for argument in ARGUMENTS.get(name, ("",))]


def compare(
    report: Report, title: str, problem: mk.Problem, tasks: Tasks, holds: Holds, options: argparse.Namespace
) -> None:
    """One table: all methods on the same tasks."""
    methods, refused = solvers(problem, tasks, options)
    bound = bound_of(options)
    runs: dict[str, list[mk.Solution]] = {name: [] for name in methods}
    for k in track(range(len(tasks)), description=title, disable=not sys.stderr.isatty(), transient=True):
        for name, method in methods.items():
            arguments = {"seed": tasks.seeds[k], "rng": k, "method": method, **bound}
            solution = problem.solve(*tasks.of(k), **arguments)
            if solution.time < QUICK:  # again: whoever's turn was before has emptied the caches
                solution = min(solution, problem.solve(*tasks.of(k), **arguments), key=lambda one: one.time)
            runs[name].append(solution)
    solved = {name: true_share(run, holds) for name, run in runs.items()}
    times = {name: np.array([solution.time for solution in run]) for name, run in runs.items()}
    order = sorted(runs, key=lambda name: (-solved[name], times[name].mean()))
    rows = [
        (
            name,
            f"{100.0 * solved[name]:.1f} %",
            f"{1e3 * times[name].mean():.3f}",
            f"{1e3 * np.median(times[name]):.3f}",
            f"{np.mean([solution.evaluations for solution in runs[name]]):.0f}",
            f"{np.mean([solution.restarts for solution in runs[name]]):.1f}",
        )
        for name in order
    ]
    limit = f"{options.evaluations} evaluations" if options.evaluations else f"{options.timeout:g} s"
    report.table(f"{title}: {len(tasks)} targets, {limit}", COLUMNS, rows)
    for reason in dict.fromkeys(refused.values()):
        report.say(f"  left out: {', '.join(name for name, own in refused.items() if own == reason)}: {reason}")
    ahead = [
        name
        for name in order
        if name != DEFAULT and (solved[name] > solved[DEFAULT] or times[name].mean() < times[DEFAULT].mean())
    ]
    figure = ", ".join(ahead) if ahead else "none"
    report.bar(f"{title}: methods ahead of {DEFAULT} in success or mean time", figure, not ahead)


def solvers(problem: mk.Problem, tasks: Tasks, options: argparse.Namespace) -> tuple[dict[str, object], dict[str, str]]:
    """Methods by name, the default first, and why others are not among them."""
    names = [DEFAULT, *(options.method or [name for name in mk.methods.METHODS if name not in NOT_BY_NAME])]
    methods: dict[str, object] = {}
    refused: dict[str, str] = {}
    for name in dict.fromkeys(names):
        if options.no_neural and name in NEURAL:
            continue
        try:
            methods[name] = mk.methods.method_named(name)
            problem.solve(*tasks.of(0), method=methods[name], evaluations=50)
        except (MemetikError, ImportError) as error:
            methods.pop(name, None)
            refused[name] = str(error)
    if not options.method:
        methods["cascade trac, memetic"] = mk.methods.Cascade(["trac", "memetic"])
        methods["cascade raced slsqp, memetic"] = mk.methods.Cascade(["slsqp", "memetic"], raced=True)
        try:
            methods["analytic (eaik)"] = mk.methods.Analytic(mk.methods.eaik_function(problem.robot))
            problem.solve(*tasks.of(0), method=methods["analytic (eaik)"], evaluations=50)
        except (MemetikError, RuntimeError, ValueError) as error:
            methods.pop("analytic (eaik)", None)
            refused["analytic (eaik)"] = str(error).splitlines()[0]
    return methods, refused


def true_share(run: list[mk.Solution], holds: Holds) -> float:
    """Share of answers that hold; a claim that does not is an error of ours."""
    for k, solution in enumerate(run):
        if solution.success and not holds(k, solution.q):
            raise AssertionError(f"target {k} is claimed to be solved and is not.")
    return float(np.mean([solution.success for solution in run]))


def bound_of(options: argparse.Namespace) -> dict[str, float]:
    """What bounds a solve."""
    return {"evaluations": options.evaluations} if options.evaluations else {"timeout": options.timeout}


def compare_pivots(report: Report, count: int, bound: dict[str, float]) -> None:
    """Methods for a remote centre of motion beside the default."""
    robot = mk.load_robot("elise")
    methods = {
        "memetic": "memetic",
        "pivot": "pivot",
        "pivot, as printed": mk.methods.Pivot(exact=False),
        "pivot_memetic": "pivot_memetic",
        "relaxed": "relaxed",
    }
    runs: dict[str, list[mk.Solution]] = {name: [] for name in methods}
    for k in range(count):
        rng = np.random.default_rng(k)
        q, seed = 0.5 * rng.uniform(robot.lower, robot.upper), 0.5 * rng.uniform(robot.lower, robot.upper)
        hole = (robot.pose(ROD, q) @ [0.0, 0.0, 0.1, 1.0])[:3]
        goals = [mk.Pivot(ROD, hole, "z", tolerance=1e-3), mk.Pose(robot.tip, robot.pose(robot.tip, q))]
        problem = mk.Problem(robot, goals)
        for name, method in methods.items():
            runs[name].append(problem.solve(seed=seed, rng=k, method=method, **bound))
    rows = [
        (
            name,
            f"{100.0 * np.mean([solution.success for solution in run]):.1f} %",
            f"{1e3 * np.mean([solution.time for solution in run]):.3f}",
            f"{1e3 * np.median([solution.time for solution in run]):.3f}",
            f"{np.mean([solution.evaluations for solution in run]):.0f}",
            f"{np.mean([solution.restarts for solution in run]):.1f}",
        )
        for name, run in runs.items()
    ]
    report.table(f"a pose through a hole: {count} poses of elise", COLUMNS, rows)


def count_work(report: Report, count: int) -> None:
    """RelaxedIK's objective evaluations on Random."""
    robot = mk.load_robot("elise")
    goals = [mk.Pose(robot.tip)]
    problem = mk.Problem(robot, goals, self_collision=True)
    free = [
        q for q in robot.random(np.random.default_rng(5), 4 * count) if not problem.collision_context.in_collision(q)
    ][:count]
    rows = []
    for seeded, method in (
        ("the middle", mk.methods.Relaxed(gradient="numeric")),
        ("random", mk.methods.Relaxed(gradient="numeric")),
        ("random", mk.methods.Relaxed(gradient="numeric", width=0.1)),
        ("random", mk.methods.Relaxed()),
    ):
        rng = np.random.default_rng(6)
        solutions = [
            problem.solve(
                robot.pose(robot.tip, q),
                seed=None if seeded == "the middle" else robot.random(rng),
                timeout=5.0,
                rng=k,
                method=method,
            )
            for k, q in enumerate(free)
        ]
        work = np.array([solution.evaluations for solution in solutions])
        share = np.mean([solution.success for solution in solutions])
        rows.append(
            (seeded, method.gradient, f"{method.width:g}", f"{100.0 * share:.1f} %", f"{work.mean():.0f}",
             f"{np.median(work):.0f}", f"{np.mean([s.restarts + 1 for s in solutions]):.2f}")
        )  # fmt: skip
        if method.gradient == "numeric" and method.width == mk.methods.Relaxed().width:
            what = f"relaxed from {seeded} seed: at most {MOST_WORK} evaluations on average (source: {SOURCE_WORK})"
            report.bar(what, f"{work.mean():.0f}", bool(work.mean() <= MOST_WORK and share == 1.0))
    columns = ("seed", "gradient", "groove's width", "solved", "mean evaluations", "median", "starts (source: 1.216)")
    report.table(f"RelaxedIK on Random: {len(free)} poses", columns, rows)


if __name__ == "__main__":
    sys.exit(main())
