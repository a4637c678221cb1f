"""The long CSV of ratings and the CSV of highlights: one row per rating, one per highlight.

Absent values are empty cells: system and position for a rating about the item or a highlight in its context, the
position where the order shown is not known, the value where an option was chosen. Positions count from 0, offsets are
Unicode code points with the end exclusive, times are UTC. `repeat_of` is the item that a repeat shows again.
"""

from __future__ import annotations

# column → its meaning
RATINGS = {
    "study": "Short name of the study.",
    "round": "pilot, main, expert or crowd.",
    "design_hash": "SHA-256 of rubric, items and settings when the study opened.",
    "annotator": "Pseudonym of the annotator.",
    "annotator_kind": "human, judge (a model) or simulated.",
    "item_id": "Id of the item.",
    "system": "What produced the candidate; empty for a rating about the item and a highlight in its context.",
    "position": "Place on screen, from 0; empty if the order is unknown or the rating is about the item.",
    "criterion": "Key of the criterion.",
    "value": "The number; empty if an option was chosen.",
    "option": "Key of the chosen option; empty if the answer is a number.",
    "missing": "Whether the answer counts as missing in the headline numbers.",
    "reasons": "Keys of the ready-made reasons ticked.",
    "explanation": "Free text that explains the rating.",
    "explanation_words": "Its number of words.",
    "purpose": "main, training, entry_test, attention, gold, repeat or adjudication.",
    "repeat_of": "The item that a repeat repeats.",
    "surplus": "Whether the annotation exceeds the planned number of annotators; it is valid nevertheless.",
    "version": "1 for the first submission, one more for every edit.",
    "submitted_at": "Time of the submission, UTC.",
    "active_seconds": "Seconds the annotator worked on the item, without pauses.",
    "excluded": "Whether the lead excluded the annotator.",
    "exclusion_reason": "Why.",
}
RATINGS_HEADER = tuple(RATINGS)
# columns that no other program's table has; they identify an export of any version
OWN_COLUMNS = {"design_hash", "annotator_kind", "explanation_words"}
OF_HIGHLIGHT = ("turn", "label", "start", "end", "quote", "comment", "unit")  # columns of its table
HIGHLIGHTS_HEADER = ("annotator", "item_id", "system", "position", *OF_HIGHLIGHT)
