"""What a lead reads: one tidy frame of ratings per study, progress, highlights, every rating, the long exports."""

from triptych.results.counted import (
    counted_items,
    counted_ratings,
    counted_work,
    counting,
    kinds_by_default,
    mostly_ignored,
    people_counted,
)
from triptych.results.frame import (
    ABOUT_ITEM,
    FINISHED,
    LETTERS,
    RATED,
    UNKNOWN_POSITION,
    Counted,
    Frame,
    StudyName,
    name_of,
)
from triptych.results.highlights import (
    HighlightedCandidate,
    HighlightedItem,
    Passage,
    Span,
    highlight_counts,
    highlights_of_item,
)
from triptych.results.keeping import build_frame, forget, frame_of, twice_rated
from triptych.results.loading import GIVEN_STATE, LABELS, membership_of
from triptych.results.page import Board, board
from triptych.results.progress import AnnotatorProgress, Overview, overview
from triptych.results.rows import export_highlights, export_ratings
from triptych.results.table import MARKS, Filters, RatingsTable, ratings_table, values_in

__all__ = [
    "ABOUT_ITEM",
    "FINISHED",
    "GIVEN_STATE",
    "LABELS",
    "LETTERS",
    "MARKS",
    "RATED",
    "UNKNOWN_POSITION",
    "AnnotatorProgress",
    "Board",
    "Counted",
    "Filters",
    "Frame",
    "HighlightedCandidate",
    "HighlightedItem",
    "Overview",
    "Passage",
    "RatingsTable",
    "Span",
    "StudyName",
    "board",
    "build_frame",
    "counted_items",
    "counted_ratings",
    "counted_work",
    "counting",
    "export_highlights",
    "export_ratings",
    "forget",
    "frame_of",
    "highlight_counts",
    "highlights_of_item",
    "kinds_by_default",
    "membership_of",
    "mostly_ignored",
    "name_of",
    "overview",
    "people_counted",
    "ratings_table",
    "twice_rated",
    "values_in",
]
