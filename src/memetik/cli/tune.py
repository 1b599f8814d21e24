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
    choose: str = typer.Option(
        "score", help="What the best is: of least score, of fewest failures, or of least cost of the solved."
    ),
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
    from memetik.bench.tune import RULES, Setting
    from memetik.bench.tune import tune as run_tuning
    from memetik.bench.tune_output import (
        best_tries,
        front_tries,
        parameter_columns,
        parameter_rows,
        try_columns,
        try_facts,
        try_rows,
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
    if choose not in RULES:
        raise InvalidInputError(f"--choose is one of {', '.join(RULES)}, not {choose!r}.")
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
        found = run_tuning(
            start, setting, space, trials=trials, two_objectives=two, rule=choose, workers=crew, progress=advance
        )
    unit, factor = unit_of(found)
    outcome, written = found.confirmation, []
    sentence = outcome.sentence(unit, factor)
    if preset:
        Preset(found.kept).save(preset)
        written.append(preset)
        tuned = outcome.kept.parameters == outcome.tuned.parameters and not outcome.is_same
        why = "" if outcome.is_same else ", which measured at least as well"
        sentence += f" {preset} holds {'the tuned parameters' if tuned else 'the default'}{why}."
    elif outcome.verdict == "worse":
        sentence += " Keep the default."
    for path in output:
        if Path(path).suffix.lower() == ".html":
            write_whole(path, tuning_page(found, f"Tuning of {method} on {scenario}, {robot}"))
        else:
            write_figure(path, tuning_figure(found))
        written.append(path)
    if as_json:
        print_json("memetik.tune/2", {
            "method": method, "robot": robot, "scenario": scenario, "unit": unit, "trials": len(found.tries),
            "chosen_by": {"rule": choose, "is": RULES[choose]}, "default": try_facts(found, [0])[0],
            "best": dict(found.best), "importances": {name: dict(own) for name, own in found.importances.items()},
            "best_tries": try_facts(found, best_tries(found)), "front": try_facts(found, found.front), "held_out": {
                "targets": len(outcome.default.costs), "default": factor * outcome.default.score,
                "tuned": factor * outcome.tuned.score, "default_failures": outcome.default.failures,
                "tuned_failures": outcome.tuned.failures,
                "saving": [factor * outcome.costs.low, factor * outcome.costs.high], "p_value": outcome.costs.p_value,
                "verdict": outcome.verdict, "kept": dict(outcome.kept.parameters),
            },
            "sentence": sentence, "files": written,
        })  # fmt: skip
        return
    shown = try_columns(found)[:4]
    for title, numbers in (
        (f"{len(found.tries)} tries on {targets} targets, those of least score", best_tries(found)),
        ("Best trade-offs between failures and the mean of the solved", front_tries(found) if two else []),
    ):
        if numbers:
            rows = [row[:4] for row in try_rows(found, numbers)]
            print_table((shown[0], *(f">{name}" for name in shown[1:])), rows, title=title)
    first, *others = parameter_columns(found)
    print_table((first, *(f">{name}" for name in others)), parameter_rows(found))
    print(f"* was chosen by {choose}: {RULES[choose]}; the best few were measured again.")
    for path in written:
        print(f"written: {path}")
    print(sentence)
