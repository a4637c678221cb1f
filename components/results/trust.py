"""Whether the ratings can be trusted: agreement and its bands, annotators one by one, and pairs of annotators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from components.results import charts, figures
from components.results.statistics_row import cells
from components.shell.words import number, percent, signed
from triptych.results.annotators import speed_flag
from triptych.results.criterion import titles_apart
from triptych.results.study_analysis import StudyAnalysis
from triptych.results.warnings import largest_gap
from triptych.stats.analysis.annotators import AnnotatorLook, EffectsOf, PeopleOf
from triptych.stats.analysis.listing import at_places, response
from triptych.stats.analysis.statistics import (
    AGREEMENT,
    AT_PLACE,
    LENGTH,
    LOOK,
    NOMINAL_PAIR,
    ORDER_EFFECT,
    PAIR,
    POSITION_EFFECT,
    RELIABILITY,
    SPEED,
    WITHOUT,
)
from triptych.stats.coefficients import AgreementTable
from triptych.stats.correlation import Correlations
from triptych.stats.diagnostics import Speed
from triptych.stats.numbers import counted
from triptych.stats.undefined import Undefined

WHY_WIDTH = 480  # px, of a correlation with its interval
MOST_RATINGS = 30_000  # limit for looking for camps while a lead waits
CHECKS = {
    "With the others": "Correlation with the others",
    "Severity": "Severity",
    "All equal": "Equal ratings throughout",
    "Seconds": "Speed",
}


def agreement(analysis: StudyAnalysis, slug: str) -> None:
    """Every coefficient of every criterion with its interval, and a figure of alpha with its bands."""
    titles = analysis.titles
    defined = [agreement for agreement in analysis.agreement if not isinstance(agreement.alpha, Undefined)]
    sentence = _agreement_sentence(analysis)
    st.text(sentence)
    if defined:
        charts.show(figures.alphas(defined, titles), "alphas", f"{slug}-agreement", sentence)
    rows = [
        _agreement_row(titles[agreement.criterion], agreement.level, agreement.table)
        for agreement in analysis.agreement
    ]
    rows += [
        _agreement_row(f"{titles[agreement.criterion]}, missing as a category", "nominal", agreement.category)
        for agreement in analysis.agreement
        if agreement.note
    ]
    rows += [
        _agreement_row(f"{titles[key]}, without {titles_apart(result.criterion)}", agreement.level, agreement.apart)
        for key, result, agreement in zip(titles, analysis.criteria, analysis.agreement, strict=True)
        if agreement.apart is not None
    ]
    rows += [
        _agreement_row(
            f"{titles[inside.criterion]}, inside {inside.group}", inside.agreement.level, inside.agreement.table
        )
        for inside in analysis.group_agreement
    ]
    st.dataframe(pd.DataFrame(rows).fillna(""), hide_index=True, key="agreement")
    camps(analysis, slug)
    for words in dict.fromkeys(agreement.note for agreement in analysis.agreement if agreement.note):
        st.text(words)
    st.caption(
        "A unit is one response, or one item where the question is about the item. Alpha is at the level of the "
        "scale; AC1 for nominal scales, otherwise AC2 with ordinal or quadratic weights; Fleiss' kappa generalised to "
        "missing ratings. 95 % intervals leave out one item at a time and apply to these annotators. Krippendorff "
        "draws conclusions from 0.800 and tentative ones from 0.667."
    )


def _agreement_sentence(analysis: StudyAnalysis) -> str:
    alphas = {
        agreement.criterion: agreement.alpha
        for agreement in analysis.agreement
        if not isinstance(agreement.alpha, Undefined)
    }
    if not alphas:
        return "Agreement is not defined for any criterion yet; the table says why."
    low, high = min(alphas, key=alphas.__getitem__), max(alphas, key=alphas.__getitem__)
    if low == high:
        return f"Krippendorff's alpha of {analysis.title(low)} is {number(alphas[low])}."
    return (
        f"Annotators agree most on {analysis.title(high)} (alpha {number(alphas[high])}) and least on "
        f"{analysis.title(low)} ({number(alphas[low])})."
    )


def _agreement_row(title: str, level: str, table: AgreementTable | Undefined | None) -> dict[str, str]:
    row = {"Criterion": title, "Level": level}
    return row | (cells(AGREEMENT, table) if isinstance(table, AgreementTable) else {"Units": str(table)})


def annotators(looks: Sequence[AnnotatorLook], speeds: Sequence[Speed] | Undefined) -> None:
    """One row per annotator, flagged ones first."""
    if not looks:
        st.text("No annotator's ratings count here.")
        return
    flagged = [look for look in looks if look.flags]
    fast = {} if isinstance(speeds, Undefined) else {speed.annotator: speed for speed in speeds}
    hurried = [str(speed.annotator) for speed in fast.values() if speed.flagged]
    names = list(dict.fromkeys([look.annotator for look in flagged] + hurried))
    unchecked = _unchecked(looks, speeds)
    if names:
        st.text(f"Look at {', '.join(names)}.")
    elif len(unchecked) < len(CHECKS):
        st.text("No annotator stands out.")
    order = sorted(looks, key=lambda look: (look.annotator not in names, look.annotator))
    empty = [*unchecked] if names else [*unchecked, "Why to look"]
    rows = pd.DataFrame([look_row(look, fast.get(look.annotator)) for look in order]).drop(columns=empty)
    st.dataframe(rows, hide_index=True, key="looks", column_config={"Why to look": {"width": WHY_WIDTH}})
    if unchecked:
        st.text("\n".join(f"{CHECKS[column]} could not be checked. {why}" for column, why in unchecked.items()))
    st.caption(
        "Only the correlation with the others, equal ratings, drift, speed and missing answers raise a flag. Severity "
        "(own rating minus the mean of the others, % of the scale) is not misconduct. A flag is a prompt to look; it "
        "excludes nobody."
    )


def _unchecked(looks: Sequence[AnnotatorLook], speeds: Sequence[Speed] | Undefined) -> dict[str, str]:
    """Columns without any value, and why."""
    measures: dict[str, Sequence[object]] = {
        "With the others": [look.agreement for look in looks],
        "Severity": [look.severity for look in looks],
        "All equal": [look.equal for look in looks],
        "Seconds": [speeds],
    }
    return {
        column: str(values[0])
        for column, values in measures.items()
        if all(isinstance(value, Undefined) for value in values)
    }


def look_row(look: AnnotatorLook, speed: Speed | None) -> dict[str, str]:
    """What is unusual about one annotator, as a row of a table."""
    flags = [*look.flags, speed_flag(speed) if speed else ""]
    numbers = cells(LOOK, look, reasons=False) | cells(SPEED, speed)
    return {
        "Annotator": look.annotator + (" (excluded)" if look.excluded else ""),
        "Kind": look.kind,
        **numbers,
        "Why to look": " ".join(filter(None, flags)),
    }


def _people_of(analysis: StudyAnalysis, key: str) -> PeopleOf:
    return next(people for people in analysis.people if people.criterion == key)


def pairs(analysis: StudyAnalysis, key: str, slug: str) -> None:
    """How often each pair of annotators agrees."""
    people = _people_of(analysis, key)
    if isinstance(people.pairs, Undefined):
        st.text(people.pairs.reason)
        return
    low = min(people.pairs, key=lambda pair: pair.percent)
    sentence = (
        f"{low.first} and {low.second} agree least: the same rating {percent(low.percent)} of {counted(low.n, 'time')}."
    )
    st.text(sentence)
    charts.show(
        figures.pairs(people.pairs, _side_by_side(analysis, key)),
        f"pairs-{people.criterion}",
        f"{slug}-{people.criterion}-pairs",
        sentence,
    )
    statistics = NOMINAL_PAIR if analysis.ratings_of(key).variable.level == "nominal" else PAIR
    rows = [{"Annotators": f"{pair.first} and {pair.second}", **cells(statistics, pair)} for pair in people.pairs]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key=f"pairs-table-{people.criterion}")


def _side_by_side(analysis: StudyAnalysis, key: str) -> list[str]:
    """The annotators, ordered so that members of a group or camp are adjacent."""
    if analysis.groups:
        return sorted(analysis.people_names, key=lambda name: (analysis.groups.get(name, ""), name))
    if analysis.n_ratings > MOST_RATINGS:
        return []
    camps = next((hint.camps for hint in analysis.camps if hint.criterion == key), None)
    return [analysis.people_names[code] for code in (*camps.first, *camps.second)] if camps else []


def camps(analysis: StudyAnalysis, slug: str) -> None:
    """How often each pair of annotators agrees, with groups or camps adjacent."""
    criteria = (
        [hint.criterion for hint in analysis.camps if hint.criterion] if analysis.n_ratings <= MOST_RATINGS else []
    )
    apart = largest_gap(analysis) if analysis.groups else next(iter(criteria), None)
    people = _people_of(analysis, apart) if apart else None
    if people is None or isinstance(people.pairs, Undefined):
        return
    named = "the groups" if analysis.groups else "the two camps"
    sentence = f"{analysis.title(people.criterion)}: how often two annotators gave the same rating, {named} in a row."
    st.text(sentence)
    drawn = figures.pairs(people.pairs, _side_by_side(analysis, people.criterion))
    charts.show(drawn, "camps", f"{slug}-camps", sentence)


def without_each(analysis: StudyAnalysis, key: str, _slug: str) -> None:
    people = _people_of(analysis, key)
    if isinstance(people.without_each, Undefined):
        st.text(people.without_each.reason)
        return
    first = people.without_each[0]
    if not isinstance(first.change, Undefined):
        st.text(f"Without {first.annotator} alpha would be {number(first.alpha)} ({signed(first.change)}).")
    rows = [{"Annotator left out": row.annotator, **cells(WITHOUT, row)} for row in people.without_each]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key=f"without-{people.criterion}")


def reliability(analysis: StudyAnalysis, _key: str, _slug: str) -> None:
    """The reliability of the mean of several annotators, and how many are needed."""
    rows = [
        {"Criterion": analysis.title(each.criterion), **cells(RELIABILITY, each.reliability)}
        for each in analysis.people
    ]
    st.dataframe(pd.DataFrame(rows).fillna(""), hide_index=True, key="reliability")
    st.caption("ICC of one rating / of the mean of k ratings. Needed: annotators per item for a reliability of 0.8.")


def effects(analysis: StudyAnalysis, _key: str, _slug: str) -> None:
    """The effect of each position on screen, and the trend from the first to the last annotation."""
    for effect in analysis.effects:
        position = effect.position
        words = position.reason if isinstance(position, Undefined) else position.sentence
        st.text(f"{analysis.title(effect.criterion)}: {words}")
    rows = [_effect_row(analysis.title(effect.criterion), effect) for effect in analysis.effects]
    st.dataframe(pd.DataFrame(rows).fillna(""), hide_index=True, key="effects")
    st.caption(
        "Shift from the mean of all places, in points of the scale, and how often the best response was there. Places "
        "are balanced, so a shift adds noise to a comparison of systems, not bias."
    )


def _effect_row(title: str, effect: EffectsOf) -> dict[str, str]:
    row = {"Criterion": title}
    for position, there in at_places(effect).items():
        row |= {
            f"{response(position)}: {name.lower()}": words
            for name, words in cells(AT_PLACE, there, effect.share).items()
        }
    return row | cells(POSITION_EFFECT, effect.position) | cells(ORDER_EFFECT, effect.order, effect.share)


def lengths(results: Mapping[str, Correlations | Undefined], analysis: StudyAnalysis) -> None:
    """Whether longer responses are rated higher."""
    rows = [{"Criterion": analysis.title(key), **cells(LENGTH, each)} for key, each in results.items()]
    st.dataframe(pd.DataFrame(rows).fillna(""), hide_index=True, key="lengths")
    for words in dict.fromkeys(each.sentence for each in results.values() if not isinstance(each, Undefined)):
        st.caption(words)
