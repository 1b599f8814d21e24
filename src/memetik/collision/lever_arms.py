"""How far bodies on links reach from the axes that carry them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memetik.robot.tree import CompiledTree


class LeverArms:
    """Upper bounds, for all configurations, of the distances of bodies' points from the axes that carry them.

    links: the index of each body's link, -1 for a body that no axis carries. radii: of balls about the links' origins
    that hold the bodies. Lengths are those of the placements between an axis and a body; what slides between them
    add depends on the configuration and is given to `reach`.
    """

    def __init__(self, tree: CompiledTree, links: Sequence[int], radii: Sequence[float]):
        count = len(tree.parents)
        self._tree = tree
        self._sliding = tree.prismatic.astype(bool)
        self._lengths = np.zeros((len(links), count))
        # (bodies, axes, axes): whether the slide of the last axis lies between the first one and the body.
        self._between = np.zeros((len(links), count, count))
        self.carried = np.zeros((len(links), count), dtype=bool)
        """(bodies, axes): whether the axis carries the body."""
        for index, (link, radius) in enumerate(zip(links, radii, strict=True)):
            if link < 0:
                continue
            length = radius + float(np.linalg.norm(tree.link_placements[link][:, 3]))
            axis, passed = int(tree.link_axes[link]), list[int]()
            while axis >= 0:
                passed.append(axis)
                self.carried[index, axis] = True
                self._lengths[index, axis] = length
                self._between[index, axis, passed] = self._sliding[passed]
                length += float(np.linalg.norm(tree.placements[axis][:, 3]))
                axis = int(tree.parents[axis])

    def reach(self, slides: np.ndarray) -> np.ndarray:
        """(bodies, axes) metres per radian, 1 for sliding axes, 0 where an axis does not carry a body.

        slides: (axes,) the largest displacement of each sliding axis.
        """
        reach = self._lengths + self._between @ slides
        return np.where(self.carried, np.where(self._sliding, 1.0, reach), 0.0)

    def by_variable(self, largest: np.ndarray) -> np.ndarray:
        """(dof,) while q moves by dq, no point of any body moves farther than sum of |dq_k| lever_k.

        largest: (dof,) the largest absolute value of each entry of q.
        """
        tree = self._tree
        factors = np.abs(tree.multipliers)
        rates = factors * self.reach(factors * largest[tree.variables] + np.abs(tree.offsets))
        levers = np.zeros((len(rates), len(largest)))
        for axis, variable in enumerate(tree.variables.tolist()):
            levers[:, variable] += rates[:, axis]
        return levers.max(axis=0, initial=0.0)
