"""The truth of solving: random problems of all kinds on all bundled robots, every answer checked from outside.

    python benchmarks/truth.py --problems 100000

The problems come from tests/solve/problem_generator.py: one to nine goals, a third of them infeasible by construction.
Each is solved with 1, 2 and 4 threads and a budget in evaluations. Answers are checked by tests/solve/truth.py: poses
from Pinocchio, limits, and every must by its definition. Exit code 1 if there is a false success, a value that is not
finite, an answer that depends on the number of threads, or an error.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "solve"))

THREADS = (1, 2, 4)
CHUNK = 50
SHOWN = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--evaluations", type=int, default=600)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    begin = time.perf_counter()
    counts: Counter[str] = Counter()
    shown = 0
    last = given.first + given.problems
    chunks = [(k, min(k + CHUNK, last), given.evaluations) for k in range(given.first, last, CHUNK)]
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        for found, faults in _watched(pool.imap_unordered(_check, chunks), len(chunks)):
            counts += found
            for fault in faults[: max(0, SHOWN - shown)]:
                print(fault, file=sys.stderr, flush=True)
            shown += len(faults)
    _report(counts, time.perf_counter() - begin)
    return 1 if shown else 0


def _check(chunk: tuple[int, int, int]) -> tuple[Counter[str], list[str]]:
    """Solves and checks problems first ... last; counts, and a sentence for each fault."""
    import numpy as np
    from problem_generator import generate
    from truth import violations

    from memetik.solve.problem import Problem

    warnings.simplefilter("ignore")
    first, last, evaluations = chunk
    counts: Counter[str] = Counter()
    faults: list[str] = []

    def fault(kind: str, sentence: str) -> None:
        counts[kind] += 1
        faults.append(f"{kind}: problem {k}: {sentence}")

    budget = {"evaluations": evaluations, "refine_evaluations": evaluations // 2}
    for k in range(first, last):
        case = generate(k)
        counts["problems"] += 1
        counts["infeasible by construction"] += case.flaw is not None
        try:
            problem = Problem(case.robot, case.goals, fixed=case.fixed)
            targets = [case.targets] if case.targets else []
            one, *others = (problem.solve(*targets, seed=case.seed, rng=k, threads=n, **budget) for n in THREADS)
        except Exception as error:
            fault("errors", f"{type(error).__name__}: {error} in {case!r:.300}")
            continue
        counts["solved"] += one.success
        if not (np.isfinite(one.q).all() and all(np.isfinite(list(e.values())).all() for e in one.errors.values())):
            fault("not finite", repr(case))
        if any(one.success != other.success or not np.array_equal(one.q, other.q) for other in others):
            fault("depends on threads", repr(case))
        if one.success:
            wrong = violations(case.complete, case.robot, one.q, case.fixed)
            if wrong or case.flaw is not None:
                fault("false successes", f"{'; '.join(wrong) or f'flaw {case.flaw!r}'} in {case!r}")
    return counts, faults


def _watched(results: Iterator, total: int) -> Iterator:
    """The results, with a progress bar on a terminal."""
    if not sys.stderr.isatty():
        yield from results
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(results, description="checking", total=total, console=Console(stderr=True), transient=True)


def _report(counts: Counter[str], seconds: float) -> None:
    feasible = counts["problems"] - counts["infeasible by construction"]
    print(f"{'problems':32}{counts['problems']:>10}")
    print(f"{'infeasible by construction':32}{counts['infeasible by construction']:>10}")
    print(
        f"{'solved':32}{counts['solved']:>10}  {100.0 * counts['solved'] / max(feasible, 1):.1f} % of the feasible ones"
    )
    for kind in ("false successes", "not finite", "depends on threads", "errors"):
        print(f"{kind:32}{counts[kind]:>10}")
    print(f"{'seconds':32}{seconds:>10.0f}")


if __name__ == "__main__":
    sys.exit(main())
