"""What a page shows after an unexpected error."""

from __future__ import annotations

from components.shell import state
from triptych.storage import traces
from triptych.storage.unavailable import DatabaseUnavailable


def show(error: Exception) -> bool:
    """Draw the id of the stored trace, or that the database is unavailable. Returns True.

    True keeps Streamlit from drawing its own message.
    """
    state.say(str(error) if isinstance(error, DatabaseUnavailable) else traces.sentence(error))
    return True
