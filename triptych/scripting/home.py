"""Authenticates scripts with access to the data folder to the app that runs on it.

At each start the app writes a private file with a new key to the folder, and deletes it when it stops. Two programs
could damage an SQLite file, so while the app has it open, a script calls the app; otherwise it opens the file itself.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from triptych.errors import NotFound
from triptych.storage import host

FILE = host.RUNNING
PREFIX = "triptych-home_"
_keys: list[str] = []  # of this process


@contextmanager
def announced(folder: Path, url: str) -> Iterator[None]:
    """Within this context, scripts that can read the folder's private files can call this app."""
    key, path = PREFIX + secrets.token_urlsafe(32), folder / FILE
    path.unlink(missing_ok=True)  # left by an app that was killed
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        json.dump({"url": url, "key": key}, file)
    _keys.append(key)
    try:
        yield
    finally:
        _keys.remove(key)
        with suppress(OSError):
            path.unlink(missing_ok=True)


def is_key(text: str) -> bool:
    """Whether this is a key of this process; compared in constant time."""
    return sum(hmac.compare_digest(key.encode(), text.encode("utf-8", "replace")) for key in _keys) > 0


def running_app(folder: Path) -> tuple[str, str]:
    """The address on this computer of the app that uses this folder, and the key that it accepts. Raises NotFound."""
    try:
        with open(folder / FILE, encoding="utf-8", opener=host.owned) as file:
            content = json.load(file)
        return str(content["url"]), str(content["key"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotFound(
            f"Another program uses the database in {folder}, and it is not a running app that this user may call. Wait "
            f"until it has finished, or use connect() with a token."
        ) from error
