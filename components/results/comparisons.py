"""Which system is better: per criterion the verdict, the differences with both intervals, and what was answered."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from components.results import charts, figures
from components.results.findings import ratings_link
from components.results.marked import pick_item
from components.shell.state import plain
from components.shell.words import NONE, limits, number, p_value, percent, ratio, signed, signed_limits
from triptych.results.contrasts import HOCHBERG, foremost
from triptych.results.criterion import CriterionResult, headline, interval_note, spoken
from triptych.results.frame.table import Filters
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.verdicts import verdict
from triptych.rubric.scales import Choice
from triptych.stats.analysis.contrasts import Contrast
from triptych.stats.analysis.statistics import OF_POINTS, SYSTEM, Statistic
from triptych.stats.analysis.systems import SystemResult, within
from triptych.stats.comparison import Dominance, SignedRank
from triptych.stats.descriptive import MajorityShare, Shares, Summary
from triptych.stats.intervals import Interval
from triptych.stats.numbers import counted, written, written_or_reason
from triptych.stats.undefined import Undefined

MOST_ROWS, MOST_LINKS = 12, 6


def criterion_block(analysis: StudyAnalysis, result: CriterionResult, slug: str) -> None:
    """The verdict in a sentence, one figure of differences and one of answers, agreement, the numbers behind them."""
    key = result.criterion.key
    st.subheader(plain(result.criterion.title), anchor=False)
    sentence = verdict(analysis, key) if result.n and analysis.contrasts_of(key) else headline(result, analysis.names)
    st.text(sentence)
    if not result.n:
        return
    _figures(analysis, result, slug, sentence)
    pairs = len(analysis.contrasts_of(key))
    cut = f"{MOST_ROWS} of {pairs} differences are drawn, the clearest first; all are under Numbers. "
    st.caption(plain((cut if pairs > MOST_ROWS else "") + agreement_sentence(result)))
    with (box := st.expander("Numbers", key=f"numbers-{key}", on_change="rerun")):
        if box.open:
            _numbers_behind(analysis, result)
            _links(analysis, key, slug)


def _figures(analysis: StudyAnalysis, result: CriterionResult, slug: str, sentence: str) -> None:
    """Differences where systems can be compared, otherwise means; next to them the answers."""
    key = result.criterion.key
    left = charts.drawn_once(analysis, f"difference-{key}", lambda: _differences(analysis, result))
    spread = charts.drawn_once(analysis, f"answers-{key}", lambda: _levels(analysis, result))
    columns = st.columns([2, 3]) if left and spread else [st.container()] * 2
    if left:
        with columns[0]:
            charts.show(left, f"difference-{key}", f"{slug}-{key}-differences", sentence)
    if spread:
        with columns[1]:
            charts.show(spread, f"answers-{key}", f"{slug}-{key}-answers", headline(result, analysis.names))


def _differences(analysis: StudyAnalysis, result: CriterionResult) -> go.Figure | None:
    contrasts = foremost(analysis.contrasts_of(result.criterion.key), MOST_ROWS)
    if contrasts:
        return figures.forest(contrasts, analysis.names, result.widest)
    return charts.means(result, analysis.names)


def _levels(analysis: StudyAnalysis, result: CriterionResult) -> go.Figure | None:
    """The level of each system: the answers, or their means on a scale too fine for bars."""
    answers = charts.answers(result, analysis.names)
    return answers or (charts.means(result, analysis.names) if analysis.contrasts_of(result.criterion.key) else None)


def agreement_sentence(result: CriterionResult) -> str:
    """Percent and alpha with its interval, or why there is none; on a fine scale few ratings are ever the same."""
    agreement = result.agreement
    if isinstance(agreement.table, Undefined):
        return f"Agreement: {agreement.table}"
    fine = not result.points and not isinstance(result.criterion.scale, Choice)
    same = ""
    if not fine and not isinstance(agreement.percent, Undefined):
        same = f"two annotators give the same rating {percent(agreement.percent)} of the time; "
    if isinstance(agreement.alpha, Undefined):
        return f"Agreement: {same}{agreement.alpha}"
    interval = "" if isinstance(agreement.interval, Undefined) else f" ({limits(*agreement.interval)})"
    parts = (
        f"Agreement: {same}Krippendorff's alpha {number(agreement.alpha)}{interval}.",
        agreement.band,
        agreement.note,
    )
    return " ".join(part for part in parts if part)


def _numbers_behind(analysis: StudyAnalysis, result: CriterionResult) -> None:
    key = result.criterion.key
    contrasts = analysis.contrasts_of(key)
    if contrasts:
        st.dataframe(contrast_table(contrasts, analysis), hide_index=True, key=f"contrasts-{key}")
        st.caption(plain(f"{whom_for(contrasts)} {analysis.family} {HOCHBERG}"))
    st.dataframe(_systems(result, analysis.names), hide_index=True, key=f"table-{key}")
    st.caption(interval_note(result))


def whom_for(contrasts: Sequence[Contrast]) -> str:
    """Which annotators the intervals of differences speak for: each sentence once."""
    differences = [contrast.difference for contrast in contrasts if not isinstance(contrast.difference, Undefined)]
    sentences = dict.fromkeys(
        sentence for difference in differences for sentence in (difference.these.sentence, difference.alike.sentence)
    )
    return " ".join(sentences)


def contrast_table(contrasts: Sequence[Contrast], analysis: StudyAnalysis) -> pd.DataFrame:
    return pd.DataFrame([_contrast_row(contrast, analysis) for contrast in contrasts])


def _contrast_row(contrast: Contrast, analysis: StudyAnalysis) -> dict[str, str]:
    row = {"Difference": f"{analysis.name(contrast.system)} − {analysis.name(contrast.baseline)}"}
    difference = contrast.difference
    if isinstance(difference, Undefined):
        return row | {"Mean": difference.reason}
    row |= {
        "Mean": signed(difference.mean, contrast.share),
        "These annotators": _interval(difference.these, contrast.share),
        "Annotators like these": _interval(difference.alike, contrast.share),
        "p": p_value(contrast.p),
        "p (Holm)": p_value(contrast.holm),
        "p (BH)": p_value(contrast.benjamini_hochberg),
    }
    if isinstance(contrast.dominance, Dominance):
        row["Wins / ties / losses"] = (
            f"{contrast.dominance.wins} / {contrast.dominance.ties} / {contrast.dominance.losses}"
        )
    return row


def _interval(interval: Interval, share: bool) -> str:
    if interval.low is None or interval.high is None:
        return NONE
    return signed_limits(interval.low, interval.high, share)


def _systems(result: CriterionResult, names: dict[int, str]) -> pd.DataFrame:
    return pd.DataFrame([_system_row(result, system, names) for system in result.systems]).fillna("")


def _system_row(result: CriterionResult, system: SystemResult, names: dict[int, str]) -> dict[str, str]:
    row = {"System": names.get(system.system, "The item"), "n": str(system.n), "Missing": str(system.missing)}
    has_summary = isinstance(system.summary, Summary)
    if has_summary and isinstance(system.interval, Interval):
        row[f"{'Share' if result.share else 'Mean'} (95 % interval)"] = spoken(system.interval, result.share)
        row |= {
            column.title: with_limits(column, system)
            for column in SYSTEM
            if column.name in OF_POINTS and not result.share
        }
    elif not isinstance(system.shares, Shares):
        row["Mean"] = str(system.summary)
    row |= {column.title: with_limits(column, system) for column in SYSTEM if column.limits}
    row |= {f"{point:g}": str(count) for point, count in zip(result.points, system.counts, strict=False)}
    scale = result.criterion.scale
    if isinstance(system.shares, Shares) and isinstance(scale, Choice):
        titles: dict[Hashable, str] = {option.key: option.title for option in scale.options}
        row |= {titles[o.option]: ratio(o.count, o.of) for o in system.shares.options}
    if isinstance(system.majority, MajorityShare):
        majority = system.majority
        row["Positive by majority"] = (
            f"{percent(majority.share)} of {majority.items} items, {majority.undecided} undecided"
        )
    return row


def with_limits(column: Statistic, system: SystemResult) -> str:
    """A statistic of a system as a report prints it, with its interval if it has one."""
    value = written_or_reason(column.of(system), column.style)
    interval = column.limits(system) if column.limits else None
    if interval is None or isinstance(interval, Undefined):
        return value
    return f"{value} ({' to '.join(written(end, column.style) for end in interval)})"


def _links(analysis: StudyAnalysis, key: str, slug: str) -> None:
    """From each difference to the ratings behind it."""
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
    rows = [_win_row(contrast, dominance, analysis) for contrast, dominance in compared]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key=f"wins-table-{key}")
    st.caption(
        "P(win) − P(loss) uses only which of the two was rated higher: −1 to 1, with the interval for annotators "
        "like these where there are five or more."
    )


def _win_row(contrast: Contrast, dominance: Dominance, analysis: StudyAnalysis) -> dict[str, str]:
    rank, interval = contrast.signed_rank, within((-1, 1), dominance.estimate.headline)
    row = {
        "Pair": f"{analysis.name(contrast.system)} − {analysis.name(contrast.baseline)}",
        "Wins": str(dominance.wins),
        "Ties": str(dominance.ties),
        "Losses": str(dominance.losses),
        "P(win) − P(loss)": interval.reason if isinstance(interval, Undefined) else spoken(interval, False),
    }
    if isinstance(rank, SignedRank):
        return row | {"Wilcoxon p (these annotators)": p_value(rank.p), "Rank-biserial": number(rank.effect)}
    return row | {"Wilcoxon p (these annotators)": rank.reason, "Rank-biserial": NONE}


def means(analysis: StudyAnalysis, key: str, slug: str) -> None:
    """Each system's own mean on the whole scale."""
    result = next(result for result in analysis.criteria if result.criterion.key == key)
    sentence = headline(result, analysis.names)
    st.text(sentence)
    figure = charts.means(result, analysis.names)
    if figure:
        charts.show(figure, f"means-{key}", f"{slug}-{key}-means", sentence)
    st.dataframe(_systems(result, analysis.names), hide_index=True, key=f"means-table-{key}")
    st.caption(interval_note(result))


def behind(analysis: StudyAnalysis, key: str, slug: str) -> str | None:
    """Items that support and contradict a difference; returns the item that the reader picks."""
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
    st.text("Items that support the difference most come first, those against it last. Pick one to read it.")
    return pick_item(pd.DataFrame(rows), f"examples-{slug}-{key}")
