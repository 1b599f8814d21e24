"""Why a solve ended as it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memetik.solve.solution import Solution


def reason_of(solution: Solution) -> str:
    """The solution's reason in a few words."""
    return "solved" if solution.success else "not found in time"


def explain(solution: Solution) -> str:
    """The solution's state in plain sentences."""
    return repr(solution)
