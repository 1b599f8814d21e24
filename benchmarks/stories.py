"""Runs the ten stories of docs/stories.md as they stand on the page, and prints their lines and times.

Run: python benchmarks/stories.py [WORD ...]        only stories with one of these words in their titles

Lines are those with code: neither blank nor a comment. Times are of the clock, with everything loaded and compiled in
them. Ends with status 1 where a story fails or has more than 15 lines.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import time
import traceback
from pathlib import Path

from story_files import prepare

PAGE = Path(__file__).parents[1] / "docs/stories.md"
MOST_LINES = 15


def stories() -> dict[str, str]:
    """{title: its code}."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    blocks = (re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL) for text in parts[1::2])
    return {title: block[1] for title, block in zip(parts[::2], blocks, strict=True) if block}


def line_count(code: str) -> int:
    """Lines of code."""
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in code.splitlines())


def main(words: list[str]) -> int:
    chosen = {t: c for t, c in stories().items() if not words or any(w.lower() in t.lower() for w in words)}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        os.chdir(folder)
        print(f"{'story':48}{'lines':>6}{'seconds':>9}  result")
        for title, code in chosen.items():
            said, begin, result = io.StringIO(), time.perf_counter(), "done"
            try:
                with contextlib.redirect_stdout(said):
                    exec(compile(code, title, "exec"), {"__name__": "story"})
            except Exception:
                failed, result = failed + 1, "FAILED\n" + traceback.format_exc(limit=-3)
            lines = line_count(code)
            if lines > MOST_LINES:
                failed, result = failed + 1, f"{result}, more than {MOST_LINES} lines"
            print(f"{title:48}{lines:>6}{time.perf_counter() - begin:>9.2f}  {result}")
            if words:
                print(said.getvalue().rstrip())
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
