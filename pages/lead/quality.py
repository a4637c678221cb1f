"""How the annotators of one study work, who is excluded and what that changes, and what the work pays."""

from collections.abc import Callable, Iterable

import streamlit as st

from components.people import pay_meter
from components.results import annotators
from components.results.first_screen.looks import log_look
from components.shell import live, state
from components.shell.empty_state import no_rating_yet
from components.shell.study_choice import chosen_study
from triptych.annotate import exclusions
from triptych.results import pay
from triptych.results.annotators import with_self
from triptych.results.frame.counted import kinds_by_default
from triptych.results.frame.model import Counted, Frame
from triptych.results.frame.upkeep import frame_of, twice_rated
from triptych.results.quality import Line, lines_of
from triptych.results.study_analysis import StudyAnalysis, analyse
from triptych.results.warnings import missing_answers
from triptych.stats.undefined import Undefined
from triptych.storage.models import Round, Study
from triptych.study import lifecycle
from triptych.study.persons import Who
from triptych.study.settings import settings_of
from triptych.study.system_names import system_names


def exclusions_of(lines: list[Line], analysis: StudyAnalysis, who: Who) -> None:
    """Excluded annotators, forms to exclude and reinstate, and what the exclusions change."""
    st.header("Exclusions", anchor=False)
    annotators.excluded(lines)
    out = [line.standing.annotator for line in lines if line.standing.excluded_at]
    counted = [line.standing.annotator for line in lines if not line.standing.excluded_at]
    with st.expander("Exclude or reinstate an annotator"):
        st.caption(
            "Excluding deletes nothing: the ratings are kept and marked, and every result can be shown with them."
        )
        left, right = st.columns(2)
        with left:
            taken_out = annotators.decision("Annotator", counted, "Exclude", state.numbered(f"exclude-{slug}"))
            decide(exclusions.exclude, taken_out, who, "is excluded")
        with right:
            taken_in = annotators.decision("Excluded annotator", out, "Reinstate", state.numbered(f"reinstate-{slug}"))
            decide(exclusions.reinstate, taken_in, who, "counts again")
    if out:
        log_look(study, analysis.frame, who.pseudonym)
        annotators.both_ways(analysis)


def decide(command: Callable[..., None], decision: tuple[str, str] | None, who: Who, now: str) -> None:
    if decision is not None:
        state.run_command(command, study, *decision, who.pseudonym, done=f"{decision[0]} {now}.")
        state.renew(f"{command.__name__}-{slug}")
        st.rerun()


def pay_of(frame: Frame, studies: Iterable[Study]) -> None:
    """Pay per hour: measured in this study, otherwise in its pilot, otherwise from a guess."""
    st.header("Pay", anchor=False)
    settings = settings_of(study).pay
    if settings.per_item is None:
        st.text("No pay per item is set. Once it is, this shows the resulting pay per hour.")
        return
    pilot = next((s for s in studies if s.series == study.series and s.round == Round.pilot and s.id != study.id), None)
    meter, whose = pay.meter_of(settings, frame, kinds), "this study"
    with state.reading() as session:
        changed = pay.was_changed(session, study)
        if isinstance(meter, Undefined) and pilot is not None:
            meter, whose = pay.meter_of(settings, frame_of(session, pilot), kinds), "the pilot"
    if not isinstance(meter, Undefined):
        pay_meter.pay_meter(meter, whose, changed)
    elif seconds := pay_meter.guess(slug):
        st.text(pay.expected(settings, seconds))


who = state.require("lead")
with chosen_study(who) as (session, study):
    slug, studies = study.slug, lifecycle.for_lead(session, who)
    kinds, frame = kinds_by_default(study), frame_of(session, study)
    names, twice = system_names(session, study), twice_rated(session, study, frame)
analysis = analyse(frame, Counted(kinds), names)
everybody = analyse(frame, Counted(kinds, with_excluded=True), names)
lines = state.read(lines_of, study, analysis, everybody, twice)
if frame.ratings.empty:
    no_rating_yet(study)
annotators.annotators(lines)
annotators.rubric_warnings(list(missing_answers(analysis)), analysis, slug)
if not twice.ratings.empty:
    st.header("The same item twice", anchor=False)
    annotators.with_self(with_self(twice, analysis.scope), {c.key: c.title for c in frame.rubric.criteria})
exclusions_of(lines, analysis, who)
pay_of(frame, studies)
every = 1 if len(frame.ratings) < 100_000 else 1000
live.follow(lambda: live.number_now(study) // every, frame.number // every)
