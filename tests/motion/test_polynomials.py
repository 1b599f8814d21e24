"""Polynomials piece by piece, against numpy's: values, derivatives, other origins; bounds against true extremes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import Polynomial

from memetik.motion.timing.polynomials import bound, derivative, evaluate, piece_bounds, piece_ranges, shifted


def random_pieces(rng: int, pieces: int = 4, degree: int = 5, columns: int = 3) -> np.ndarray:
    return np.random.default_rng(rng).normal(size=(pieces, degree + 1, columns))


def extremes(coefficients: np.ndarray, span: float) -> tuple[float, float]:
    """The true least and largest value of one polynomial over 0 to span."""
    polynomial = Polynomial(coefficients)
    slope = polynomial.deriv()
    inner = slope.roots() if slope.degree() > 0 else np.zeros(0)
    inner = inner[(np.abs(inner.imag) < 1e-9) & (inner.real > 0.0) & (inner.real < span)].real
    values = polynomial(np.concatenate([[0.0, span], inner]))
    return float(values.min()), float(values.max())


@pytest.mark.parametrize("degree", range(7))
@pytest.mark.parametrize("order", range(4))
def test_values_and_derivatives_are_those_of_numpy(degree, order):
    coefficients = random_pieces(degree, degree=degree)
    pieces = np.array([3, 0, 0, 2, 1])
    t = np.array([0.0, 0.3, 1.7, -0.4, 2.0])
    found = evaluate(coefficients, pieces, t, order)
    for row, (piece, when) in enumerate(zip(pieces, t, strict=True)):
        for column in range(3):
            polynomial = Polynomial(coefficients[piece, :, column])
            expected = polynomial.deriv(order)(when) if order else polynomial(when)
            assert found[row, column] == pytest.approx(expected, abs=1e-9)


def test_the_derivative_of_a_constant_is_zero_in_its_own_shape():
    constant = np.full((2, 1, 3), 7.0)
    np.testing.assert_array_equal(derivative(constant), np.zeros((2, 1, 3)))
    np.testing.assert_array_equal(derivative(random_pieces(0, degree=2), 5), np.zeros((4, 1, 3)))


def test_derivatives_do_not_change_what_they_are_taken_of():
    coefficients = random_pieces(1)
    before = coefficients.copy()
    derivative(coefficients, 2)
    shifted(coefficients, np.full(4, 0.7))
    piece_bounds(coefficients, np.ones(4))
    np.testing.assert_array_equal(coefficients, before)


def test_no_derivative_is_the_polynomial_itself():
    coefficients = random_pieces(2)
    assert derivative(coefficients, 0) is coefficients


@settings(derandomize=True, max_examples=60, deadline=None)
@given(rng=st.integers(0, 10_000), degree=st.integers(0, 6), later=st.floats(-2.0, 2.0), t=st.floats(-1.5, 1.5))
def test_a_shifted_polynomial_has_the_same_values_later(rng, degree, later, t):
    coefficients = random_pieces(rng, 2, degree, 2)
    moved = shifted(coefficients, np.array([later, 0.0]))
    both = np.array([0, 1])
    np.testing.assert_allclose(
        evaluate(moved, both, np.full(2, t)), evaluate(coefficients, both, np.array([t + later, t])), atol=1e-8
    )


def test_shifting_there_and_back_is_no_shift():
    coefficients = random_pieces(3)
    by = np.array([0.5, -1.0, 2.0, 0.0])
    np.testing.assert_allclose(shifted(shifted(coefficients, by), -by), coefficients, atol=1e-9)


@settings(derandomize=True, max_examples=80, deadline=None)
@given(rng=st.integers(0, 10_000), degree=st.integers(0, 6), span=st.floats(1e-3, 3.0))
def test_bounds_hold_the_true_extremes_and_are_little_wider(rng, degree, span):
    coefficients = random_pieces(rng, 1, degree, 2)
    low, high = (row[0] for row in piece_ranges(coefficients, np.array([span])))
    largest = piece_bounds(coefficients, np.array([span]))[0]
    for column in range(2):
        least, most = extremes(coefficients[0, :, column], span)
        slack = 1e-9 * (1.0 + abs(least) + abs(most))
        width = most - least + 1e-9
        assert low[column] <= least + slack
        assert high[column] >= most - slack
        assert low[column] >= least - 0.2 * width - slack
        assert high[column] <= most + 0.2 * width + slack
        assert largest[column] >= max(abs(least), abs(most)) - slack


def test_more_halvings_give_tighter_bounds_down_to_the_extreme():
    coefficients = random_pieces(5, 1, 6, 1)
    spans = np.array([1.5])
    truth = max(map(abs, extremes(coefficients[0, :, 0], 1.5)))
    bounds = [float(piece_bounds(coefficients, spans, halvings)[0, 0]) for halvings in range(8)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > truth * 1.05
    assert truth * (1.0 - 1e-12) <= bounds[-1] <= truth * 1.001


def test_a_straight_piece_is_bounded_by_its_ends():
    coefficients = np.array([[[1.0], [-3.0]]])
    np.testing.assert_allclose(piece_ranges(coefficients, np.array([2.0])), [[[-5.0]], [[1.0]]])
    np.testing.assert_allclose(piece_bounds(coefficients, np.array([2.0])), [[5.0]])


def test_the_bound_of_many_pieces_is_that_of_the_largest_in_each_column():
    coefficients = np.zeros((3, 1, 2))
    coefficients[:, 0] = [[1.0, -4.0], [-2.0, 3.0], [0.5, 0.0]]
    np.testing.assert_array_equal(bound(coefficients, np.ones(3)), [2.0, 4.0])


def test_a_spike_inside_a_piece_is_seen():
    """Zero at both ends and in the middle: samples at those would not see it."""
    coefficients = np.zeros((1, 4, 1))
    coefficients[0, :, 0] = Polynomial.fromroots([0.0, 0.5, 1.0]).coef
    truth = max(map(abs, extremes(coefficients[0, :, 0], 1.0)))
    assert truth > 0.04
    assert truth <= bound(coefficients, np.ones(1))[0] < 1.1 * truth


def test_without_pieces_the_bound_is_zero():
    np.testing.assert_array_equal(bound(np.zeros((0, 4, 3)), np.zeros(0)), np.zeros(3))


def test_bounds_are_only_over_the_span():
    """t^2 is 1 at the end of a span of 1, and 9 only beyond it."""
    square = np.zeros((1, 3, 1))
    square[0, 2] = 1.0
    np.testing.assert_allclose(bound(square, np.array([1.0])), 1.0)
    np.testing.assert_allclose(bound(square, np.array([3.0])), 9.0)
