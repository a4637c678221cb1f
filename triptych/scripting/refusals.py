"""The errors that a script is answered: the same in its process and by HTTP, where each has a word and a status."""

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

# word → the error, and the status of an answer; an error that is not here is answered as the next one above it
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
    """How an answer names this error."""
    return next(
        (word, REFUSALS[word][1]) for kind in type(error).__mro__ for word in REFUSALS if REFUSALS[word][0] is kind
    )


def error_of(word: str, message: str) -> TriptychError:
    """The error that an answer names."""
    return REFUSALS.get(word, REFUSALS["refused"])[0](message)
