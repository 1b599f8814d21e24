"""Which orderings a source states, what became of them here, and how the tables of methods show both."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

import benchmarks_path  # noqa: F401
import numpy as np
from peers.report import Report

from memetik.bench.report.statistics import compare_costs, compare_paired, wilson_interval

NOISE = 1.96
"""Standard errors up to which two printed percentages state no ordering."""
SAME_TIME = 0.05
"""Share up to which two printed times state none: sources print no spread of them."""

MARKDOWN_COLUMNS = 8

QUICKER, FEWER = "is quicker than", "needs fewer candidates than"


@dataclass(frozen=True)
class Reason:
    """Why orderings fail here. Empty: any row, any place.

    It counts where the experiment bears it out: with the rows of `instead` in place of others, or in the place `at`,
    the ordering does not fail.
    """

    why: str
    better: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    sign: str = ">"
    """Of the orderings it is about."""
    instead: Mapping[str, str] = field(default_factory=dict)
    at: str = ""

    def borne_out(
        self, pair: tuple[str, str], where: str, solved: Mapping[str, Mapping[str, np.ndarray]]
    ) -> bool:  # fmt: skip
        """solved: by place and row."""
        if not self.instead and not self.at:
            return True
        rows, names = solved.get(self.at or where, {}), self.stand_ins(pair)
        if not set(names) <= set(rows):
            return False
        first, second = (rows[name] for name in names)
        count = min(len(first), len(second))
        comparison = compare_paired(first[:count], second[:count])
        return comparison.is_noise or comparison.difference > 0

    def stand_ins(self, pair: tuple[str, str]) -> tuple[str, str]:
        """The rows of the experiment in the place of two."""
        better, worse = (self.instead.get(label, label) for label in pair)
        return better, worse

    def explains(self, better: str, sign: str, worse: str, where: str) -> bool:
        named = ((self.better, better), (self.worse, worse), (self.where, where))
        return sign == self.sign and all(not words or word in words for words, word in named)


@dataclass(frozen=True)
class Verdict:
    table: str
    where: str
    better: str
    worse: str
    word: str
    """holds, tie or FAILS."""
    figures: str
    why: str = ""
    sign: str = ">"

    @property
    def pair(self) -> str:
        return f"{self.better} {self.sign} {self.worse}"


@dataclass
class Verdicts:
    """All orderings of a run."""

    all: list[Verdict] = field(default_factory=list)

    def rates(
        self, table: str, where: str, pair: tuple[str, str], first: np.ndarray, second: np.ndarray,
        reasons: Sequence[Reason] = (),
    ) -> None:  # fmt: skip
        """One that is to solve more than another, on the same targets: a paired test tells noise."""
        count = min(len(first), len(second))
        comparison = compare_paired(first[:count], second[:count])
        figures = f"{comparison.first:.1%} and {comparison.second:.1%}"
        self._add(table, where, pair, comparison.is_noise, comparison.difference > 0, figures, reasons)

    def equal(
        self, table: str, where: str, pair: tuple[str, str], first: np.ndarray, second: np.ndarray,
        reasons: Sequence[Reason] = (),
    ) -> None:  # fmt: skip
        """Two that are to solve as much as each other: the difference is to be noise."""
        comparison = compare_paired(first, second)
        figures = f"{comparison.first:.1%} and {comparison.second:.1%}"
        self._add(table, where, pair, False, comparison.is_noise, figures, reasons, "=")

    def times(
        self, table: str, where: str, pair: tuple[str, str], first: np.ndarray, second: np.ndarray,
        reasons: Sequence[Reason] = (), unit: str = "ms", sign: str = QUICKER,
    ) -> None:  # fmt: skip
        """One that is to take less than another, on average: a tie where the mean difference may be zero."""
        count = min(len(first), len(second))
        first, second = first[:count], second[:count]
        verdict = compare_costs(first, second).verdict
        figures = f"{first.mean():.3g} and {second.mean():.3g} {unit}" if count else "none solved by both"
        self._add(table, where, pair, verdict in ("noise", "few"), verdict == "first", figures, reasons, sign)

    def _add(
        self, table: str, where: str, pair: tuple[str, str], noise: bool, better: bool, figures: str,
        reasons: Sequence[Reason], sign: str = ">",
    ) -> None:  # fmt: skip
        word = "tie" if noise else "holds" if better else "FAILS"
        why = next((r.why for r in reasons if word == "FAILS" and r.explains(pair[0], sign, pair[1], where)), "")
        self.all.append(Verdict(table, where, *pair, word, figures, why, sign))

    def tell(self, report: Report, table: str) -> None:
        """What holds and what is a tie in a line for each place, failures one by one."""
        mine = [verdict for verdict in self.all if verdict.table == table]
        for word in ("holds", "tie"):
            found = defaultdict(list)
            for verdict in mine:
                if verdict.word == word:
                    found[verdict.where].append(verdict.pair)
            for where, pairs in found.items():
                report.console.print(f"  {word:5}  {where}: {'; '.join(pairs)}")
        words = Counter(verdict.word for verdict in mine)
        report.say(f"{words['holds']} orderings hold, {words['tie']} are ties, {words['FAILS']} fail.")
        for verdict in mine:
            if verdict.word == "FAILS":
                report.say("- " + sentence(verdict))

    def summary(self, report: Report) -> int:
        """Prints how many hold; 1 where one fails without a reason."""
        if not self.all:
            return 0
        words = Counter(verdict.word for verdict in self.all)
        failed = [verdict for verdict in self.all if verdict.word == "FAILS"]
        unexplained = [verdict for verdict in failed if not verdict.why]
        report.say(
            f"Orderings that the sources state: {len(self.all)}. {words['holds']} hold, {words['tie']} are ties, "
            f"{len(failed) - len(unexplained)} fail with a reason, {len(unexplained)} without."
        )
        for verdict in failed:
            report.console.print(f"  {verdict.table}: {sentence(verdict)}")
        return int(bool(unexplained))


def sentence(verdict: Verdict) -> str:
    known = f"; known: {verdict.why}" if verdict.why else ", without a known reason"
    return f"{verdict.word} {verdict.where}: {verdict.pair} ({verdict.figures}){known}"


def stated_rates(source: Mapping[str, float], samples: int) -> Iterator[tuple[str, str]]:
    """Pairs (better, worse) of printed percentages that differ by more than the noise of as many samples."""
    for better, worse in permutations(source, 2):
        first, second = source[better] / 100, source[worse] / 100
        middle = 0.5 * (first + second)
        if first - second > NOISE * np.sqrt(2 * middle * (1 - middle) / samples) > 0:
            yield better, worse


def stated_times(source: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Pairs (quicker, slower) of printed times."""
    for quicker, slower in permutations(source, 2):
        if source[quicker] < (1 - SAME_TIME) * source[slower]:
            yield quicker, slower


def percent(solved: np.ndarray) -> str:
    """A share of successes with Wilson's 95 % interval."""
    low, high = wilson_interval(int(solved.sum()), len(solved))
    return f"{100 * solved.mean():.1f} ({100 * low:.0f}-{100 * high:.0f})"


@dataclass
class Markdown(Report):
    """A report that keeps its tables and remarks as Markdown, the source's figures beside ours in one cell."""

    lines: list[str] = field(default_factory=list)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        super().table(title, columns, rows)
        rule = ["---"] * len(columns)
        merged = [_beside(columns, row) for row in (columns, rule, *rows)]
        self.lines += [f"**{title}**", ""]
        for begin in range(1, len(merged[0]), MARKDOWN_COLUMNS):  # wide tables in parts, each with its rows' names
            part = slice(begin, begin + MARKDOWN_COLUMNS)
            self.lines += [*("| " + " | ".join([cells[0], *cells[part]]) + " |" for cells in merged), ""]

    def say(self, text: str) -> None:
        super().say(text)
        # Items of a list stay together.
        if text.startswith("- ") and len(self.lines) > 1 and self.lines[-2].startswith("- "):
            self.lines.pop()
        self.lines += [text.strip(), ""]


def _beside(columns: Sequence[str], row: Sequence[object]) -> list[str]:
    cells: list[str] = []
    for column, cell in zip(columns, map(str, row), strict=True):
        if column != "source":
            cells.append(cell)
        elif cell and cell != "---":
            cells[-1] += f" / {cell}"
    return cells
