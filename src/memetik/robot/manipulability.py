"""How well a robot can move: measures of the singular values of a Jacobian.

With singular values s_1 >= ... >= s_k of the chosen rows, k = min(rows, columns):
    product    s_1 s_2 ... s_k      Yoshikawa's manipulability, the volume of the velocity ellipsoid; 0 when singular
    condition  s_1 / s_k            1 at best, infinite when singular
    ratio      s_k / s_1            1 at best, 0 when singular
The rows of all six mix metres and radians: the product and the condition then depend on the unit of length.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError, suggest

Measure = Literal["product", "condition", "ratio"]
Part = Literal["all", "translation", "rotation"]

_ROWS = {"all": slice(0, 6), "translation": slice(0, 3), "rotation": slice(3, 6)}
_MEASURES = ("product", "condition", "ratio")


def manipulability(jacobian: ArrayLike, measure: Measure = "product", part: Part = "all") -> float | np.ndarray:
    """The measure of Jacobians (..., 6, n), linear rows first: a float, or an array (...)."""
    if measure not in _MEASURES:
        raise InvalidInputError(f"there is no manipulability measure {measure!r}; {suggest(measure, _MEASURES)}")
    if part not in _ROWS:
        raise InvalidInputError(f"there is no part {part!r} of a Jacobian; {suggest(part, _ROWS)}")
    jacobian = np.asarray(jacobian, dtype=float)
    if jacobian.ndim < 2 or jacobian.shape[-2] != 6 or jacobian.shape[-1] == 0:
        raise InvalidInputError(f"a Jacobian has shape (..., 6, n) with n > 0, not {jacobian.shape}.")
    values = np.linalg.svd(jacobian[..., _ROWS[part], :], compute_uv=False)
    result = _measure(values, measure)
    return float(result) if result.ndim == 0 else result


def _measure(values: np.ndarray, measure: Measure) -> np.ndarray:
    largest, smallest = values[..., 0], values[..., -1]
    if measure == "product":
        return np.prod(values, axis=-1)
    # Below the rounding of the decomposition a singular value is zero.
    smallest = np.where(smallest > largest * 1e-15, smallest, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(largest > 0.0, smallest / largest, 0.0)
        return ratio if measure == "ratio" else 1.0 / ratio
