"""Methods that follow a gradient or the linearised goals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from memetik.solve.literature.bio import Rotation
from memetik.solve.methods.native import CoreMethod
from memetik.solve.methods.parameters import Share

Acceptance = Literal["improving", "reset", "always"]
Inverse = Literal["pseudo", "damped", "transpose"]


@dataclass(frozen=True)
class Jac(CoreMethod, method="jacobian"):
    """The Jacobian over all goals at once: P. Ruppel, "Performance optimization and implementation of evolutionary
    inverse kinematics in ROS", Universität Hamburg 2017, chapters 2.4.1 and 3.5.1.

    q <- clip(q - J^+ r). The first island starts from the seed, the others from random configurations.

    inverse         "pseudo": J^+; "damped": J^T (J J^T + damping^2)^-1; "transpose": a J^T with the best a.
    damping         radians or metres.
    cutoff          singular values below this share of the largest count as zero.
    iterations      of a run.
    patience        iterations in a row that take away less than 0.1 % of the squared error, after which it is stuck.
    stop_at_limits  a joint that leaves its limits ends the run, as in S. Starke's comparison of 2020.
    """

    inverse: Inverse = "pseudo"
    damping: float = 0.1
    cutoff: Share = 1e-5
    iterations: int = 500
    patience: int = 50
    stop_at_limits: bool = False
    free_turns: bool = field(default=True, kw_only=True)


@dataclass(frozen=True)
class Kdl(CoreMethod, method="kdl"):
    """The Newton-Raphson solver with joint limits of Orocos KDL as MoveIt runs it; described in T. Engelke,
    "Benchmarking and Improving Inverse Kinematics for Endoscopic Inspection Tasks", Universität Hamburg 2024.

    q <- clip(q - J^+ r), up to `iterations` times, then a random restart.

    adaptive    what was added in 2019: shorter steps where the error grew, a shake of all joints where they do not
                move, columns of joints that were clipped weighted by 0.01 in the next step. False: as it was before.
    cutoff      singular values below this share of the largest count as zero.
    """

    iterations: int = 500
    adaptive: bool = True
    cutoff: Share = 1e-5


@dataclass(frozen=True)
class Lma(CoreMethod, method="levenberg"):
    """Levenberg-Marquardt (K. Levenberg, 1944; D. Marquardt, 1963), the method of Orocos KDL's second solver for
    positions, which MoveIt runs as its LMA plugin: (J^T J + damping) dq = -J^T r, clipped at the limits.

    With the gain rho, the share of the predicted improvement that came true, the rule of H. B. Nielsen ("Damping
    parameter in Marquardt's method", Technical University of Denmark 1999) multiplies the damping by
    max(1/3, 1 - (2 rho - 1)^3) after a step that improves, and by 2, 4, 8, ... after steps that do not.

    tau         damping at the beginning.
    iterations  of a run.
    """

    tau: float = 10.0
    iterations: int = 500


@dataclass(frozen=True)
class GradientDescent(CoreMethod, method="gradient_descent"):
    """Gradient descent by difference quotients: P. Ruppel, "Performance optimization and implementation of evolutionary
    inverse kinematics in ROS", Universität Hamburg 2017, chapter 3.5.2.

    With d the normalised direction of descent and f' the derivative along it, q <- clip(q - f / f' d): to where a line
    is zero. The first island starts from the seed, the others from random configurations.

    acceptance   what becomes of a step that makes things worse: "improving" rejects it and is stuck, "reset" starts at
                 random, "always" takes it all the same.
    difference   of the difference quotients, radians or metres.
    patience     iterations in a row that bring no better configuration by 1 %, after which it is stuck.
    """

    acceptance: Acceptance = "improving"
    difference: float = 1e-6
    patience: int = 200
    free_turns: bool = field(default=True, kw_only=True)
    rotation: Rotation = "square_distance"
    rotation_scale: float = 1.0
