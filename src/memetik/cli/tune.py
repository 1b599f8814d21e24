"""`memetik tune METHOD`: better parameters of a method on a scenario, confirmed on other targets."""

from __future__ import annotations

from pathlib import Path

import typer

from memetik.cli.output import JSON_OPTION, print_json, print_table


def tune(
    method: str = typer.Argument("memetic", help="A method, or the path of a preset to start from."),
    robot: str = typer.Option("panda", "--robot", "-r", help="A robot; robot:group is a part."),
    scenario: str = typer.Option("Random", "--scenario", "-s", help="A scenario, or a scenario's file."),
    targets: int = typer.Option(100, "--targets", "-n", min=2, help="Targets for the search."),
    held_out: int = typer.Option(100, min=2, help="Further targets that confirm the gain."),
    trials: int = typer.Option(
        50, "--trials", "-k", min=1, help="Sets of parameters that are tried; the first is the default."
    ),
    timeout: float = typer.Option(0.1, "--timeout", "-t", help="Seconds for a target; a failure counts as these."),
    evaluations: int = typer.Option(
        None, min=1, help="Score by evaluations, at most these, instead of time: the same result on any machine."
    ),
    two: bool = typer.Option(False, "--two-objectives", help="Failures and cost of the solved ones as two objectives."),
    only: list[str] = typer.Option([], help="Tune this parameter only; repeatable."),
    bounds: list[str] = typer.Option([], "--range", help="NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=A|B|C; repeatable."),
    seed: int = typer.Option(0, min=0, help="Of the random numbers."),
    preset: str = typer.Option(None, "--preset", "-p", help="File (.json) for the best parameters; method= takes it."),
    output: list[str] = typer.Option(
        [], "--output", "-o", help="A page (.html) or a picture (.png, .pdf); repeatable."
    ),
    cluster: str = typer.Option(None, help="Address of a dask scheduler, or 'local'."),
    workers: int = typer.Option(None, min=1, help="Processes of a local cluster."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Tune a method's parameters on a scenario."""
    from memetik.bench.cluster import workers as crew_of
    from memetik.bench.report_page import write_figure
    from memetik.bench.scenarios import scenario as make_scenario
    from memetik.bench.tune import Setting
    from memetik.bench.tune import tune as run_tuning
    from memetik.bench.tune_output import (
        PARAMETER_COLUMNS,
        best_rows,
        parameter_rows,
        tuning_figure,
        tuning_page,
        unit_of,
    )
    from memetik.bench.tune_space import parse_range, space_of
    from memetik.cli.reach import check_outputs, progress_bar
    from memetik.errors import InvalidInputError
    from memetik.files import write_whole
    from memetik.solve.methods import method_named
    from memetik.solve.methods.presets import Preset

    check_outputs(output, (".html", ".png", ".pdf"))
    check_outputs([preset] if preset else [], (".json",))
    start = method_named(method)
    space = space_of(start, only, dict(parse_range(text) for text in bounds))
    with progress_bar("reachable targets", targets + held_out) as advance:
        made = make_scenario(
            scenario, robot, targets=targets + held_out, seed=seed, progress=lambda found: advance(int(found))
        )
    if len(made) < targets + held_out:
        raise InvalidInputError(
            f"only {len(made)} reachable targets were found in {scenario!r}; ask for fewer: --targets, --held-out."
        )
    measure, budget = ("time", timeout) if evaluations is None else ("evaluations", float(evaluations))
    setting = Setting(made, targets, measure, budget, seed)
    with crew_of(cluster, workers) as crew, progress_bar("tuning", trials) as advance:
        found = run_tuning(start, setting, space, trials=trials, two_objectives=two, workers=crew, progress=advance)
    unit, factor = unit_of(found)
    written = []
    verdict = found.confirmation.verdict
    if preset and verdict != "worse":
        Preset(found.tuned).save(preset)
        written.append(preset)
    for path in output:
        if Path(path).suffix.lower() == ".html":
            write_whole(path, tuning_page(found, f"Tuning of {method} on {scenario}, {robot}"))
        else:
            write_figure(path, tuning_figure(found))
        written.append(path)
    sentence = found.confirmation.sentence(unit, factor)
    if as_json:
        print_json("memetik.tune/1", {
            "method": method, "robot": robot, "scenario": scenario, "unit": unit, "trials": len(found.tries),
            "default_score": factor * found.tries[0].score, "best": dict(found.best),
            "importances": dict(found.importances), "held_out": {
                "default": factor * found.confirmation.default.score, "tuned": factor * found.confirmation.tuned.score,
                "saving": [factor * value for value in found.confirmation.interval], "verdict": verdict,
            },
            "sentence": sentence, "files": written,
        })  # fmt: skip
        return
    print_table(
        ("try", f">score ({unit})", ">solved"),
        [row[:3] for row in best_rows(found)],
        title=f"{len(found.tries)} tries on {targets} targets",
    )
    first, *others = PARAMETER_COLUMNS
    print_table((first, *(f">{name}" for name in others)), parameter_rows(found))
    print(sentence)
    if preset and verdict == "worse":
        print(f"{preset} was not written.")
    for path in written:
        print(f"written: {path}")
