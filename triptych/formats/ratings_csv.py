"""The long CSV of ratings and the CSV of highlights: one row per rating, one per highlight.

Absent values are empty cells: system and position for a rating about the item or a highlight in its context, the
position where the order shown is not known, the value where an option was chosen. Positions count from 0, offsets are
Unicode code points with the end exclusive, times are UTC. `repeat_of` is the item that a repeat shows again.
"""

from __future__ import annotations

from triptych.formats.columns import Column, Type

RATINGS = {
    "study": Column("Short name of the study."),
    "round": Column("pilot, main, expert or crowd."),
    "design_hash": Column("SHA-256 of rubric, items and settings when the study opened."),
    "annotator": Column("Pseudonym of the annotator."),
    "annotator_kind": Column("human, judge (a model) or simulated."),
    "item_id": Column("Id of the item."),
    "system": Column("What produced the candidate; empty for a rating about the item and a highlight in its context."),
    "position": Column("Place on screen, from 0; empty for an unknown order and for ratings of the item.", Type.whole),
    "criterion": Column("Key of the criterion."),
    "value": Column("The number; empty if an option was chosen.", Type.number),
    "option": Column("Key of the chosen option; empty if the answer is a number."),
    "missing": Column("Whether the answer counts as missing in the headline numbers.", Type.truth),
    "reasons": Column("Keys of the ready-made reasons ticked.", Type.keys),
    "explanation": Column("Free text that explains the rating."),
    "explanation_words": Column("Its number of words.", Type.whole),
    "purpose": Column("main, training, entry_test, attention, gold, repeat or adjudication."),
    "repeat_of": Column("The item that a repeat repeats."),
    "surplus": Column("Whether the annotation exceeds the planned number; it is valid nevertheless.", Type.truth),
    "version": Column("1 for the first submission, one more for every edit.", Type.whole),
    "submitted_at": Column("Time of the submission, UTC.", Type.time),
    "active_seconds": Column("Seconds the annotator worked on the item, without pauses.", Type.number),
    "excluded": Column("Whether the lead excluded the annotator.", Type.truth),
    "exclusion_reason": Column("Why."),
}
RATINGS_HEADER = tuple(RATINGS)
# columns that no other program's table has; they identify an export of any version
OWN_COLUMNS = {"design_hash", "annotator_kind", "explanation_words"}
# columns of the table of highlights
OF_HIGHLIGHT = {
    "turn": Column("Number of the turn, from 0, if the text is a dialogue.", Type.whole),
    "label": Column("Key of the highlight's label."),
    "start": Column("First character, from 0, in Unicode code points; empty if the text lacks the quote.", Type.whole),
    "end": Column("The character after the last one.", Type.whole),
    "quote": Column("The highlighted text."),
    "comment": Column("The annotator's comment on the highlight."),
    "unit": Column("What the selection was extended to: words or letters; empty if unknown."),
}
HIGHLIGHTS_HEADER = ("annotator", "item_id", "system", "position", *OF_HIGHLIGHT)
