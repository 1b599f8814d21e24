"""The line at the top of the page: solved or not, how well, how fast; what touches."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memetik.robot.notes import Note
    from memetik.studio.app import Studio
    from memetik.studio.session.targets import GoalEntry

GREEN, AMBER, RED, GREY = "#16a34a", "#d97706", "#dc2626", "#64748b"

MOST_NOTES = 100

MOST_REASON = 240
"""Letters of a reason that the header has room for."""

_UNITS = {
    "rad": ("rotation", "angle", "direction", "axis", "swing", "twist", "view", "incidence", "roll"),
    "m": ("position", "distance", "line", "plane", "point", "balance", "touch", "height", "clearance"),
}
"""By unit, how the labels of errors begin."""


def status_html(studio: Studio) -> str:
    """The status of a studio as a small piece of a page."""
    color, title, detail = _verdict(studio)
    verdict = (
        f'<span style="color:{color};font-size:1.3em;line-height:1">&#9679;</span> '
        f'<b>{html.escape(title)}</b><span style="color:{GREY}"> {html.escape(detail)}</span>'
    )
    lines = (verdict, _reason(studio), _touching(studio), _busy(studio))
    body = "".join(f'<div style="margin:2px 0">{line}</div>' for line in lines if line)
    name = html.escape(studio.state.robot.name)
    return (
        f'<div style="padding:0.3em 0.9em 0.5em 0.9em;font-size:0.85em" data-studio="status">'
        f'<div style="color:{GREY}">{name} &middot; {studio.state.robot.dof} joints</div>{body}</div>'
    )


def goals_html(studio: Studio, chosen: str) -> str:
    """The goals with their errors."""
    errors = studio.solution.errors if studio.solution is not None else {}
    if studio.teleoperation is not None and studio.tracked is not None:
        errors = studio.tracked.errors
    rows = []
    for entry in studio.state.goals:
        parts = errors.get(entry.name, {}) if entry.enabled else {}
        missed = AMBER if entry.goal.priority else RED
        color = GREY if not entry.enabled else GREEN if _within(entry, parts) else missed
        told = " &middot; ".join(f"{html.escape(label)} {quantity(value, label)}" for label, value in parts.items())
        told = told or ("&ndash;" if entry.enabled else "off")
        weight = "font-weight:600;" if entry.name == chosen else ""
        faded = "" if entry.enabled else "opacity:0.5;"
        rows.append(
            f'<div style="margin:3px 0;{faded}" data-goal="{html.escape(entry.name)}">'
            f'<span style="color:{color}">&#9679;</span> <span style="{weight}">{html.escape(entry.name)}</span> '
            f'<span style="color:{GREY}">{type(entry.goal).__name__}{", soft" if entry.goal.priority else ""}<br>'
            f'<span style="padding-left:1.1em">{told}</span></span></div>'
        )
    empty = f'<div style="color:{GREY}">No goals yet. Click a link, or choose one below, and add a goal.</div>'
    return f'<div style="padding:0.2em 0.9em;font-size:0.8em">{"".join(rows) or empty}</div>'


def notes_html(notes: Sequence[Note]) -> str:
    """What a robot's reader left out or filled in."""
    rows = [
        f'<div style="margin:4px 0" data-note="{html.escape(note.kind)}"><b>{html.escape(note.message[:400])}</b> '
        f"{html.escape(note.consequence)}<br>"
        f'<span style="color:{GREY}">{html.escape(str(note.place)[:200])}</span></div>'
        for note in notes[:MOST_NOTES]
    ]
    if len(notes) > MOST_NOTES:
        rows.append(f'<div style="color:{GREY}">{len(notes) - MOST_NOTES} more: see robot.notes.</div>')
    empty = f'<div style="color:{GREY}">Nothing was left out or filled in.</div>'
    return f'<div style="padding:0.2em 0.9em;font-size:0.8em">{"".join(rows) or empty}</div>'


def quantity(value: float, label: str) -> str:
    """An error with its unit, in the size that reads best; what is beyond measuring counts as nothing."""
    value = 0.0 if abs(value) < 1e-9 else value
    unit = next((unit for unit, labels in _UNITS.items() if label.startswith(labels)), None)
    if unit is None:
        return readable(value)
    if unit == "rad":
        return f"{readable(math.degrees(value))}&deg;"
    factor, prefix = (1.0, "") if value >= 0.1 else (1e3, "m") if value >= 1e-4 else (1e6, "&micro;")
    return f"{readable(value * factor)} {prefix}{unit}"


def readable(value: float) -> str:
    """A number with two digits that count, without an exponent where people would not write one."""
    if value == 0.0 or not 1e-5 <= abs(value) < 1e7:
        return f"{value:.2g}"
    digits = 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, digits):.{max(0, digits)}f}"


def duration(seconds: float) -> str:
    """A time in the unit that reads best."""
    if seconds >= 1.0:
        return f"{readable(seconds)} s"
    return f"{readable(1e3 * seconds)} ms" if seconds >= 1e-4 else f"{readable(1e6 * seconds)} µs"


def _verdict(studio: Studio) -> tuple[str, str, str]:
    if studio.player.is_playing:
        return AMBER, "Playing", f"{studio.player.time:.2f} of {studio.player.duration:.2f} s"
    step = studio.tracked
    if studio.teleoperation is not None and step is not None:
        if studio.solver.blocked is not None:
            first, second = studio.solver.blocked
            return RED, "Held", f"the next step would bring {first} and {second} together"
        saturated = f", {len(step.saturated)} joints at a bound" if step.saturated else ""
        return (GREEN if step.within else AMBER), "Following", f"error {readable(step.error)}{saturated}"
    solution = studio.solution
    if not studio.live:
        return GREY, "Paused", "live solving is off"
    if solution is None:
        return GREY, "No goal", "add one, or move joints"
    count = solution.evaluations
    took = f"in {duration(solution.time)}, {count} evaluation{'' if count == 1 else 's'}"
    if solution.success:
        return GREEN, "Solved", took
    if studio.clearances.contacts:
        return RED, "In collision", took
    return RED, "Not solved", f"nearest configuration {took}"


def _reason(studio: Studio) -> str:
    """The first sentences of why a solve failed; all of it stands under Explanation."""
    solution = studio.solution
    if solution is None or solution.success or not studio.live or studio.player.is_active or studio.teleoperation:
        return ""
    text = " ".join(studio.explanation.split())
    if len(text) > MOST_REASON:
        text = text[: text.rfind(" ", 0, MOST_REASON)] + " …"
    return f'<span style="color:{RED}" data-studio="reason">{html.escape(text)}</span>'


def _busy(studio: Studio) -> str:
    if not studio.busy:
        return ""
    return f'<span style="color:{AMBER}" data-studio="busy">&#8987; {html.escape(", ".join(studio.busy))}</span>'


def _touching(studio: Studio) -> str:
    clearances = studio.clearances
    if clearances.contacts:
        pairs = dict.fromkeys((c.first, c.second) for c in clearances.contacts)
        named = ", ".join(f"{html.escape(a)} &ndash; {html.escape(b)}" for a, b in list(pairs)[:3])
        more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
        return f'<span style="color:{RED}" data-studio="collision">Collision: {named}{more}</span>'
    if clearances.pair is not None and np.isfinite(clearances.clearance):
        first, second = (html.escape(name) for name in clearances.pair)
        return (
            f'<span style="color:{GREY}">Clearance {1e3 * clearances.clearance:.0f} mm, {first} &ndash; {second}</span>'
        )
    return ""


def _within(entry: GoalEntry, errors: dict[str, float]) -> bool:
    """Whether a goal's errors are within its tolerances, as one number each."""
    for label, error in errors.items():
        own = getattr(entry.goal, f"{label}_tolerance", getattr(entry.goal, "tolerance", 1e-5))
        if isinstance(own, int | float) and error > max(own, 1e-9):
            return False
    return True
