"""Polynomials piece by piece: values, derivatives, other origins, and proved bounds.

Coefficients (pieces, degree + 1, columns) are of powers of the time since each piece's start, the constant ones first.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np

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


def bound(coefficients: np.ndarray, spans: np.ndarray, halvings: int = _HALVINGS) -> np.ndarray:
    """(columns,) upper bounds of the absolute values of all pieces over their spans (pieces,)."""
    if not len(coefficients):
        return np.zeros(coefficients.shape[2])
    return piece_bounds(coefficients, spans, halvings).max(axis=0)


def piece_bounds(coefficients: np.ndarray, spans: np.ndarray, halvings: int = _HALVINGS) -> np.ndarray:
    """(pieces, columns) upper bounds of the absolute values of each piece over its span.

    A polynomial lies within the hull of its Bernstein coefficients. Each piece is halved a few times, so that the
    hull is little larger than the curve.
    """
    return np.abs(_control(coefficients, spans, halvings)).max(axis=(1, 2))


def piece_ranges(coefficients: np.ndarray, spans: np.ndarray, halvings: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """(pieces, columns) lower and upper bounds of the values of each piece over its span."""
    parts = _control(coefficients, spans, halvings)
    return parts.min(axis=(1, 2)), parts.max(axis=(1, 2))


def _control(coefficients: np.ndarray, spans: np.ndarray, halvings: int) -> np.ndarray:
    """(pieces, parts, degree + 1, columns) Bernstein coefficients of the halved pieces."""
    degree = coefficients.shape[1] - 1
    scaled = coefficients * spans[:, None, None] ** np.arange(degree + 1.0)[None, :, None]
    parts = (_to_bernstein(degree) @ scaled)[:, None]
    if degree < 2:
        return parts
    left, right = _halves(degree)
    for _ in range(halvings):
        parts = np.concatenate([left @ parts, right @ parts], axis=1)
    return parts


@lru_cache
def _to_bernstein(degree: int) -> np.ndarray:
    """(degree + 1, degree + 1) from powers on [0, 1] to Bernstein coefficients."""
    rows = range(degree + 1)
    return np.array([[comb(i, j) / comb(degree, j) if j <= i else 0.0 for j in rows] for i in rows])


@lru_cache
def _halves(degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Matrices from Bernstein coefficients on [0, 1] to those on each half (de Casteljau)."""
    left = np.array([[comb(i, j) / 2.0**i if j <= i else 0.0 for j in range(degree + 1)] for i in range(degree + 1)])
    return left, left[::-1, ::-1].copy()
