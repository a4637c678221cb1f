"""What a page shows when it fails unexpectedly."""

from __future__ import annotations

from components.shell import state
from triptych.storage import traces
from triptych.storage.database import DatabaseUnavailable


def show(error: Exception) -> bool:
    """Draws the id under which the error's trace is stored, or that the database is unavailable; always True.

    True keeps Streamlit from drawing its own message.
    """
    state.say(str(error) if isinstance(error, DatabaseUnavailable) else traces.sentence(error))
    return True
