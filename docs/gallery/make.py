"""Makes the gallery, docs/gallery/*.md, with its thumbnails: every example is run and shown, moving where it moves.

Run: python docs/gallery/make.py [--pictures] [EXAMPLE ...]

With --pictures only the thumbnails are made again, and what the examples printed stays as it was.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image, ImageSequence

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
HEAD = """---
hide: [toc]
---

# Gallery

What memetik is for, in scripts of a page or two. A picture opens on its story, what it prints and its code.
`make examples` runs them all; each writes pictures, animations and pages below `out/examples`.

<div class="grid cards pictures" markdown>

"""
CURVES = ("01_slow_torso",)
"""Examples that show curves only come last."""

WIDTH, FRAMES, STEP = 360, 10, 160


def main() -> None:
    """Run what is asked for; write all pages."""
    parser = argparse.ArgumentParser()
    parser.add_argument("examples", nargs="*")
    parser.add_argument("--pictures", action="store_true")
    parser.add_argument("--pages", action="store_true", help="run nothing")
    options = parser.parse_args()
    scripts = sorted(EXAMPLES.glob("[0-9]*.py"))
    for script in scripts:
        if not options.pages and (not options.examples or script.name in options.examples):
            said = show(script)
            if not options.pictures:
                (HERE / f"{script.stem}.txt").write_text(said, encoding="utf-8")
    cards = []
    for script in sorted(scripts, key=lambda path: path.stem in CURVES):
        title, about = story(script)
        (HERE / f"{script.stem}.md").write_text(page(script, title, about), encoding="utf-8")
        cards.append(f"- [![{title}]({thumbnail(script)})]({script.stem}.md)\n\n    [{title}]({script.stem}.md)\n")
    (HERE / "index.md").write_text(HEAD + "\n".join(cards) + "\n</div>\n", encoding="utf-8")


def show(script: Path) -> str:
    """Run an example and keep its picture; what it says, without the files it names."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(script)],
            cwd=folder,
            env=os.environ | {"MPLBACKEND": "Agg", "MEMETIK_EXAMPLE_FRAMES": str(FRAMES)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{script.name} failed:\n{done.stderr}")
        save_thumbnail(Path(folder), done.stdout, script.stem)
    print(f"{script.name}: {time.perf_counter() - begin:.1f} s", flush=True)
    lines = done.stdout.splitlines()
    return "\n".join(x for x in lines if not re.match(r"(picture|animation|pages?|written): ", x)).strip() + "\n"


def save_thumbnail(folder: Path, printed: str, stem: str) -> None:
    """An animation that the example says it wrote, else its first picture."""
    names = sorted(re.findall(r"(\S+\.(?:png|gif))$", printed, re.MULTILINE), key=lambda name: name.endswith(".png"))
    image = Image.open(folder / names[0])
    frames = [frame.convert("RGB") for frame in ImageSequence.Iterator(image)]
    height = round(image.height * WIDTH / image.width)
    small = [frame.resize((WIDTH, height), Image.Resampling.LANCZOS) for frame in frames]
    moving = {"save_all": True, "append_images": small[1:], "duration": STEP, "loop": 0} if len(small) > 1 else {}
    small[0].save(HERE / f"{stem}.webp", quality=55, method=4, **moving)


def story(script: Path) -> tuple[str, str]:
    """Title and text of an example, from its docstring."""
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    title, *rest = text.split("\n\n")
    return title.strip().rstrip("."), "\n\n".join(part for part in rest if not part.startswith("Run:"))


def page(script: Path, title: str, about: str) -> str:
    said = (HERE / f"{script.stem}.txt").read_text(encoding="utf-8")
    code = script.read_text(encoding="utf-8").rstrip()
    return (
        f"# {title}\n\n![{title}]({thumbnail(script)})\n\n{about}\n\n`python examples/{script.name}` prints:\n\n"
        f"```text\n{said}```\n\n## Code\n\n```python\n{code}\n```\n\n[Back to the gallery](index.md)\n"
    )


def thumbnail(script: Path) -> str:
    return f"{script.stem}.webp" if (HERE / f"{script.stem}.webp").exists() else f"{script.stem}.png"


if __name__ == "__main__":
    main()
