"""Which system is better: the verdict per criterion, the differences with both intervals, and the answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Sequence

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from components.results import charts, figures
from components.results.findings import ratings_link
from components.results.marked import pick_item
from components.results.statistics_row import cells
from components.shell.state import plain
from components.shell.words import limits, number, percent, ratio, signed
from triptych.results.adjudication import FinalValue
from triptych.results.criterion import CriterionResult, interval_note, spoken
from triptych.results.evidence import HOCHBERG, foremost
from triptych.results.frame.table import Filters
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import between_groups, caution_on, extremes, summary, verdict
from triptych.rubric.scales import Choice, NumberScale, as_typed
from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.analysis.final_values import FinalMeans
from triptych.stats.analysis.groups import GroupDifference
from triptych.stats.analysis.statistics import (
    BALANCE,
    DIFFERENCE,
    FINAL_VALUES,
    RANK_BISERIAL,
    SIGNED_RANK,
    SYSTEM,
    WINS,
)
from triptych.stats.analysis.systems import SystemResult
from triptych.stats.comparison import Dominance
from triptych.stats.descriptive import MajorityShare
from triptych.stats.intervals import Interval
from triptych.stats.numbers import counted, joined_words
from triptych.stats.undefined import Undefined

MOST_ROWS, MOST_LINKS = 12, 6
BOTH_VERSIONS = (
    "As given: the means of every other figure and table. With final values: the same, but with final values in place "
    "of the ratings of responses that were decided; these have no interval and no test."
)
FAMILIES = "Tests within groups are adjusted together, and so are those between groups."


def every_criterion(analysis: StudyAnalysis, slug: str) -> None:
    """The verdict over all criteria, unless there is a single one, whose own says the same; then each of them."""
    shown = [result.criterion.key for result in analysis.criteria if analysis.contrasts_of(result.criterion.key)]
    if len(shown) > 1:
        st.text(leaders(analysis, shown))
    for result in analysis.criteria:
        _criterion_block(analysis, result, slug)


def leaders(analysis: StudyAnalysis, criteria: Collection[str]) -> str:
    """Which systems are clearly better than which, with criteria of the same answer together."""
    by_summary: dict[str, list[str]] = defaultdict(list)
    for key in criteria:
        by_summary[summary(analysis, analysis.contrasts_of(key))].append(analysis.title(key))
    sentences = [f"{words} on {joined_words(titles)}." for words, titles in by_summary.items()]
    return " ".join(filter(None, [*sentences, caution_on(analysis, criteria)]))


def _criterion_block(analysis: StudyAnalysis, result: CriterionResult, slug: str) -> None:
    """One criterion: the verdict, figures of differences and answers, agreement, and the numbers behind them."""
    key = result.criterion.key
    st.subheader(plain(result.criterion.title), anchor=False)
    sentence = verdict(analysis, key) if result.n and analysis.contrasts_of(key) else extremes(analysis, result)
    st.text(sentence)
    if not result.n:
        return
    _figures(analysis, result, slug, sentence)
    if groups := between_groups(analysis, key):
        st.text(groups)
    pairs = len(analysis.contrasts_of(key))
    cut = f"{MOST_ROWS} of {pairs} differences are drawn, the clearest first; all are under Numbers. "
    st.caption(plain((cut if pairs > MOST_ROWS else "") + agreement_sentence(result)))
    with (box := st.expander("Numbers", key=f"numbers-{key}", on_change="rerun")):
        if box.open:
            _numbers_behind(analysis, result)
            _links(analysis, key, slug)


def _figures(analysis: StudyAnalysis, result: CriterionResult, slug: str, sentence: str) -> None:
    """Differences if systems can be compared, otherwise means; answers next to them."""
    key = result.criterion.key
    left = charts.made_once(analysis, f"difference-{key}", lambda: _differences(analysis, result))
    spread = charts.made_once(analysis, f"answers-{key}", lambda: _levels(analysis, result))
    columns = st.columns([2, 3]) if left and spread else [st.container()] * 2
    if left:
        with columns[0]:
            charts.show(left, f"difference-{key}", f"{slug}-{key}-differences", sentence)
    if spread:
        with columns[1]:
            charts.show(spread, f"answers-{key}", f"{slug}-{key}-answers", extremes(analysis, result))


def _differences(analysis: StudyAnalysis, result: CriterionResult) -> go.Figure | None:
    contrasts = foremost(analysis.contrasts_of(result.criterion.key), MOST_ROWS)
    if contrasts:
        return figures.forest(contrasts, analysis.names, result.variable.width)
    return charts.means(result, analysis.names)


def _levels(analysis: StudyAnalysis, result: CriterionResult) -> go.Figure | None:
    """The distribution of answers, in parts if the scale is too fine for one bar per value."""
    answers = charts.answers(result, analysis.names)
    if answers is not None or not isinstance(result.criterion.scale, NumberScale):
        return answers
    ratings = analysis.ratings_of(result.criterion.key)
    numbers = {system.system: ratings.of_system(system.system).number for system in result.systems}
    return charts.answers_in_parts(result, numbers, analysis.names)


def agreement_sentence(result: CriterionResult) -> str:
    """Percent agreement and alpha with its interval, or why there is none; no percentage on a fine scale."""
    agreement = result.agreement
    if isinstance(agreement.table, Undefined):
        return f"Agreement: {agreement.table}"
    fine = not result.points and not isinstance(result.criterion.scale, Choice)
    same = ""
    if not fine and not isinstance(agreement.percent, Undefined):
        same = f"two annotators give the same rating {percent(agreement.percent)} of the time"
    if isinstance(agreement.alpha, Undefined):
        alpha = f". Krippendorff's alpha: {agreement.alpha}" if same else agreement.alpha
        return f"Agreement: {same}{alpha}"
    interval = "" if isinstance(agreement.interval, Undefined) else f" ({limits(*agreement.interval)})"
    parts = (
        f"Agreement: {same + '; ' if same else ''}Krippendorff's alpha {number(agreement.alpha)}{interval}.",
        agreement.band,
        agreement.note,
    )
    return " ".join(part for part in parts if part)


def _numbers_behind(analysis: StudyAnalysis, result: CriterionResult) -> None:
    key = result.criterion.key
    contrasts = analysis.contrasts_of(key)
    if contrasts:
        st.dataframe(contrast_table(contrasts, analysis), hide_index=True, key=f"contrasts-{key}")
        hochberg = HOCHBERG if any(each.benjamini_hochberg is not None for each in contrasts) else ""
        st.caption(plain(f"{whom_for(contrasts)} {analysis.family} {hochberg}".rstrip()))
    if by_group := [of for of in analysis.group_differences if of.criterion == key]:
        st.dataframe(_by_group(by_group, analysis), hide_index=True, key=f"groups-{key}")
        st.caption("By group of annotators: each group separately, then how far two groups differ. " + FAMILIES)
    st.dataframe(_systems(result, analysis.names), hide_index=True, key=f"table-{key}")
    st.caption(interval_note(result))


def _by_group(differences: Sequence[GroupDifference], analysis: StudyAnalysis) -> pd.DataFrame:
    rows = []
    for of in differences:
        row = {"Group": of.place, "Systems": f"{analysis.name(of.system)} − {analysis.name(of.baseline)}"}
        undefined = isinstance(of.difference, Undefined)
        numbers = {"Difference": str(of.difference)} if undefined else cells(DIFFERENCE, of, of.share, reasons=False)
        rows.append(row | numbers)
    return pd.DataFrame(rows).fillna("")


def whom_for(contrasts: Sequence[Contrast]) -> str:
    """The annotators to which the intervals of the differences apply, each statement once."""
    differences = [contrast.difference for contrast in contrasts if not isinstance(contrast.difference, Undefined)]
    sentences = dict.fromkeys(
        sentence for difference in differences for sentence in (difference.these.sentence, difference.alike.sentence)
    )
    return " ".join(sentences)


def contrast_table(contrasts: Sequence[Contrast], analysis: StudyAnalysis) -> pd.DataFrame:
    return pd.DataFrame([_contrast_row(contrast, analysis) for contrast in contrasts]).fillna("")


def _contrast_row(contrast: Contrast, analysis: StudyAnalysis) -> dict[str, str]:
    pair = {"Systems": f"{analysis.name(contrast.system)} − {analysis.name(contrast.baseline)}"}
    if isinstance(contrast.difference, Undefined):
        return pair | {"Difference": contrast.difference.reason}
    return pair | cells((*DIFFERENCE, *WINS), contrast, contrast.share, reasons=False)


def _systems(result: CriterionResult, names: dict[int, str]) -> pd.DataFrame:
    return pd.DataFrame([_system_row(result, system, names) for system in result.systems]).fillna("")


def _system_row(result: CriterionResult, system: SystemResult, names: dict[int, str]) -> dict[str, str]:
    row = {"System": names.get(system.system, "The item"), **cells(SYSTEM, system, result.share)}
    if isinstance(system.interval, Interval):
        row["Mean or share"] = spoken(system.interval, result.share)
    row |= {as_typed(point): str(count) for point, count in zip(result.points, system.counts, strict=False)}
    scale = result.criterion.scale
    if not isinstance(system.shares, Undefined) and isinstance(scale, Choice):
        titles: dict[Hashable, str] = {option.key: option.title for option in scale.options}
        row |= {titles[o.option]: ratio(o.count, o.of) for o in system.shares}
    if isinstance(system.majority, MajorityShare):
        majority = system.majority
        row["Positive by majority"] = (
            f"{percent(majority.share)} of {counted(majority.items, 'item')}, {majority.undecided} undecided"
        )
    return row


def _links(analysis: StudyAnalysis, key: str, slug: str) -> None:
    """Links from each difference to the ratings behind it."""
    with st.container(horizontal=True):
        for contrast in foremost(analysis.contrasts_of(key), MOST_LINKS):
            both = frozenset({contrast.system, contrast.baseline})
            label = f"Ratings of {analysis.name(contrast.system)} and {analysis.name(contrast.baseline)}"
            ratings_link(label, Filters(systems=both, criteria=frozenset({key})), analysis, slug)


def wins(analysis: StudyAnalysis, key: str, slug: str) -> None:
    """The win matrix of a criterion, with wins, ties and losses behind it."""
    compared = [
        (contrast, contrast.dominance)
        for contrast in analysis.contrasts_of(key)
        if isinstance(contrast.dominance, Dominance)
    ]
    if not compared:
        st.text("Not defined: no annotator rated two systems on the same item.")
        return
    best, dominance = max(compared, key=lambda pair: abs(pair[1].estimate.mean))
    sentence = (
        f"{analysis.name(best.system)} was rated higher than {analysis.name(best.baseline)} "
        f"{counted(dominance.wins, 'time')}, "
        f"lower {counted(dominance.losses, 'time')}, and {counted(dominance.ties, 'time')} the same."
    )
    st.text(sentence)
    charts.show(
        figures.wins([contrast for contrast, _ in compared], analysis.names),
        f"wins-{key}",
        f"{slug}-{key}-wins",
        sentence,
    )
    shown = (*WINS, BALANCE, RANK_BISERIAL, SIGNED_RANK)
    rows = [
        {"Systems": figures.pair_label(contrast, analysis.names), **cells(shown, contrast)} for contrast, _ in compared
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key=f"wins-table-{key}")
    st.caption(
        "P(win) − P(loss) only uses which of the two was rated higher: −1 to 1, with the interval for annotators like "
        "these if there are five or more."
    )


def means(analysis: StudyAnalysis, key: str, slug: str) -> None:
    """Each system's mean on the whole scale."""
    result = next(result for result in analysis.criteria if result.criterion.key == key)
    sentence = extremes(analysis, result)
    st.text(sentence)
    figure = charts.means(result, analysis.names)
    if figure:
        charts.show(figure, f"means-{key}", f"{slug}-{key}-means", sentence)
    st.dataframe(_systems(result, analysis.names), hide_index=True, key=f"means-table-{key}")
    st.caption(interval_note(result))


def behind(analysis: StudyAnalysis, key: str, slug: str) -> str | None:
    """Items that support or contradict a difference; returns the item that the reader selects."""
    contrasts = [contrast for contrast in analysis.contrasts_of(key) if not isinstance(contrast.difference, Undefined)]
    if not contrasts:
        st.text("Not defined: no annotator rated two systems on the same item.")
        return None
    chosen = st.selectbox(
        "Difference", contrasts, format_func=lambda c: figures.pair_label(c, analysis.names), key=f"behind-{slug}-{key}"
    )
    rows = [
        {"Item": e.item, "Mean difference": signed(e.difference, chosen.share), "Annotators": e.n}
        for e in analysis.examples(chosen)
    ]
    st.text("Items that support the difference most are first, those against it last. Pick one to read it.")
    return pick_item(pd.DataFrame(rows), f"examples-{slug}-{key}")


def both_versions(analysis: StudyAnalysis, versions: Sequence[FinalMeans], finals: Sequence[FinalValue]) -> None:
    """Means with and without final values; draws nothing without any. `finals`: with deciders' visible names."""
    if not versions:
        return
    st.subheader("As given and with final values", anchor=False)
    rows = [
        {
            "Criterion": analysis.title(means.criterion),
            "System": analysis.name(means.system),
            **cells(FINAL_VALUES, means, means.share),
        }
        for means in versions
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="both-versions")
    people = Counter(final.by for final in finals)
    who = ", ".join(f"{name} ({counted(count, 'item')})" for name, count in people.most_common())
    st.caption(plain(f"Decided by {who}. {BOTH_VERSIONS}"))
