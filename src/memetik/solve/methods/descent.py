"""Gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from memetik.solve.methods.bio import Rotation
from memetik.solve.methods.native import CoreMethod

Acceptance = Literal["improving", "reset", "always"]


@dataclass(frozen=True)
class GradientDescent(CoreMethod):
    """Gradient descent by difference quotients: P. Ruppel, "Performance optimization and implementation of evolutionary
    inverse kinematics in ROS", Universität Hamburg 2017, chapter 3.5.2.

    With d the normalised direction of descent and f' the derivative along it, q <- clip(q - f / f' d): to where a line
    is zero. The first island starts from the seed, the others from random postures.

    acceptance   what becomes of a step that makes things worse: "improving" rejects it and is stuck, "reset" starts at
                 random, "always" takes it all the same.
    difference   of the difference quotients, radians or metres.
    patience     iterations in a row that bring no better posture by 1 %, after which it is stuck.
    """

    acceptance: Acceptance = "improving"
    difference: float = 1e-6
    patience: int = 200
    free_turns: bool = field(default=True, kw_only=True)
    rotation: Rotation = "square_distance"
    rotation_scale: float = 1.0

    KIND: ClassVar[str] = "gradient_descent"
    BLOCK: ClassVar[str] = "descent"
    CHOICES: ClassVar[Mapping[str, Any]] = {"acceptance": Acceptance, "rotation": Rotation}
