"""Replays what the product promises, one line each: what was seen, and whether the promise holds.

    python benchmarks/promises.py [--only NAME] [--list]

Each line stands for a way in which a promise was once broken. Ends with status 1 if one is broken now.
"""

import argparse
import sys
import time
import traceback
from collections.abc import Callable

from promise_cases import CASES

Case = tuple[str, Callable[[], tuple[bool, str]]]


def replay(case: Case) -> bool:
    """Prints one line of a case; whether it holds."""
    name, check = case
    begin = time.perf_counter()
    try:
        holds, seen = check()
    except Exception as error:  # a case that cannot be run does not hold
        holds, seen = False, f"{type(error).__name__}: {error}"
        traceback.print_exc()
    print(f"{'holds ' if holds else 'BROKEN'}  {name}: {seen} ({time.perf_counter() - begin:.1f} s)", flush=True)
    return holds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--list", action="store_true", help="print the names only")
    given = parser.parse_args()
    chosen = [case for case in CASES if given.only in case[0]]
    if given.list:
        print("\n".join(name for name, _ in chosen))
        return 0
    kept = [replay(case) for case in chosen]
    print(f"{sum(kept)} of {len(kept)} promises hold.")
    return int(not kept or not all(kept))


if __name__ == "__main__":
    sys.exit(main())
