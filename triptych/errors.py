"""Every error that a person may read. The message says what is wrong, where, and what would be right.

TriptychError
  + InvalidRubric          a rubric file breaks a rule
  + ImportRefused          an uploaded file cannot be read or used
  + InvalidAnnotation      an answer does not fit the rubric, the texts or the assignment
  + NotAllowed             this person may not do this
  + SignedOut              the login is unknown, revoked or over
  + NotFound               nothing there, or not for this person
  + Conflict               somebody, or another tab, was faster
    x OpenElsewhere        the item is open in another tab or on another computer
    x AlreadySubmitted     the annotation was submitted before; carries its receipt
    x StudyNotOpen         the study is a draft, paused or closed
  + UnsafeDatabase         the database cannot be opened safely
"""


class TriptychError(Exception):
    """Base of all messages meant for a person."""


class InvalidRubric(TriptychError):
    """A rubric file breaks a rule; the message names file, path and what would be right."""


class ImportRefused(TriptychError):
    """An uploaded file cannot be read or used; nothing was imported."""


class InvalidAnnotation(TriptychError):
    """An answer does not fit the rubric, the texts or the assignment; nothing was stored."""


class NotAllowed(TriptychError):
    """The person may not do this."""


class SignedOut(TriptychError):
    """The login is unknown, revoked or over, or the account disabled."""


class NotFound(TriptychError):
    """There is nothing there, or nothing for this person."""


class Conflict(TriptychError):
    """The stored state has moved on since the browser last looked."""


class OpenElsewhere(Conflict):
    """The item is open in another tab or on another computer."""


class AlreadySubmitted(Conflict):
    """The annotation was submitted before."""


class StudyNotOpen(Conflict):
    """The study is a draft, paused or closed."""


class UnsafeDatabase(TriptychError):
    """The database cannot be opened without risking the data."""
