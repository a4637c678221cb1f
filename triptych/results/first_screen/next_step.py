"""The lead's next step, depending on the study's progress."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from triptych import clock
from triptych.results.progress import Overview
from triptych.stats.numbers import counted
from triptych.storage.models import Study, StudyState

QUIET_DAYS = 3  # days without an annotation, after which people may need a reminder


@dataclass(frozen=True)
class NextStep:
    """sentence: what to do and why; place: the study's place to do it, "" for the results page itself."""

    sentence: str
    place: str
    heading: str = "What to do next"


def next_step(study: Study, view: Overview) -> NextStep:
    if not view.items:
        return NextStep("Add a file of items: there is nothing to rate yet.", "Setup")
    if study.state == StudyState.draft:
        return NextStep("Launch the study so that it accepts ratings.", "Setup")
    if study.state == StudyState.closed:
        if study.unblinded_at is None:
            return NextStep("Unblind once all decisions about individual ratings are made.", "")
        return NextStep("Write it up: the report contains every number, figure and sentence.", "Report")
    left = max(view.expected - view.done, 0)
    if not left:
        return NextStep("Close the study: every item has all its annotations, and closing ends collection.", "Setup")
    if study.state == StudyState.paused:
        verb = "is" if left == 1 else "are"
        return NextStep(f"Reopen the study: {counted(left, 'annotation')} {verb} missing.", "Setup")
    if not view.annotators:
        return NextStep("Invite annotators: the address and personal links are on People.", "People")
    if view.last_at is None:
        return NextStep("Send people their links, or remind them: nothing has been handed in yet.", "People")
    if clock.now() - view.last_at > timedelta(days=QUIET_DAYS):
        return NextStep(f"Remind annotators: nothing has come in since {view.last_at:%Y-%m-%d}.", "People")
    return NextStep(
        f"Carry on: {counted(left, 'annotation')} to go. Do not draw conclusions before they are in.", "People"
    )
