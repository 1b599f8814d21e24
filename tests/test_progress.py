"""Progress where nobody watches: a line now and then, and nothing for what is quickly done."""

from __future__ import annotations

from memetik import progress


def test_long_work_without_a_terminal_is_told_in_lines(capsys, monkeypatch) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    with progress.progress_bar("tuning", 3) as advance:
        for _ in range(3):
            advance(1)
    assert capsys.readouterr().err.splitlines() == ["tuning: 1 of 3", "tuning: 2 of 3", "tuning: 3 of 3"]
    with progress.TerminalRunProgress() as run:
        run.begin(2)
        run.advance("memetic")
    assert capsys.readouterr().err == "solving: 1 of 2\n"


def test_quick_work_says_nothing(capsys) -> None:
    assert list(progress.track([1, 2, 3], "reading")) == [1, 2, 3]
    assert capsys.readouterr().err == ""
