"""Makes the page of the gallery, docs/gallery/index.md, with its pictures: every example is run and shown.

Run: python docs/gallery/make.py [EXAMPLE ...]
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
HEAD = """# Gallery

What memetik is for, in scripts of a page or two. `make examples` runs them all; each writes pictures, animations and
pages to turn below `out/examples` and prints what is quoted here. Times are from a machine with two cores.
"""
WIDTH = 420


def run(script: Path, folder: Path) -> tuple[str, float]:
    """What an example prints, and how long it takes."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=folder,
        env=os.environ | {"MPLBACKEND": "Agg", "MEMETIK_EXAMPLE_FRAMES": "3"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{script.name} failed:\n{done.stderr}")
    return done.stdout, time.perf_counter() - begin


def picture(folder: Path, printed: str) -> Image.Image:
    """The first picture that an example says it wrote; of an animation, a frame two thirds through."""
    names = re.findall(r"(\S+\.(?:png|gif))$", printed, re.MULTILINE)
    image = Image.open(folder / names[0])
    if getattr(image, "n_frames", 1) > 1:
        image.seek(2 * image.n_frames // 3)
    image = image.convert("RGB")
    return image.resize((WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS)


def entry(script: Path) -> str:
    """The section of an example."""
    with tempfile.TemporaryDirectory() as folder:
        printed, seconds = run(script, Path(folder))
        picture(Path(folder), printed).quantize(128).save(HERE / f"{script.stem}.png", optimize=True)
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    title, *rest = text.split("\n\n")
    about = "\n\n".join(part for part in rest if not part.startswith("Run:"))
    said = "\n".join(line for line in printed.splitlines() if not re.match(r"(picture|animation|page): ", line))
    print(f"{script.name}: {seconds:.1f} s")
    return (
        f"## {title.strip().rstrip('.')}\n\n![{script.stem}]({script.stem}.png)\n\n{about}\n\n"
        f"`examples/{script.name}` prints:\n\n```text\n{said.strip()}\n```\n"
    )


def main(wanted: list[str]) -> None:
    page = HERE / "index.md"
    old = re.split(r"^(?=## )", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:] if page.exists() else []
    kept = {found[1]: part for part in old if (found := re.search(r"`examples/(\S+)` prints", part))}
    for script in sorted(EXAMPLES.glob("[0-9]*.py")):
        if not wanted or script.name in wanted or script.name not in kept:
            kept[script.name] = entry(script)
            sections = [kept[name].rstrip() + "\n" for name in sorted(kept)]
            page.write_text("\n".join([HEAD, *sections]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
