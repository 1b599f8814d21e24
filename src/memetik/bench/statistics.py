"""Figures of samples: rates with confidence intervals, curves over time, profiles, and when a difference is noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95


def wilson_interval(hits: int, count: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Where the rate behind `hits` of `count` lies, by Wilson's score interval.

    With p = hits / n and z the normal quantile,
        (p + z^2 / 2n  -+  z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n).
    """
    if count <= 0:
        return 0.0, 1.0
    z, p = _quantile(confidence), hits / count
    middle = p + z * z / (2.0 * count)
    spread = z * math.sqrt(p * (1.0 - p) / count + z * z / (4.0 * count * count))
    scale = 1.0 + z * z / count
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def _quantile(confidence: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + 0.5 * confidence)
