"""How the tables of methods show shares, and what they say of an ordering that a source states."""

from __future__ import annotations

import numpy as np

from memetik.bench.statistics import compare_paired, wilson_interval


def percent(solved: np.ndarray) -> str:
    """A share of successes with Wilson's 95 % interval."""
    low, high = wilson_interval(int(solved.sum()), len(solved))
    return f"{100 * solved.mean():.1f} ({100 * low:.0f}-{100 * high:.0f})"


def judged(what: str, better: np.ndarray, worse: np.ndarray) -> str:
    """Whether an ordering holds on the same targets, is a tie (noise by a paired test), or fails."""
    comparison = compare_paired(better, worse)
    word = "tie  " if comparison.is_noise else "holds" if comparison.difference > 0 else "FAILS"
    return f"{word}  {what}  ({comparison.first:.1%} and {comparison.second:.1%})"
