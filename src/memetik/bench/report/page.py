"""Pages that stand alone: one HTML file with its style, pictures and data inside, which opens without a network."""

from __future__ import annotations

import base64
import html
import io
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from memetik.errors import InvalidInputError, MissingExtraError
from memetik.files.atomic import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; color: #1d2733; background: #fff;
  margin: 0 auto; max-width: 1180px; padding: 16px 28px 64px; }
h1 { font-size: 27px; margin: 12px 0 2px; }
h2 { font-size: 21px; margin: 38px 0 8px; border-bottom: 1px solid #e3e7ec; }
h3 { font-size: 16px; margin: 22px 0 6px; } p { margin: 6px 0; } .note { color: #5b6775; }
nav { columns: 3 220px; font-size: 14px; margin: 12px 0; } nav a { display: block; }
a { color: #1f62b5; text-decoration: none; } a:hover { text-decoration: underline; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13.5px; margin: 8px 0 14px; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: #5b6775; padding: 2px 0 4px; }
th, td { padding: 3px 10px; text-align: right; border-bottom: 1px solid #eceff3; white-space: nowrap; }
th { background: #f5f7f9; font-weight: 600; } th:first-child, td:first-child { text-align: left; }
td.text { text-align: left; white-space: normal; }
.row { display: flex; flex-wrap: wrap; gap: 0 28px; align-items: flex-start; } .row > div { max-width: 100%; }
figure { margin: 8px 0; } figure img { max-width: 100%; height: auto; } figcaption { color: #5b6775; font-size: 13px; }
ul.plain { margin: 6px 0; padding-left: 20px; } details { margin: 8px 0; } summary { cursor: pointer; color: #1f62b5; }
code { background: #f2f4f7; padding: 1px 4px; border-radius: 3px; font-size: 13px; }
"""


def page(title: str, parts: Iterable[str], *, head: str = "") -> str:
    """A whole page. `title` is text; parts and head are HTML already."""
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{_STYLE}</style>{head}</head>\n"
        f"<body><h1>{text(title)}</h1>\n{body}\n</body></html>\n"
    )


def text(value: str | float) -> str:
    """Text as HTML shows it: nothing in it is markup."""
    return html.escape(str(value), quote=True)


def heading(title: str, level: int = 2, anchor: str = "") -> str:
    identity = f' id="{text(anchor)}"' if anchor else ""
    return f"<h{level}{identity}>{text(title)}</h{level}>"


def paragraph(words: str, kind: str = "") -> str:
    return f'<p class="{kind}">{text(words)}</p>' if kind else f"<p>{text(words)}</p>"


def bullets(lines: Iterable[str]) -> str:
    return '<ul class="plain">' + "".join(f"<li>{text(line)}</li>" for line in lines) + "</ul>"


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    caption: str = "",
    shades: Sequence[Sequence[float | None]] | None = None,
) -> str:
    """A table of text. shades: per row and column a number from 0, plain, to 1, fully shaded; None for no shade."""
    head = "".join(f"<th>{text(name)}</th>" for name in columns)
    lines = []
    for number, row in enumerate(rows):
        cells = []
        for k, cell in enumerate(row):
            shade = shades[number][k] if shades is not None and k < len(shades[number]) else None
            style = "" if shade is None else f' style="background:{_shade(shade)}"'
            kind = ' class="text"' if isinstance(cell, str) and len(cell) > 40 else ""
            cells.append(f"<td{kind}{style}>{text(cell)}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    return f'<div class="scroll"><table>{title}<tr>{head}</tr>{"".join(lines)}</table></div>'


def _shade(share: float) -> str:
    share = min(max(share, 0.0), 1.0)
    return f"rgb({round(255 - 115 * share)},{round(255 - 50 * share)},{round(255 - 105 * share)})"


def picture(figure: Figure, description: str, *, vector: bool = True) -> str:
    """A figure of matplotlib as part of a page; as pixels where it has too many points for SVG."""
    return f'<figure><img alt="{text(description)}" src="{picture_source(figure, vector)}"></figure>'


def picture_source(figure: Figure, vector: bool = True) -> str:
    buffer = io.BytesIO()
    if vector:
        import matplotlib as mpl

        # Text as text: letters drawn as outlines would be half of each picture, and of the page.
        with mpl.rc_context({"svg.hashsalt": "memetik", "svg.fonttype": "none"}):
            figure.savefig(buffer, format="svg", metadata={"Date": None})
        data = _PATH.sub(_rounded, buffer.getvalue()).decode("utf-8")
        return f"data:image/svg+xml,{quote(_BLANKS.sub(' ', data), safe=_PLAIN)}"
    figure.savefig(buffer, format="webp", dpi=130, pil_kwargs={"quality": 85})
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


_BLANKS = re.compile(r"\s+")
_PLAIN = " !$'()*+,-./;=?@[]^_`{|}~"  # what needs no escape inside a quoted address
_PATH, _DIGITS = re.compile(rb' d="[^"]*"'), re.compile(rb"(\.\d)\d+")


def _rounded(path: re.Match[bytes]) -> bytes:
    """A path of an SVG by tenths of a point, half as long."""
    return _DIGITS.sub(rb"\1", path[0]).replace(b" \n", b"")


def colormap(name: str) -> Any:
    """A colour map of matplotlib: a function from numbers between 0 and 1 to colours (..., 4)."""
    try:
        from matplotlib import colormaps
    except ImportError:
        raise MissingExtraError("matplotlib", "bench", "drawing") from None
    return colormaps[name]


def new_figure(width: float, height: float, layout: Literal["constrained", "tight"] = "constrained") -> Any:
    """An empty figure, inches; without what wants a screen. The layout "tight" is quicker to draw."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "bench", "drawing") from None
    return Figure(figsize=(width, height), layout=layout)


def write_figure(path: str | os.PathLike[str], figure: Figure, dpi: int = 140) -> Path:
    """Writes a figure in the format that the name's ending says: .png, .pdf or .svg."""
    ending = Path(path).suffix.lower()
    if ending not in (".png", ".pdf", ".svg"):
        raise InvalidInputError(f"a picture is written as .png, .pdf or .svg, not {str(path)!r}.")
    buffer = io.BytesIO()
    figure.savefig(buffer, format=ending[1:], dpi=dpi)
    return write_whole(path, buffer.getvalue())
