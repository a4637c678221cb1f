"""How results look: the header, one block per criterion, and the tables beside them."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from components import charts
from components.state import plain
from components.words import duration, moment, percent
from triptych.analysis.descriptive import MajorityShare, Shares, Summary
from triptych.analysis.intervals import Interval
from triptych.findings import CriterionResult, SystemResult, headline, interval_note, spoken
from triptych.results import LETTERS, AnnotatorProgress, Board

NONE = "–"


def header(board: Board) -> None:
    """State, what is in and what is expected, time to go."""
    view, study = board.overview, board.study
    figures = {
        "Annotations in": f"{view.done} of {view.expected}",
        "Items complete": f"{view.items_complete} of {view.items}",
        "Annotator time to go": duration(view.minutes_left),
        "State": study.state.capitalize(),
    }
    with st.container(horizontal=True, gap="medium"):
        for title, figure in figures.items():
            st.metric(title, figure, width="content")
    st.progress(min(view.done / view.expected, 1.0) if view.expected else 0.0)
    extra = [
        f"{n} {word}"
        for n, word in ((view.skipped, "skipped"), (view.ignored, "ignored"), (view.surplus, "surplus"))
        if n
    ]
    st.caption(" · ".join([f"Last annotation: {moment(view.last_at)}", *extra]))


def annotators(rows: tuple[AnnotatorProgress, ...]) -> None:
    """One line per annotator, by pseudonym."""
    if not rows:
        st.text("Nobody has joined yet.")
        return
    table = pd.DataFrame(
        {
            "Annotator": [row.pseudonym + (" (excluded)" if row.excluded else "") for row in rows],
            "Kind": [row.kind for row in rows],
            "Progress": [row.done / row.total if row.total else 0.0 for row in rows],
            "Done": [f"{row.done} of {row.total}" for row in rows],
            "Skipped": [row.skipped for row in rows],
            "Ignored": [row.ignored for row in rows],
            "Surplus": [row.surplus for row in rows],
            "Minutes per item": [
                NONE if row.minutes_per_item is None else f"{row.minutes_per_item:.1f}" for row in rows
            ],
            "Time left": [duration(row.minutes_left) for row in rows],
            "Last annotation": [moment(row.last_at) for row in rows],
        }
    )
    bar = st.column_config.ProgressColumn("Progress", format="percent", min_value=0, max_value=1)
    st.dataframe(table, hide_index=True, column_config={"Progress": bar}, key="annotators")


def criterion_block(result: CriterionResult, names: dict[int, str], slug: str) -> None:
    """The finding in a sentence, two figures, the numbers behind them."""
    criterion = result.criterion
    st.subheader(plain(criterion.title), anchor=False)
    st.text(headline(result, names))
    if result.n:
        _figures(result, names, slug)
        with st.expander("Numbers", key=f"numbers-{criterion.key}"):
            st.dataframe(_numbers(result, names), hide_index=True, key=f"table-{criterion.key}")
            st.caption(interval_note(result))


def _figures(result: CriterionResult, names: dict[int, str], slug: str) -> None:
    key, alt = result.criterion.key, headline(result, names)
    spread = charts.answers(result, names)
    has_means = any(isinstance(one.interval, Interval) for one in result.systems)
    columns = st.columns([2, 3]) if spread and has_means else [st.container()] * 2
    if has_means:
        with columns[0]:
            charts.show(charts.means(result, names), f"means-{key}", f"{slug}-{key}-means", alt)
    if spread:
        with columns[1]:
            charts.show(spread, f"answers-{key}", f"{slug}-{key}-answers", alt)


def _numbers(result: CriterionResult, names: dict[int, str]) -> pd.DataFrame:
    return pd.DataFrame([_number_row(result, one, names) for one in result.systems])


def _number_row(result: CriterionResult, one: SystemResult, names: dict[int, str]) -> dict[str, str]:
    row = {"System": names.get(one.system, "The item"), "n": str(one.n), "Missing": str(one.missing)}
    known = isinstance(one.summary, Summary)
    if known and isinstance(one.interval, Interval):
        row[f"{'Share' if result.share else 'Mean'} (95 % interval)"] = spoken(one.interval, result.share)
        if not result.share:
            row["Median"] = f"{one.summary.median:g}"
            row["SD"] = NONE if one.summary.sd is None else f"{one.summary.sd:.2f}"
    elif not isinstance(one.shares, Shares):
        row["Mean"] = str(one.summary)
    row |= {f"{point:g}": str(count) for point, count in zip(result.points, one.counts, strict=False)}
    if isinstance(one.shares, Shares):
        titles = {option.key: option.title for option in result.criterion.scale.options}
        row |= {titles[o.option]: _share(o.count, o.of, o.share) for o in one.shares.options}
    if isinstance(one.majority, MajorityShare):
        found = one.majority
        row["Positive by majority"] = f"{percent(found.share)} of {found.items} items, {found.undecided} undecided"
    return row


def _share(count: int, of: int, share: float | None) -> str:
    return f"{count} of {of}" + ("" if share is None else f" ({percent(share)})")


def agreement(results: tuple[CriterionResult, ...]) -> None:
    """Percent agreement and Krippendorff's alpha at each scale's own level."""
    rows = [
        {
            "Criterion": result.criterion.title,
            "Level": result.agreement.level,
            "Units rated twice or more": str(result.agreement.units),
            "Percent agreement": found if isinstance(found := result.agreement.percent, str) else percent(found),
            "Krippendorff's alpha": found if isinstance(found := result.agreement.alpha, str) else f"{found:.2f}",
            "95 % interval": _limits(result.agreement.interval),
        }
        for result in results
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="agreement")
    st.caption(
        "A unit is one response, or one item where the question is about the item. The interval draws units anew and "
        "speaks for these annotators."
    )


def _limits(found: tuple[float, float] | str) -> str:
    return found if isinstance(found, str) else f"{found[0]:.2f} to {found[1]:.2f}"


def positions(results: tuple[CriterionResult, ...]) -> None:
    """How far answers at each place stand above or below what the same system gets on average."""
    rows = [_position_row(result) for result in results]
    st.dataframe(pd.DataFrame(rows).fillna(""), hide_index=True, key="positions")
    st.caption(
        "Difference from the system's own mean at each place on screen, with the number of ratings. 0 is no effect."
    )


def _position_row(result: CriterionResult) -> dict[str, str]:
    row = {"Criterion": result.criterion.title}
    if isinstance(result.positions, str):
        return {**row, "Note": result.positions}
    return row | {f"Response {LETTERS[p.position]}": _signed(p.mean, result.share, p.n) for p in result.positions}


def _signed(mean: float, share: bool, n: int) -> str:
    rounded = round(100 * mean) if share else round(mean, 2)
    number = f"{rounded:+} points" if share else f"{rounded + 0.0:+.2f}"
    return f"{number} (n {n})"


def reasons(results: tuple[CriterionResult, ...], names: dict[int, str]) -> None:
    """Reasons by the tag that annotators do not see."""
    rows = [
        {
            "Criterion": result.criterion.title,
            "Tag": reason.tag,
            "Total": reason.total,
            **{names.get(one.system, "The item"): reason.systems.get(one.system, 0) for one in result.systems},
            "What annotators ticked": " / ".join(reason.texts),
        }
        for result in results
        for reason in result.reasons
    ]
    if rows:
        st.dataframe(pd.DataFrame(rows), hide_index=True, key="reasons")
    else:
        st.text("No reason has been ticked yet.")
    written = sum(result.free_texts for result in results)
    st.caption(f"Explanations in an annotator's own words: {written}. They stand in the list of all ratings.")
