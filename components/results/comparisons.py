"""Which system is better: per criterion the verdict, the differences with both intervals, and what was answered."""

from __future__ import annotations

from collections.abc import Sequence

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
from triptych.results.warnings import verdict
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


def criterion_block(one: StudyAnalysis, result: CriterionResult, slug: str) -> None:
    """The verdict in a sentence, one figure of differences and one of answers, agreement, the numbers behind them."""
    key = result.criterion.key
    st.subheader(plain(result.criterion.title), anchor=False)
    said = verdict(one, key) if result.n and one.contrasts_of(key) else headline(result, one.names)
    st.text(said)
    if not result.n:
        return
    _figures(one, result, slug, said)
    pairs = len(one.contrasts_of(key))
    cut = f"{MOST_ROWS} of {pairs} differences are drawn, the clearest first; all stand under Numbers. "
    st.caption(plain((cut if pairs > MOST_ROWS else "") + agreement_sentence(result)))
    with (box := st.expander("Numbers", key=f"numbers-{key}", on_change="rerun")):
        if box.open:
            _numbers_behind(one, result)
            _links(one, key, slug)


def _figures(one: StudyAnalysis, result: CriterionResult, slug: str, said: str) -> None:
    """Differences where systems can be compared, otherwise means; beside them the answers."""
    key = result.criterion.key
    left = charts.kept(one, f"difference-{key}", lambda: _differences(one, result))
    spread = charts.kept(one, f"answers-{key}", lambda: _levels(one, result))
    columns = st.columns([2, 3]) if left and spread else [st.container()] * 2
    if left:
        with columns[0]:
            charts.show(left, f"difference-{key}", f"{slug}-{key}-differences", said)
    if spread:
        with columns[1]:
            charts.show(spread, f"answers-{key}", f"{slug}-{key}-answers", headline(result, one.names))


def _differences(one: StudyAnalysis, result: CriterionResult) -> go.Figure | None:
    known = foremost(one.contrasts_of(result.criterion.key), MOST_ROWS)
    if known:
        return figures.forest(known, one.names, result.widest)
    return charts.means(result, one.names)


def _levels(one: StudyAnalysis, result: CriterionResult) -> go.Figure | None:
    """Where the systems stand: the answers, or their means on a scale too fine for bars."""
    answers = charts.answers(result, one.names)
    return answers or (charts.means(result, one.names) if one.contrasts_of(result.criterion.key) else None)


def agreement_sentence(result: CriterionResult) -> str:
    """Percent and alpha with its interval, or why there is none; on a fine scale few ratings are ever the same."""
    found = result.agreement
    if isinstance(found.table, Undefined):
        return f"Agreement: {found.table}"
    fine = not result.points and not isinstance(result.criterion.scale, Choice)
    same = "" if fine else f"two annotators give the same rating {percent(found.percent)} of the time; "
    if isinstance(found.alpha, Undefined):
        return f"Agreement: {same}{found.alpha}"
    interval = "" if isinstance(found.interval, Undefined) else f" ({limits(*found.interval)})"
    parts = (f"Agreement: {same}Krippendorff's alpha {number(found.alpha)}{interval}.", found.band, found.note)
    return " ".join(part for part in parts if part)


def _numbers_behind(one: StudyAnalysis, result: CriterionResult) -> None:
    key = result.criterion.key
    mine = one.contrasts_of(key)
    if mine:
        st.dataframe(contrast_table(mine, one), hide_index=True, key=f"contrasts-{key}")
        st.caption(plain(f"{whom_for(mine)} {one.family} {HOCHBERG}"))
    st.dataframe(_systems(result, one.names), hide_index=True, key=f"table-{key}")
    st.caption(interval_note(result))


def whom_for(contrasts: Sequence[Contrast]) -> str:
    """Whom the intervals of differences speak for: each sentence once."""
    known = [one.difference for one in contrasts if not isinstance(one.difference, Undefined)]
    said = dict.fromkeys(sentence for one in known for sentence in (one.these.sentence, one.alike.sentence))
    return " ".join(said)


def contrast_table(contrasts: Sequence[Contrast], one: StudyAnalysis) -> pd.DataFrame:
    return pd.DataFrame([_contrast_row(contrast, one) for contrast in contrasts])


def _contrast_row(contrast: Contrast, one: StudyAnalysis) -> dict[str, str]:
    row = {"Difference": f"{one.name(contrast.system)} − {one.name(contrast.baseline)}"}
    found = contrast.difference
    if isinstance(found, Undefined):
        return row | {"Mean": found.reason}
    row |= {
        "Mean": signed(found.mean, contrast.share),
        "These annotators": _interval(found.these, contrast.share),
        "Annotators like these": _interval(found.alike, contrast.share),
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
    return NONE if interval.low is None else signed_limits(interval.low, interval.high, share)


def _systems(result: CriterionResult, names: dict[int, str]) -> pd.DataFrame:
    return pd.DataFrame([_system_row(result, system, names) for system in result.systems]).fillna("")


def _system_row(result: CriterionResult, one: SystemResult, names: dict[int, str]) -> dict[str, str]:
    row = {"System": names.get(one.system, "The item"), "n": str(one.n), "Missing": str(one.missing)}
    known = isinstance(one.summary, Summary)
    if known and isinstance(one.interval, Interval):
        row[f"{'Share' if result.share else 'Mean'} (95 % interval)"] = spoken(one.interval, result.share)
        row |= {
            column.title: with_limits(column, one) for column in SYSTEM if column.name in OF_POINTS and not result.share
        }
    elif not isinstance(one.shares, Shares):
        row["Mean"] = str(one.summary)
    row |= {column.title: with_limits(column, one) for column in SYSTEM if column.limits}
    row |= {f"{point:g}": str(count) for point, count in zip(result.points, one.counts, strict=False)}
    if isinstance(one.shares, Shares):
        titles = {option.key: option.title for option in result.criterion.scale.options}
        row |= {titles[o.option]: ratio(o.count, o.of) for o in one.shares.options}
    if isinstance(one.majority, MajorityShare):
        found = one.majority
        row["Positive by majority"] = f"{percent(found.share)} of {found.items} items, {found.undecided} undecided"
    return row


def with_limits(column: Statistic, one: SystemResult) -> str:
    """A statistic of a system as a report prints it, with its interval if it has one."""
    value = written_or_reason(column.of(one), column.style)
    interval = column.limits(one) if column.limits else None
    if interval is None or isinstance(interval, Undefined):
        return value
    return f"{value} ({' to '.join(written(end, column.style) for end in interval)})"


def _links(one: StudyAnalysis, key: str, slug: str) -> None:
    """From each difference to the ratings behind it."""
    with st.container(horizontal=True):
        for contrast in foremost(one.contrasts_of(key), MOST_LINKS):
            both = frozenset({contrast.system, contrast.baseline})
            label = f"Ratings of {one.name(contrast.system)} and {one.name(contrast.baseline)}"
            ratings_link(label, Filters(systems=both, criteria=frozenset({key})), one, slug)


def wins(one: StudyAnalysis, key: str, slug: str) -> None:
    """The win matrix of a criterion, with wins, ties and losses behind it."""
    mine = [contrast for contrast in one.contrasts_of(key) if isinstance(contrast.dominance, Dominance)]
    if not mine:
        st.text("Not defined: no annotator rated two systems on the same item.")
        return
    best = max(mine, key=lambda contrast: abs(contrast.dominance.estimate.mean))
    found = best.dominance
    said = (
        f"{one.name(best.system)} was rated higher than {one.name(best.baseline)} {counted(found.wins, 'time')}, "
        f"lower {counted(found.losses, 'time')}, and {counted(found.ties, 'time')} the same."
    )
    st.text(said)
    charts.show(figures.wins(mine, one.names), f"wins-{key}", f"{slug}-{key}-wins", said)
    rows = [_win_row(contrast, one) for contrast in mine]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key=f"wins-table-{key}")
    st.caption(
        "P(win) − P(loss) uses only which of the two was rated higher: −1 to 1, with the interval for annotators "
        "like these where there are five or more."
    )


def _win_row(contrast: Contrast, one: StudyAnalysis) -> dict[str, str]:
    found, rank = contrast.dominance, contrast.signed_rank
    row = {
        "Pair": f"{one.name(contrast.system)} − {one.name(contrast.baseline)}",
        "Wins": str(found.wins),
        "Ties": str(found.ties),
        "Losses": str(found.losses),
        "P(win) − P(loss)": spoken(within((-1, 1), found.estimate.headline), False),
    }
    if isinstance(rank, SignedRank):
        return row | {"Wilcoxon p (these annotators)": p_value(rank.p), "Rank-biserial": number(rank.effect)}
    return row | {"Wilcoxon p (these annotators)": rank, "Rank-biserial": NONE}


def means(one: StudyAnalysis, result: CriterionResult, slug: str) -> None:
    """Each system's own mean on the whole scale."""
    said = headline(result, one.names)
    st.text(said)
    figure = charts.means(result, one.names)
    if figure:
        charts.show(figure, f"means-{result.criterion.key}", f"{slug}-{result.criterion.key}-means", said)
    st.dataframe(_systems(result, one.names), hide_index=True, key=f"means-table-{result.criterion.key}")
    st.caption(interval_note(result))


def behind(one: StudyAnalysis, key: str, slug: str) -> str | None:
    """Items that speak for and against a difference; returns the item that the reader picks."""
    mine = [contrast for contrast in one.contrasts_of(key) if not isinstance(contrast.difference, Undefined)]
    if not mine:
        st.text("Not defined: no annotator rated two systems on the same item.")
        return None
    chosen = st.selectbox(
        "Difference", mine, format_func=lambda c: figures.pair_label(c, one.names), key=f"behind-{slug}-{key}"
    )
    rows = [
        {"Item": e.item, "Mean difference": signed(e.difference, chosen.share), "Annotators": e.n}
        for e in one.examples(chosen)
    ]
    st.text("Items that speak most for the difference stand first, those against it last. Pick one to read it.")
    return pick_item(pd.DataFrame(rows), f"examples-{slug}-{key}")
