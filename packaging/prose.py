"""Reads the prose of the project: documents, docstrings and messages, by proselint and by a list of words of our own.

Run: python packaging/prose.py          (make lint does)

What is code is left out: fenced blocks and `such words` of documents, names in quotes of messages. Each finding is a
line PATH:LINE: what is wrong, and what would be better; the exit code is 1 where there is one.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("*.md", "docs/**/*.md")
NOT_READ = ("docs/gallery/", "docs/method-tables.md")
"""Written by programs from what is read elsewhere."""
PROGRAMS = ("src/memetik/**/*.py", "examples/*.py")

WORDS = {
    r"way points?": "waypoint",
    r"(?:\d|a|one|two|three|single|current|present) postures?(?! (?:of|file))": "configuration, of robots",
    r"posture of now": "current configuration",
    r"hangs? on\b(?! to)": "depends on",
    r"weighs against": "weight of ... relative to ...",
    r"(?:is|are) asked whether": "checks whether",
    r"how often is": "how often ... is",
    r"set[- ]?up file": "robot config",
    r"musts\b": "hard goals",
    r"preferences\b": "soft goals",
    r"for the pose alone": "by the pose alone",
    r"pages to turn": "pages",
    r"is dear\b": "is expensive",
    r"surroundings are": "scene is",
    r"handed on": "passed on",
    r"nothing is told of": "nothing is known about",
    r"inverse[- ]kinematic\b": "inverse kinematics",
    r"informations|softwares|feedbacks\b": "the singular: it is not counted",
    r"allows? to \w+": "allows ...ing, or lets ... do",
    r"in the mean\b": "on average",
    r"as (?:fast|soon|short) as it can\b": "as fast as possible",
    r"like this:": "as follows",
    r"(?:actual|eventual)ly (?:is|are) the case": "is",
    r"such a (?:one|thing)": "the noun itself",
    r"the same holds": "the same is true",
    r"e\.g\.|i\.e\.": "for example; that is",
    r"simply|just|easily|obviously|of course": "(leave it out)",
    r"utili[sz]es?|leverages?": "use",
    r"helper|magic|awesome|blazing(?:ly)?": "(say what it is)",
}
"""What is not to be read here, as a regular expression, and what to write instead."""

_NOT_ASKED = {
    "typography.": "spaces and quotation marks, which in aligned text and code are right",
    "lexical_illusions": "looks across lines and cells of tables; a word twice in a line is found here",
    "needless_variants: Needless variant. 'revolt'": "a revolute joint is one",
    "spelling.consistency: Inconsistent spelling of 'colo": "options and CSS are spelled as elsewhere in the field",
    "spelling.consistency: Inconsistent spelling of 'cent": "names of goals are",
    "misc.preferred_forms: 'sans serif'": "CSS",
    "misc.capitalization.seasons": "Winter is an author",
}
"""Checks of proselint that are left out, and why."""


def document(text: str) -> list[str]:
    """The lines of a document, with code, addresses and tables' figures blanked."""
    lines, fenced = [], False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            lines.append("")
        else:
            lines.append("" if fenced or line.startswith(":::") else plain(line))
    return lines


def program(text: str) -> list[str]:
    """The lines of a program with only its docstrings and the strings that are sentences."""
    lines = [""] * (text.count("\n") + 2)
    for start, prose in _strings(ast.parse(text)):
        for k, line in enumerate(prose.splitlines()):
            at = min(start - 1 + k, len(lines) - 1)
            lines[at] = (lines[at] + " " + plain(line)).strip()
    return lines


def plain(line: str) -> str:
    """A line without what is code in it: a letter and a number stand for code and figures, so that no two are equal."""
    number = count()
    code = r"`[^`]*`|<[^>]*>|\]\([^)]*\)|https?://\S+|\{[^}]*\}|'[^' ]*'|\"[^\" ]*\"|\$[^$]+\$|\b\d[\d .,/%x-]*|\b_\b"
    line = re.sub(code, lambda _: f"x{next(number)} ", line)
    return re.sub(r"[|*#\[\]!=]+", ";", line)


def _strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Docstrings, and strings of four words or more; of f-strings the fixed parts, with braces for the others."""
    if isinstance(tree, ast.JoinedStr):
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in tree.values)
        if len(re.findall(r"[a-z]{2,}", text)) > 3:
            yield tree.lineno, text
        return
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str) and len(re.findall(r"[a-z]{2,}", tree.value)) > 3:
        yield tree.lineno, tree.value
    for node in ast.iter_child_nodes(tree):
        yield from _strings(node)


def own_findings(path: Path, lines: list[str]) -> Iterator[str]:
    """Words of the list."""
    for number, line in enumerate(lines, 1):
        for pattern, better in WORDS.items():
            if found := re.search(rf"\b(?:{pattern})", line, re.IGNORECASE):
                yield f"{path}:{number}: {found[0]!r}: better {better}"
        if found := re.search(r"\b([a-z]{2,}) \1\b", line):
            yield f"{path}:{number}: {found[0]!r}: a word twice"


def main() -> None:
    """Read everything, print what was found."""
    found: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        read_files = 0
        for patterns, read in ((DOCUMENTS, document), (PROGRAMS, program)):
            for path in sorted({path for pattern in patterns for path in ROOT.glob(pattern)}):
                shown = path.relative_to(ROOT)
                if str(shown).startswith(NOT_READ):
                    continue
                lines = read(path.read_text(encoding="utf-8"))
                found += own_findings(shown, lines)
                copy = folder / f"{shown}.txt"
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text("\n".join(lines), encoding="utf-8", errors="replace")
                read_files += 1
        found += proselint(folder)
    for line in found:
        print(line)
    print(f"{read_files} files read, {len(found)} findings", file=sys.stderr)
    sys.exit(1 if found else 0)


def proselint(folder: Path) -> list[str]:
    """What proselint finds in the copies below a folder."""
    copies = [str(path) for path in sorted(folder.rglob("*.txt"))]
    command = [sys.executable, "-m", "proselint", "--output-format", "full", "check", *copies]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or "Traceback" in done.stderr:
        raise SystemExit(f"proselint failed: {done.stderr[-2000:]}")
    lines = [line.replace(f"{folder}/", "").replace(".txt:", ":") for line in done.stdout.splitlines()]
    return [line for line in lines if ": " in line and not line.split(": ", 1)[1].startswith(tuple(_NOT_ASKED))]


if __name__ == "__main__":
    main()
