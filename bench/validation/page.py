"""Makes docs/validation.md from the totals of all batches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from bench.figures import table
from triptych.stats.analysis.collection import INTERIM
from triptych.stats.intervals import FEW_ITEMS
from triptych.stats.undefined import Undefined

from .agreement import COEFFICIENTS, AgreementCoverage
from .camps import CampsReported
from .designs import DESIGNS
from .differences import SHIFT, Differences, Floors
from .equivalence import MARGIN, Equivalence
from .groups import BetweenGroups
from .looks import Looks
from .planning import RUNS_HERE, Planned
from .proportional_odds import OddsLevel
from .ratings import GROUP_TASTE, ITEM, ITEM_TASTE, SEVERITY
from .tallies import Simulation, Tally

Line = tuple[Simulation, Tally]
LEVEL, COVERAGE = (2.0, 6.5), (93.0, 98.0)
LIMITS = {
    "level": LEVEL,
    "any": (0.0, 6.0),
    "any here": (0.0, 6.0),
    "coverage": COVERAGE,
    "these": COVERAGE,
    "at the margin": (0.0, 6.5),
    "rule": (0.0, 6.0),
    **dict.fromkeys(COEFFICIENTS, (92.0, 98.0)),
}
SPOKEN = {
    "any": "any false clear",
    "any here": "any false clear for these annotators",
    "these": "coverage for these annotators",
    "at the margin": "equivalent at the margin",
    "rule": "any false clear over all looks",
}
EQUAL = ("at the margin", "without a difference")
CAMPS = ("by taste", "by agreement")
MOST_FALSE_CAMPS = 6.0

INTRODUCTION = """# Do the tests and intervals keep what they promise?

Written by `python -m bench.validation --write-docs`; no figure is typed by hand. {designs} designs and {others} further
settings are simulated and analysed by the functions that the app calls. *Runs* is the number of studies without a
difference; as many have one. Up to {batch} of them share one drawn assignment. The standard error of a figure near 5
or 95 is 0.5 points with 2,000 runs, 0.7 with 1,000 and 1.1 with 400. Seeds depend on the name of the simulation and the
number of the batch, so that a second run gives the same figures.

A rating is a cumulative logit of item (SD {item}), severity of the annotator (SD {severity}), taste of the item for the
system (SD {item_taste}), taste of the annotator for the system (SD in the column *Taste*) and logistic noise. It is cut
into seven points that are all in use (*ordinal*), into two (*binary*), or into seven with four of five ratings on the
highest point (*top*).

- *60 × 3 of 8*: 60 items, 3 annotations of each, 8 annotators in all, who annotate equally many; *unequal*: the second
  annotates about half as many as the first, the third a third, and so on.
- *2 shown*: an annotation holds two systems, drawn at random. *One at a time*: each response is rated alone.
- *Groups of 5*: five items share a further taste for each system (SD {group_taste}).
- *Tastes t3*: tastes with heavy tails; *camps*: half of the annotators like the last system, half dislike it.
- *Missing*: about a third of the ratings at random; or half of the ratings of hard items, of the low ratings (the
  lowest quarter of the values before they are cut into points), or of the ratings of systems that the annotator likes
  less than others do.

The columns, in percent:

- **Level**: rejections by a nominal 5 % test without a difference, averaged over the contrasts, at most {level}. The
  test is the one for annotators like these or, with fewer than five annotators and no tastes, for these annotators.
  *Worst*: the contrast with most rejections, and its standard error; the largest of many is high by chance.
- **Any false clear**: studies without a difference in which some verdict says *clear*, after Holm over all contrasts
  and criteria, at most {any:g}. With fewer than five annotators the verdict is about these annotators; it is false if
  the same annotators would not find the stated sign with ever more items.
- **Coverage** of the 95 % interval under a true difference of {shift} logit, {least:g} to {most:g}. **Power**: how
  often that difference is clear after Holm.
- **These**: figures of a result's second line, which is about these annotators: any false clear, coverage, and in
  *level for others* how often its test rejects if it is applied to annotators in general, which is not its purpose.
- **One mean coverage**: coverage of the interval around the mean of one system, for which nothing is promised.

A figure outside its limits is **bold**, and so is a level below {cautious:g}, which is cautious.
"""
HEADING = (
    *("Design", "Taste", "Scale", "Level", "Worst", "Any false clear", "Coverage", "Power"),
    *("These: any false clear", "These: coverage", "These: level for others", "one mean coverage", "Runs"),
)
COLUMNS = ("any", "coverage", "power", "any here", "these", "level here", "one mean")
OUTSIDE = """
## What is outside

*The app warns* names the finding that results, reports and the datasheet print in such a design: items that seem to be
grouped by their ids or contexts, ratings that are missing more often for one system than chance explains, responses
rated alone, one annotator per item with unequal work, camps that may appear by chance.
"""
FARTHER = """Lines with at least one figure outside by two standard errors (SE) or more:
"""
NEARLY = """
Lines with figures outside by less; among so many figures some are outside by chance:
"""
CLEARLY = 2.0
PLANNED_HEADING = ("Design", "Points", "Clear", "Planner: clear", "Equal", "Planner: equal", "Runs")
EQUIVALENCE = """
## Equivalence

Two systems are called practically equal if the 90 % interval for annotators like these is inside the margin. Percent of
studies, at a true difference equal to the margin (at most 6.5) and without a difference. The margin, in points of the
scale, is {margin:g} logit.
"""
LOOKS = """
## Looking early

Results are opened at equal steps while ratings come in. Percent of studies without a difference in which any look shows
a false clear: with the rule that before the last look nothing is clear unless Holm's p < {early}, then 0.05 (at most
6), and with 0.05 at every look.
"""
AGREEMENT = """
## Agreement

Coverage of the 95 % jackknife intervals over items; the aim is 92 to 98 %. The same three annotators rate all
responses: *50 × 3* is 50 items with 3 responses. *Own*: SD in logit of an annotator's own view of an item; *uneven*:
some items are noisier than others. Ordinal alpha and AC2 on scales of points, nominal alpha and AC1 on yes/no.
"""
ODDS = """
## Proportional odds

Level of the test for annotators like these without a difference, and power (not adjusted) at {shift} logit.
"""
CAMPS_TEXT = """
## Camps of annotators

Percent of studies with p < 0.05, for the hints by taste and by agreement; four criteria. *None*: no camps, at most 6;
*tastes*: camps 2 logits apart on one system; *agreement*: each camp has its own view of every response, of SD 1 logit.
A dash: most studies were refused, with a reason.
"""
GROUPS_TEXT = """
## Differences between groups of annotators

Two declared groups rate the same items and do not differ. Level of the test that they see different distances between
two of three systems, and any false clear after Holm, as in the first table; *these* only if annotators have no tastes.
*60 × 2 of 6 and 3 of 20*: 60 items, each with two annotations by a group of 6 and three by a group of 20. *Own items*:
each group rates as many items of its own.
"""
GROUP_COLUMNS = ("level", "any", "level here", "any here")
PLANNER = """
## The planner

Percent of simulated studies that show the planned result, and the planner's probability for the same plan, in {runs}
runs per design (standard error at most 2.5). *Clear*: the last system is better than all others under one criterion,
and clearly above one of them after Holm over all contrasts and criteria. *Equal*, from five annotators on: two equal
systems are practically equal within {margin:g} logit. The planner estimates variances from a large pilot; a real pilot
is less certain.
"""
FLOORS = """
## Why the variance has a floor

The two-way variance V_item + V_annotator − V_cell can be negative, or positive but almost 0. The app takes at least a
quarter of the larger of V_item and V_annotator, that is half of the larger standard error; where the effective number
of items is below {few}, three quarters, because V_item then scatters, too (*Few items* in the first table). Level of
the test in percent with five annotators; without a floor, a study whose variance is not above 0 has no test and counts
as not rejected.
"""


def page(lines: Sequence[Line]) -> str:
    """The whole page, from the simulations with runs."""
    lines = [line for line in lines if line[1].runs]
    main = [line for line in lines if isinstance(line[0], Differences)]
    rows = []
    for part, of_part in groupby(main, key=lambda line: line[0].part):
        rows += [[f"**{part}**", *[""] * (len(HEADING) - 1)], *map(_row, of_part)]
    outside = [_outside(line) for line in lines]
    parts = [_introduction(len(main), len(lines) - len(main)), table(rows, HEADING), OUTSIDE, *_summary(main)]
    parts += [FARTHER, *(sentence for errors, sentence in outside if errors >= CLEARLY)]
    parts += [NEARLY, *(sentence for errors, sentence in outside if 0 < errors < CLEARLY), *_tables(lines)]
    return "\n".join(parts) + "\n"


def _introduction(designs: int, others: int) -> str:
    return INTRODUCTION.format(
        designs=designs,
        others=others,
        batch=100,
        item=ITEM,
        severity=SEVERITY,
        item_taste=ITEM_TASTE,
        group_taste=GROUP_TASTE,
        shift=SHIFT,
        level=LEVEL[1],
        cautious=LEVEL[0],
        any=LIMITS["any"][1],
        least=COVERAGE[0],
        most=COVERAGE[1],
    )


def _tables(lines: Sequence[Line]) -> list[str]:
    """The other tables, each below its text."""

    def rows(kind: type, keys: Sequence[str]) -> list[list[str]]:
        of_kind = [line for line in lines if isinstance(line[0], kind)]
        return [[sim.name, *(_figure(sim, tally, key) for key in keys), f"{tally.runs:,}"] for sim, tally in of_kind]

    equivalent = [simulation for simulation, _ in lines if isinstance(simulation, Equivalence)]
    return [
        EQUIVALENCE.format(margin=MARGIN),
        table(
            [
                [row[0], f"{sim.margin:.2f}", *row[1:]]
                for row, sim in zip(rows(Equivalence, EQUAL), equivalent, strict=True)
            ],
            ("Design", "Margin", "At the margin", "Without a difference", "Runs"),
        ),
        LOOKS.format(early=INTERIM),
        table(rows(Looks, ("rule", "no rule")), ("Design", "With the rule", "0.05 at any look", "Runs")),
        AGREEMENT,
        table(rows(AgreementCoverage, COEFFICIENTS), ("Setting", "Percent", "Alpha", "AC", "Fleiss", "Runs")),
        ODDS.format(shift=SHIFT),
        table(rows(OddsLevel, ("level", "power")), ("Design", "Level", "Power", "Runs")),
        CAMPS_TEXT,
        table(rows(CampsReported, CAMPS), ("Design", "By taste", "By agreement", "Runs")),
        GROUPS_TEXT,
        table(
            rows(BetweenGroups, GROUP_COLUMNS),
            ("Design", "Level", "Any false clear", "These: level", "These: any false clear", "Runs"),
        ),
        PLANNER.format(margin=MARGIN, runs=RUNS_HERE),
        table([_planned(sim, tally) for sim, tally in lines if isinstance(sim, Planned)], PLANNED_HEADING),
        FLOORS.format(few=FEW_ITEMS),
        table(
            rows(Floors, ("0", "0.25", "1")),
            ("Design", "No floor", "A quarter (the app)", "The larger itself", "Runs"),
        ),
    ]


def _planned(simulation: Planned, tally: Tally) -> list[str]:
    """A row of simulated and predicted probabilities."""
    cells = [simulation.name, f"{simulation.points(simulation.shift):.2f}"]
    for key, predicted in simulation.predicted().items():
        cells += (
            ["–", "–"] if isinstance(predicted, Undefined) else [_figure(simulation, tally, key), f"{predicted:.1f}"]
        )
    return [*cells, f"{tally.runs:,}"]


def _row(line: Line) -> list[str]:
    simulation, tally = line
    assert isinstance(simulation, Differences)
    design, worst = simulation.design, tally.worst("level")
    middle = [_figure(simulation, tally, key) for key in COLUMNS]
    shown = "–" if worst is None else f"{worst[0]:.1f} ± {worst[1]:.1f}"
    level = _figure(simulation, tally, "level")
    return [design.name, f"{design.taste:g}", design.scale, level, shown, *middle, f"{tally.runs:,}"]


def _figure(simulation: Simulation, tally: Tally, key: str) -> str:
    percent = tally.percent(key)
    if percent is None or tally.trials[key] < tally.runs / 2:
        return "–"
    return f"**{percent:.1f}**" if _beyond(simulation, key, percent) else f"{percent:.1f}"


def _beyond(simulation: Simulation, key: str, percent: float) -> float:
    """How many points a figure is outside its limits: negative below the lower one, 0 if it is within them."""
    if isinstance(simulation, CampsReported):
        low, high = (0.0, MOST_FALSE_CAMPS) if simulation.apart == "none" else (0.0, 100.0)
    else:
        low, high = LIMITS.get(key, (0.0, 100.0))
    percent = round(percent, 1)
    return min(percent - low, 0) + max(percent - high, 0)


def _outside(line: Line) -> tuple[float, str]:
    """By how many standard errors the worst figure is outside, 0 if none is, and all such figures as text."""
    simulation, tally = line
    figures, most = [], 0.0
    for key in [key for key, trials in tally.trials.items() if trials and trials >= tally.runs / 2]:
        percent = tally.percent(key) or 0.0
        beyond = _beyond(simulation, key, percent)
        limit = round(percent, 1) - beyond
        if not beyond:
            continue
        errors = abs(beyond) / np.sqrt(max(limit, 0.1) * (100 - limit) / tally.trials[key])
        cautious = beyond < 0 if key == "level" else beyond > 0 and key in ("coverage", "these", *COEFFICIENTS)
        figures.append(f"{SPOKEN.get(key, key)} {percent:.1f} ({errors:.1f} SE{', cautious' * cautious})")
        most = max(most, errors)
    part = "" if simulation.part in DESIGNS else f"{simulation.part}: "
    return most, f"- {part}{simulation.name}: {', '.join(figures)}.{_caveat(simulation)}"


def _caveat(simulation: Simulation) -> str:
    """The warning that the results page prints in such a design (results/design_caveats.py)."""
    if isinstance(simulation, CampsReported):
        return " The app warns: *camps*."
    if not isinstance(simulation, Differences):
        return ""
    design = simulation.design
    caveats = {
        "groups not declared": design.group > 1 and not design.by_group,
        "unevenly missing": "one system only" in design.missing,
        "one at a time": design.singles,
        "unequal work": design.unequal and design.raters == 1 and not design.singles,
    }
    named = [f"*{caveat}*" for caveat, holds in caveats.items() if holds]
    return f" The app warns: {', '.join(named)}." if named else ""


def _summary(main: Sequence[Line]) -> list[str]:
    """How many lines of the first table have each figure outside its limits."""
    counts = []
    for key in ("level", "any", "coverage", "any here", "these"):
        percents = [(simulation, percent) for simulation, tally in main if (percent := tally.percent(key)) is not None]
        outside = sum(bool(_beyond(simulation, key, percent)) for simulation, percent in percents)
        counts.append(f"{SPOKEN.get(key, key)} {outside} of {len(percents)}")
    return [f"Lines of the table with a figure outside, by any amount: {'; '.join(counts)}.", ""]
