"""Can the ratings be trusted: agreement against the usual bands, then annotators one by one and two by two."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from components.results import charts, figures
from components.shell.words import NONE, limits, number, p_value, percent, signed, signed_limits
from triptych.results.annotators import speed_flag
from triptych.results.criterion import titles_apart
from triptych.results.study_analysis import StudyAnalysis
from triptych.rubric.answers import LETTERS
from triptych.stats.analysis.annotators import AnnotatorLook, EffectsOf, PeopleOf
from triptych.stats.analysis.study import LengthOf
from triptych.stats.coefficients import AgreementTable, Coefficient
from triptych.stats.diagnostics import AnnotatorAgreement, FlaggedRate, Severity, Speed, StraightLining
from triptych.stats.effects import OrderEffect, PositionEffect
from triptych.stats.icc import Intraclass, Reliability
from triptych.stats.numbers import counted
from triptych.stats.undefined import Undefined

COLUMNS = {
    "percent": "Percent agreement",
    "alpha": "Krippendorff's alpha",
    "alpha_interval": "Alpha, interval level",
    "ac": "Gwet's AC1 / AC2",
    "fleiss": "Fleiss' kappa",
}
CHECKS = {
    "With the others": "Correlation with the others",
    "Severity": "Severity",
    "All equal": "Equal ratings throughout",
    "Seconds": "Speed",
}


def agreement(analysis: StudyAnalysis, slug: str) -> None:
    """Every coefficient of every criterion with its interval; alpha drawn against its bands."""
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
    st.dataframe(pd.DataFrame(rows).fillna(""), hide_index=True, key="agreement")
    for words in dict.fromkeys(agreement.note for agreement in analysis.agreement if agreement.note):
        st.text(words)
    st.caption(
        "A unit is one response, or one item where the question is about the item. Alpha is at the level of the "
        "scale; AC1 for nominal scales, otherwise AC2 with ordinal or quadratic weights; Fleiss' kappa generalised to "
        "missing ratings. 95 % intervals resample units and speak for these annotators. Krippendorff draws "
        "conclusions from 0.800 on and tentative ones from 0.667 on."
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
    if not isinstance(table, AgreementTable):
        return row | {"Percent agreement": str(table)}
    row["Units"] = str(table.units)
    return row | {COLUMNS[coefficient.key]: _with_ends(coefficient) for coefficient in table.coefficients}


def _with_ends(coefficient: Coefficient) -> str:
    """A coefficient with its interval, percent agreement in percent."""
    if isinstance(coefficient.value, Undefined):
        return coefficient.value.reason
    show = percent if coefficient.key == "percent" else number
    ends = (
        ""
        if isinstance(coefficient.interval, Undefined)
        else f" ({' to '.join(show(end) for end in coefficient.interval)})"
    )
    return f"{show(coefficient.value)}{ends}"


def annotators(looks: Sequence[AnnotatorLook], speeds: Sequence[Speed] | Undefined) -> None:
    """A line per annotator; the flagged ones first."""
    if not looks:
        st.text("No annotator's ratings count here.")
        return
    flagged = [look for look in looks if look.flags]
    fast = {} if isinstance(speeds, Undefined) else {speed.annotator: speed for speed in speeds}
    hurried = [str(speed.annotator) for speed in fast.values() if speed.flagged]
    names = list(dict.fromkeys([look.annotator for look in flagged] + hurried))
    unchecked = _unchecked(looks, speeds)
    if names:
        st.text(f"{', '.join(names)}: have a look.")
    elif len(unchecked) < len(CHECKS):
        st.text("No annotator stands out.")
    order = sorted(looks, key=lambda look: (look.annotator not in names, look.annotator))
    rows = pd.DataFrame([look_row(look, fast.get(look.annotator)) for look in order]).drop(columns=[*unchecked])
    st.dataframe(rows, hide_index=True, key="looks", column_config={"Why to look": {"width": "large"}})
    if unchecked:
        st.text("\n".join(f"{CHECKS[column]} could not be checked. {why}" for column, why in unchecked.items()))
    st.caption(
        "Only the correlation with the others, equal ratings, drift, speed and missing answers raise a flag. Severity "
        "(own rating minus the mean of the others, % of the scale) is not misconduct. A flag asks you to look; nobody "
        "is left out by it."
    )


def _unchecked(looks: Sequence[AnnotatorLook], speeds: Sequence[Speed] | Undefined) -> dict[str, str]:
    """Columns that have nothing to say about anybody, with the reason."""
    measures: dict[str, Sequence[object]] = {
        "With the others": [look.agreement for look in looks],
        "Severity": [look.severity for look in looks],
        "All equal": [look.equal for look in looks],
        "Seconds": [speeds],
    }
    reasons = {
        column: [value.reason for value in values if isinstance(value, Undefined)]
        for column, values in measures.items()
    }
    return {
        column: undefined[0]
        for column, undefined in reasons.items()
        if undefined and len(undefined) == len(measures[column])
    }


def look_row(look: AnnotatorLook, speed: Speed | None) -> dict[str, str]:
    """What stands out about one annotator, as a row of a table."""
    flags = [*look.flags, speed_flag(speed) if speed else ""]
    return {
        "Annotator": look.annotator + (" (excluded)" if look.excluded else ""),
        "Kind": look.kind,
        "Annotations": str(look.annotations),
        "With the others": _correlation(look.agreement),
        "Severity": f"{100 * look.severity.difference:+.0f} %" if isinstance(look.severity, Severity) else NONE,
        "All equal": percent(look.equal.share) if isinstance(look.equal, StraightLining) else NONE,
        "Missing": percent(look.missing.rate.share) if isinstance(look.missing, FlaggedRate) else NONE,
        "Seconds": f"{speed.median:.0f}" if speed else NONE,
        "Why to look": " ".join(filter(None, flags)),
    }


def _correlation(correlation: AnnotatorAgreement | Undefined) -> str:
    if isinstance(correlation, Undefined) or correlation.low is None or correlation.high is None:
        return NONE
    return f"{number(correlation.value)} ({limits(correlation.low, correlation.high)})"


def _people_of(analysis: StudyAnalysis, key: str) -> PeopleOf:
    return next(people for people in analysis.people if people.criterion == key)


def pairs(analysis: StudyAnalysis, key: str, slug: str) -> None:
    """How often each two annotators agree."""
    people = _people_of(analysis, key)
    if isinstance(people.pairs, Undefined):
        st.text(people.pairs.reason)
        return
    low = min(people.pairs, key=lambda pair: pair.percent)
    sentence = (
        f"{low.first} and {low.second} agree least: the same rating {percent(low.percent)} of {counted(low.n, 'time')}."
    )
    st.text(sentence)
    charts.show(figures.pairs(people.pairs), f"pairs-{key}", f"{slug}-{key}-pairs", sentence)
    rows = [
        {
            "Annotators": f"{pair.first} and {pair.second}",
            "Both rated": pair.n,
            "Same": percent(pair.percent),
            "Cohen's kappa": number(pair.kappa),
            "Correlation": number(pair.pearson),
            "Mean distance": number(pair.mae),
        }
        for pair in people.pairs
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key=f"pairs-table-{key}")


def without_each(analysis: StudyAnalysis, key: str, _slug: str) -> None:
    people = _people_of(analysis, key)
    if isinstance(people.without_each, Undefined):
        st.text(people.without_each.reason)
        return
    first = people.without_each[0]
    if not isinstance(first.change, Undefined):
        st.text(f"Without {first.annotator} alpha would be {number(first.alpha)} ({signed(first.change)}).")
    rows = [
        {
            "Without": row.annotator,
            "Alpha": number(row.alpha),
            "Change": str(row.change) if isinstance(row.change, Undefined) else signed(row.change),
            "Units": row.units,
        }
        for row in people.without_each
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key=f"without-{key}")


def reliability(analysis: StudyAnalysis, _key: str, _slug: str) -> None:
    """What the mean of several annotators is worth, and how many are needed."""
    rows = [_reliability_row(analysis.title(person.criterion), person.reliability) for person in analysis.people]
    st.dataframe(pd.DataFrame(rows).fillna(""), hide_index=True, key="reliability")
    st.caption("Single: one rating. Mean: the mean of k ratings. Needed: annotators per item for a reliability of 0.8.")


def _reliability_row(title: str, reliability: Reliability | Undefined) -> dict[str, str]:
    if isinstance(reliability, Undefined):
        return {"Criterion": title, "ICC(1), single": reliability.reason}
    row = {"Criterion": title, "k": number(reliability.k)}
    forms = {"ICC(1)": reliability.one_way, "ICC(A)": reliability.absolute, "ICC(C)": reliability.consistency}
    for name, form in forms.items():
        row[f"{name}, single"] = number(form.single) if isinstance(form, Intraclass) else NONE
        row[f"{name}, mean"] = number(form.mean) if isinstance(form, Intraclass) else NONE
    row["Needed"] = (
        str(reliability.one_way.needed) if isinstance(reliability.one_way, Intraclass) else str(reliability.one_way)
    )
    return row


def effects(analysis: StudyAnalysis, _key: str, _slug: str) -> None:
    """Shift at each place on screen, and change from the first to the last annotation."""
    for effect in analysis.effects:
        position = effect.position
        words = position.reason if isinstance(position, Undefined) else position.sentence
        st.text(f"{analysis.title(effect.criterion)}: {words}")
    rows = [_effect_row(analysis.title(effect.criterion), effect) for effect in analysis.effects]
    st.dataframe(pd.DataFrame(rows).fillna(""), hide_index=True, key="effects")
    st.caption(
        "Shift from the mean of all places, in scale points, and how often the best response was there. Places are "
        "balanced, so a shift adds noise to a comparison of systems, not bias."
    )


def _effect_row(title: str, effect: EffectsOf) -> dict[str, str]:
    row = {"Criterion": title}
    if isinstance(effect.position, PositionEffect):
        row |= {f"Response {LETTERS[s.position]}": _shift(s.interval) for s in effect.position.shifts}
        row["p"] = p_value(effect.position.p)
    if not isinstance(effect.best, Undefined):
        row |= {f"Best at {LETTERS[best.position]}": percent(best.rate.share) for best in effect.best}
    order = effect.order
    row["First to last"] = _shift(order.change.headline) if isinstance(order, OrderEffect) else order.reason
    return row


def _shift(interval) -> str:
    ends = "" if interval.low is None else f" ({signed_limits(interval.low, interval.high)})"
    return f"{signed(interval.mean)}{ends}"


def lengths(results: Sequence[LengthOf], analysis: StudyAnalysis) -> None:
    """Whether longer responses are rated higher."""
    rows = [_length_row(analysis.title(length.criterion), length) for length in results]
    st.dataframe(pd.DataFrame(rows).fillna(""), hide_index=True, key="lengths")
    for words in dict.fromkeys(x.correlations.sentence for x in results if not isinstance(x.correlations, Undefined)):
        st.caption(words)


def _length_row(title: str, length: LengthOf) -> dict[str, str]:
    correlations = length.correlations
    if isinstance(correlations, Undefined):
        return {"Criterion": title, "Kendall's tau-b": correlations.reason}
    parts = {"Kendall's tau-b": correlations.kendall, "Pearson's r": correlations.pearson}
    row = {"Criterion": title}
    for name, part in parts.items():
        ends = "" if isinstance(part.interval, Undefined) else f" ({signed_limits(*part.interval)})"
        row[name] = f"{signed(part.value)}{ends}"
    return row | {"Pairs of responses": str(correlations.pairs)}
