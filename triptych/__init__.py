"""The core of Triptych, independent of any screen: never imports Streamlit.

For scripts: `import triptych as tt`, then `tt.connect(url, token=…)` or `tt.open(home)`; see docs/scripting.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from triptych.errors import (
        Conflict,
        ImportRefused,
        InvalidRubric,
        NotAllowed,
        NotFound,
        SignedOut,
        TriptychError,
    )
    from triptych.scripting.client import Client, StudyClient, connect, open
    from triptych.storage.unavailable import DatabaseUnavailable

_ERRORS = ("Conflict", "ImportRefused", "InvalidRubric", "NotAllowed", "NotFound", "SignedOut", "TriptychError")
# name → its module, which is imported when a script first uses it: nobody else needs pandas for `import triptych`
_MODULES = {
    **dict.fromkeys(("Client", "StudyClient", "connect", "open"), "triptych.scripting.client"),
    **dict.fromkeys(_ERRORS, "triptych.errors"),
    "DatabaseUnavailable": "triptych.storage.unavailable",
}
__all__ = [
    "Client",
    "Conflict",
    "DatabaseUnavailable",
    "ImportRefused",
    "InvalidRubric",
    "NotAllowed",
    "NotFound",
    "SignedOut",
    "StudyClient",
    "TriptychError",
    "connect",
    "open",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
