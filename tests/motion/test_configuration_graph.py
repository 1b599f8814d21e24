"""Configurations over a whole path where inverse kinematics is known: branches that end, cross and jump."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from memetik.motion.planning.configuration_graph import BranchGraph, BranchSettings

Branch = Callable[[float], float | None]


class Branches:
    """Inverse kinematics of one joint with some branches: at target s the answers are those of the branches there.

    A solve gives the answer that is nearest to its seed, as a local search does.
    """

    def __init__(self, *branches: Branch):
        self.branches = branches
        self.robot = SimpleNamespace(dof=1, clip=lambda q: np.clip(q, -10.0, 10.0))
        self.seeds: list[tuple[float, float]] = []

    def answers(self, s: float) -> list[float]:
        return [q for q in (branch(s) for branch in self.branches) if q is not None]

    def solve(self, s: float, *, seed: np.ndarray, **_: object) -> SimpleNamespace:
        self.seeds.append((float(s), float(seed[0])))
        found = self.answers(float(s))
        if not found:
            return SimpleNamespace(success=False, q=np.array(seed))
        return SimpleNamespace(success=True, q=np.array([min(found, key=lambda q: abs(q - seed[0]))]))

    def solve_all(self, s: float, *, most: int, seed: np.ndarray, **_: object) -> list[SimpleNamespace]:
        found = sorted(self.answers(float(s)), key=lambda q: abs(q - seed[0]))
        return [SimpleNamespace(q=np.array([q])) for q in found[:most]]


def graph(problem: Branches, count: int = 11, start: float = 0.0, from_start: bool = False, **settings) -> BranchGraph:
    targets = [(problem, (s,)) for s in np.linspace(0.0, 1.0, count)]
    return BranchGraph(targets, np.ones(1), BranchSettings(**settings), np.array([start]), from_start=from_start)


def flat(value: float, begin: float = 0.0, end: float = 1.0) -> Branch:
    return lambda s: value if begin <= s <= end else None


def test_a_branch_that_leads_through_is_followed_to_the_end():
    found = graph(Branches(lambda s: np.sin(s))).best()
    np.testing.assert_allclose(found[:, 0], np.sin(np.linspace(0.0, 1.0, 11)))


def test_a_branch_that_ends_early_is_not_begun_although_it_is_nearer():
    problem = Branches(flat(0.0, 0.0, 0.6), flat(2.0))
    near = graph(problem, start=0.0).best(lambda rows: np.abs(rows[:, 0]))
    np.testing.assert_array_equal(near, np.full((11, 1), 2.0))


def test_of_two_branches_that_lead_through_the_cheaper_first_step_decides():
    problem = Branches(flat(1.0), flat(3.0))
    np.testing.assert_array_equal(graph(problem).best(lambda rows: np.abs(rows[:, 0])), np.full((11, 1), 1.0))
    np.testing.assert_array_equal(graph(problem).best(lambda rows: -rows[:, 0]), np.full((11, 1), 3.0))


def test_the_branch_that_takes_less_time_is_chosen():
    """One stands still, the other moves by half a radian."""
    found = graph(Branches(lambda s: 2.0 + 0.5 * s, flat(1.0))).best()
    np.testing.assert_array_equal(found, np.full((11, 1), 1.0))


def test_even_steps_are_better_than_one_that_is_wide():
    """Both go from 0 to 0.3; one does it all at once."""
    problem = Branches(lambda s: 0.3 * s, lambda s: 0.0 if s < 0.55 else 0.3)
    found = graph(problem).best()
    assert np.abs(np.diff(found[:, 0])).max() < 0.2


def test_a_jump_between_neighbours_is_never_taken():
    problem = Branches(lambda s: 0.0 if s < 0.55 else 1.0)
    found = graph(problem, jump=0.35).best()
    np.testing.assert_array_equal(found, np.zeros((6, 1)))
    wide = graph(problem, jump=1.5).best()
    assert len(wide) == 11


def test_the_longest_way_is_given_where_none_leads_through():
    found = graph(Branches(flat(0.0, 0.0, 0.75))).best()
    assert len(found) == 8


def test_without_any_answer_at_the_first_target_there_is_no_way():
    found = graph(Branches(flat(0.0, 0.5, 1.0))).best()
    assert found.shape == (0, 1)


def test_a_start_on_the_path_is_the_first_configuration_and_no_other():
    problem = Branches(flat(0.0), flat(1.0))
    found = graph(problem, start=0.0, from_start=True)
    assert len(found.layers[0]) == 1
    np.testing.assert_array_equal(found.best(), np.zeros((11, 1)))


def test_from_a_start_whose_branch_ends_only_what_hangs_together_with_it_is_given():
    problem = Branches(flat(0.0, 0.0, 0.5), flat(1.0))
    found = graph(problem, start=0.0, from_start=True)
    assert len(found.layers[0]) == 1
    np.testing.assert_array_equal(found.best(), np.zeros((6, 1)))


def test_tracks_change_where_branches_come_together():
    """One branch ends at the middle, where the other, which begins there, is close."""
    problem = Branches(lambda s: 0.2 * s if s < 0.65 else None, lambda s: 0.3 * s if s > 0.35 else None)
    found = graph(problem).best()
    assert len(found) == 11
    assert np.abs(np.diff(found[:, 0])).max() < 0.2


def test_a_step_that_was_taken_out_is_gone_around():
    problem = Branches(flat(0.0), lambda s: 0.1 + 0.01 * s)
    found = graph(problem)
    first = found.best()
    assert np.abs(first).max() == 0.0
    found.block(4, first[4], first[5])
    second = found.best()
    assert len(second) == 11
    assert not (abs(second[4, 0]) < 1e-9 and abs(second[5, 0]) < 1e-9)


def test_where_every_step_of_a_layer_is_taken_out_the_way_ends_before_it():
    found = graph(Branches(flat(0.0)))
    found.block(6, np.zeros(1), np.zeros(1))
    assert len(found.best()) == 7


def test_the_slower_joint_weighs_more():
    """The velocity is in the cost: the same step of a slow joint costs more."""

    class Two(Branches):
        def __init__(self):
            super().__init__()
            self.robot = SimpleNamespace(dof=2, clip=lambda q: q)

        def rows(self, s: float) -> list[np.ndarray]:
            return [np.array([0.3 * s, 0.0]), np.array([5.0, 0.3 * s])]

        def solve(self, s, *, seed, **_):
            return SimpleNamespace(success=True, q=min(self.rows(s), key=lambda q: np.abs(q - seed).max()))

        def solve_all(self, s, **_):
            return [SimpleNamespace(q=q) for q in self.rows(s)]

    targets = [(Two(), (s,)) for s in np.linspace(0.0, 1.0, 6)]
    for velocity, expected in (([1.0, 0.1], 0.0), ([0.1, 1.0], 5.0)):
        found = BranchGraph(targets, np.array(velocity), BranchSettings(), np.zeros(2), from_start=False).best()
        assert abs(found[0, 0] - expected) < 1e-9


def test_a_track_is_seeded_where_it_was_going():
    problem = Branches(lambda s: s)
    graph(problem, count=11, anchors=1)
    forwards = [(s, seed) for s, seed in problem.seeds if s > 0.15]
    assert forwards
    assert all(seed == pytest.approx(s, abs=1e-9) for s, seed in forwards)


def test_the_same_configuration_is_kept_once():
    problem = Branches(flat(0.5))
    found = graph(problem, anchors=4)
    assert [len(layer) for layer in found.layers] == [1] * 11


@pytest.mark.parametrize("count", [1, 2, 3])
def test_short_paths_have_as_many_layers_as_targets(count):
    found = graph(Branches(flat(0.0)), count=count)
    assert len(found.layers) == count
    assert len(found.best()) == count
