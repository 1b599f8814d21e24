"""`memetik tune METHOD`: better parameters of a method on a scenario, confirmed on other targets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memetik.bench.report.page import write_figure
from memetik.bench.run.worker_pool import worker_pool
from memetik.bench.scenarios import scenario
from memetik.bench.tuning.output import (
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
from memetik.bench.tuning.space import goal_space, parse_range, space_of
from memetik.bench.tuning.tune import RULES, Setting, Tuning, of_goals
from memetik.bench.tuning.tune import tune as run_tuning
from memetik.cli.options import ClusterOptions, argument, arguments_option, json_option, option, rng_option
from memetik.cli.output import check_outputs, print_files, print_json, print_table
from memetik.errors import InvalidInputError
from memetik.files.atomic import write_whole
from memetik.progress import progress_bar
from memetik.solve.methods import method_named
from memetik.solve.methods.presets import Preset


@dataclass(frozen=True, kw_only=True)
class TuneOptions(ClusterOptions):
    method: str = argument("memetic", "A method, or the path of a preset to start from.")
    robot: str = option("panda", "A robot; robot:group is a part.", "--robot", "-r")
    arg: list[str] = arguments_option()
    scenario: str = option("Random", "A scenario, or a scenario's file.", "--scenario", "-s")
    targets: int = option(100, "Targets for the search.", "--targets", "-n", min=2)
    held_out: int = option(100, "Further targets that confirm the gain.", min=2)
    trials: int = option(50, "Sets of parameters to try; the first set is the default.", "--trials", "-k", min=1)
    timeout: float = option(0.1, "Seconds for a target; a failure counts as this time.", "--timeout", "-t")
    evaluations: int | None = option(
        None, "Score by evaluations, at most so many, instead of time: the same result on any machine.", min=1
    )
    two: bool = option(
        False, "Optimise failures, and the cost of solved targets, as two objectives.", "--two-objectives"
    )
    choose: str = option(
        "score", "Which is the best: score (lowest), failures (fewest) or cost (lowest of the solved targets)."
    )
    only: list[str] = option([], "Tune this parameter only; repeatable.")
    bounds: list[str] = option(
        [], "NAME=LOW:HIGH[:log] or NAME=A|B|C; of a goal: GOAL.weight, GOAL.loss. Repeatable.", "--range"
    )
    seed: int = rng_option()
    preset: str | None = option(None, "File (.json) for the best parameters; method= takes it.", "--preset", "-p")
    output: list[str] = option([], "A page (.html) or a picture (.png, .pdf); repeatable.", "--output", "-o")
    as_json: bool = json_option()


def tune(options: TuneOptions) -> None:
    check_outputs(options.output, (".html", ".png", ".pdf"))
    check_outputs([options.preset] if options.preset else [], (".json",))
    if options.choose not in RULES:
        raise InvalidInputError(f"--choose is one of {', '.join(RULES)}, not {options.choose!r}.")
    start = method_named(options.method)
    bounds = dict(parse_range(text) for text in options.bounds)
    # Where only ranges of goals are given, only these are tuned.
    goals_alone = bool(bounds) and not options.only and len(of_goals(bounds)) == len(bounds)
    space = {} if goals_alone else space_of(start, options.only, bounds)
    setting = _setting(options)
    space = {**space, **goal_space(setting.scenario.problem, bounds)[0]}
    with (
        worker_pool(options.cluster, options.workers, tls=options.tls) as workers,
        progress_bar("tuning", options.trials) as advance,
    ):
        found = run_tuning(
            start, setting, space, trials=options.trials, two_objectives=options.two, rule=options.choose,
            workers=workers, progress=advance,
        )  # fmt: skip
    sentence, written = _write(found, options)
    if options.as_json:
        print_json("memetik.tune/2", {**_facts(found, options), "sentence": sentence, "files": written})
        return
    _print_tries(found, options)
    print_files(written)
    print(sentence)


def _setting(options: TuneOptions) -> Setting:
    count = options.targets + options.held_out
    with progress_bar("reachable targets", count) as advance:
        made = scenario(
            options.scenario, options.robot, targets=count, seed=options.seed, progress=lambda found: advance(found)
        )
    if len(made) < count:
        raise InvalidInputError(
            f"only {len(made)} reachable targets were found in {options.scenario!r}; ask for fewer: --targets, "
            "--held-out."
        )
    if options.evaluations is not None:
        return Setting(made, options.targets, "evaluations", float(options.evaluations), options.seed)
    return Setting(made, options.targets, "time", options.timeout, options.seed)


def _write(found: Tuning, options: TuneOptions) -> tuple[str, list[str]]:
    """What came out in a sentence, and the files written."""
    outcome, written = found.confirmation, []
    sentence = outcome.sentence(*unit_of(found))
    if goals := of_goals(outcome.kept.parameters):
        sentence += f" Of the goals: {', '.join(f'{name} = {value}' for name, value in goals.items())}."
    if options.preset:
        Preset(found.kept).save(options.preset)
        written.append(options.preset)
        tuned = outcome.kept.parameters == outcome.tuned.parameters and not outcome.is_same
        why = "" if outcome.is_same else ", which measured at least as well"
        sentence += f" {options.preset} holds {'the tuned parameters' if tuned else 'the default'}{why}."
    elif outcome.verdict == "worse":
        sentence += " Keep the default."
    for path in options.output:
        if Path(path).suffix.lower() == ".html":
            title = f"Tuning of {options.method} on {options.scenario}, {options.robot}"
            write_whole(path, tuning_page(found, title))
        else:
            write_figure(path, tuning_figure(found))
        written.append(path)
    return sentence, written


def _facts(found: Tuning, options: TuneOptions) -> dict[str, Any]:
    unit, factor = unit_of(found)
    outcome = found.confirmation
    return {
        "method": options.method, "robot": options.robot, "scenario": options.scenario, "unit": unit,
        "trials": len(found.tries), "chosen_by": {"rule": options.choose, "is": RULES[options.choose]},
        "default": try_facts(found, [0])[0], "best": dict(found.best),
        "importances": {name: dict(own) for name, own in found.importances.items()},
        "best_tries": try_facts(found, best_tries(found)), "front": try_facts(found, found.front), "held_out": {
            "targets": len(outcome.default.costs), "default": factor * outcome.default.score,
            "tuned": factor * outcome.tuned.score, "default_failures": outcome.default.failures,
            "tuned_failures": outcome.tuned.failures,
            "saving": [factor * outcome.costs.low, factor * outcome.costs.high], "p_value": outcome.costs.p_value,
            "verdict": outcome.verdict, "kept": dict(outcome.kept.parameters),
        },
    }  # fmt: skip


def _print_tries(found: Tuning, options: TuneOptions) -> None:
    shown = try_columns(found)[:4]
    for title, numbers in (
        (f"{len(found.tries)} tries on {options.targets} targets, those of least score", best_tries(found)),
        ("Best trade-offs between failures and the mean of the solved", front_tries(found) if options.two else []),
    ):
        if numbers:
            rows = [row[:4] for row in try_rows(found, numbers)]
            print_table((shown[0], *(f">{name}" for name in shown[1:])), rows, title=title)
    first, *others = parameter_columns(found)
    print_table((first, *(f">{name}" for name in others)), parameter_rows(found))
    print(f"* was chosen by {options.choose}: {RULES[options.choose]}; the best few were measured again.")
