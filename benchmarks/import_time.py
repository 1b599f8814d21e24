"""What `import memetik` costs against `import numpy`: medians of interleaved fresh interpreters.

Run: python benchmarks/import_time.py. Ends with status 1 if the ratio exceeds the bar.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

BAR = 1.5
ROUNDS = 21

MEASURE = "import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"

STATEMENTS = ("import numpy", "import memetik", "import memetik; memetik.load_robot('panda')")


def seconds(statement: str) -> float:
    """Seconds that a statement takes in a fresh interpreter."""
    command = [sys.executable, "-c", MEASURE.format(statement=statement)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measure(rounds: int = ROUNDS) -> tuple[list[float], float]:
    """Median seconds of each statement, and the median over rounds of the second's ratio to the first."""
    seconds(STATEMENTS[-1])  # compiles the bytecode and warms the file cache
    table = [[seconds(statement) for statement in STATEMENTS] for _ in range(rounds)]
    medians = [statistics.median(column) for column in zip(*table, strict=True)]
    return medians, statistics.median(row[1] / row[0] for row in table)


def main() -> int:
    medians, ratio = measure()
    for statement, median in zip(STATEMENTS, medians, strict=True):
        print(f"{statement:45} {median * 1e3:7.1f} ms")
    print(f"{'ratio of the second to the first':45} {ratio:7.2f}    (at most {BAR})")
    return 0 if ratio <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
