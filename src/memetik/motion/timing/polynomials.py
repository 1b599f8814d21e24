"""Polynomials piece by piece: values, derivatives, other origins, and proved bounds.

Coefficients (pieces, degree + 1, columns) are of powers of the time since each piece's start, the constant ones first.
"""

from __future__ import annotations

import numpy as np

from memetik import _core

_HALVINGS = 3


def evaluate(coefficients: np.ndarray, pieces: np.ndarray, t: np.ndarray, order: int = 0) -> np.ndarray:
    """(M, columns) values, or a derivative of that order, in the pieces (M,) at times t (M,) since their start."""
    chosen = derivative(coefficients, order)[pieces]
    result = chosen[:, -1].copy()
    for power in range(chosen.shape[1] - 2, -1, -1):
        result = result * t[:, None] + chosen[:, power]
    return result


def derivative(coefficients: np.ndarray, order: int = 1) -> np.ndarray:
    """Coefficients of a derivative; of zero where the degree is too low."""
    for _ in range(order):
        degree = coefficients.shape[1] - 1
        if degree == 0:
            return np.zeros_like(coefficients)
        coefficients = coefficients[:, 1:] * np.arange(1.0, degree + 1.0)[:, None]
    return coefficients


def shifted(coefficients: np.ndarray, by: np.ndarray) -> np.ndarray:
    """The same polynomials in the time since `by` (pieces,) later."""
    result = coefficients.copy()
    degree = coefficients.shape[1] - 1
    for low in range(degree):  # synthetic division, one coefficient at a time
        for power in range(degree - 1, low - 1, -1):
            result[:, power] += by[:, None] * result[:, power + 1]
    return result


def bound(coefficients: np.ndarray, spans: np.ndarray, halvings: int = _HALVINGS, order: int = 0) -> np.ndarray:
    """(columns,) upper bounds of the absolute values, or of a derivative's, of all pieces over spans (pieces,)."""
    if not len(coefficients):
        return np.zeros(coefficients.shape[2])
    return piece_bounds(coefficients, spans, halvings, order).max(axis=0)


def piece_bounds(coefficients: np.ndarray, spans: np.ndarray, halvings: int = _HALVINGS, order: int = 0) -> np.ndarray:
    """(pieces, columns) upper bounds of the absolute values, or of a derivative's, of each piece over its span.

    A polynomial lies within the hull of its Bernstein coefficients. Each piece is halved a few times, so that the
    hull is little larger than the curve.
    """
    low, high = _ranges(coefficients, spans, order, halvings)
    return np.maximum(-low, high)


def piece_ranges(coefficients: np.ndarray, spans: np.ndarray, halvings: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """(pieces, columns) lower and upper bounds of the values of each piece over its span."""
    return _ranges(coefficients, spans, 0, halvings)


def _ranges(coefficients: np.ndarray, spans: np.ndarray, order: int, halvings: int) -> tuple[np.ndarray, np.ndarray]:
    rows, lengths = (np.ascontiguousarray(values, dtype=float) for values in (coefficients, spans))
    return _core.polynomial_ranges(rows, lengths, order, halvings)
