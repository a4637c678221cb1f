"""The errors that a script receives, identical in its process and by HTTP, where each has a word and a status."""

from __future__ import annotations

from triptych.errors import (
    Conflict,
    ImportRefused,
    InvalidAnnotation,
    InvalidRubric,
    NotAllowed,
    NotFound,
    SignedOut,
    StudyNotOpen,
    TriptychError,
)

# word → error and status; an error that is missing here is answered as its nearest base class
REFUSALS: dict[str, tuple[type[TriptychError], int]] = {
    "signed_out": (SignedOut, 401),
    "not_allowed": (NotAllowed, 403),
    "not_found": (NotFound, 404),
    "not_open": (StudyNotOpen, 409),
    "conflict": (Conflict, 409),
    "invalid_rubric": (InvalidRubric, 400),
    "invalid_answer": (InvalidAnnotation, 400),
    "invalid": (ImportRefused, 400),
    "refused": (TriptychError, 400),
}


def word_and_status(error: TriptychError) -> tuple[str, int]:
    """The word and status of this error in an answer."""
    return next(
        (word, REFUSALS[word][1]) for kind in type(error).__mro__ for word in REFUSALS if REFUSALS[word][0] is kind
    )


def error_of(word: str, message: str) -> TriptychError:
    """The error for a word in an answer."""
    return REFUSALS.get(word, REFUSALS["refused"])[0](message)
