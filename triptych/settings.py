"""What the environment decides, read once per question; nothing here is secret by default."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCAL = ROOT / "data" / "local"


def local_folder() -> Path:
    """Where the database, its backups and the cookie secret live: TRIPTYCH_HOME, else data/local/."""
    folder = Path(os.environ.get("TRIPTYCH_HOME", LOCAL))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def database_url() -> str:
    """TRIPTYCH_DATABASE_URL, else the SQLite file in the local folder."""
    url = os.environ.get("TRIPTYCH_DATABASE_URL")
    if url:
        return url.replace("postgresql://", "postgresql+psycopg://", 1)
    return f"sqlite:///{local_folder() / 'triptych.db'}"


def wants_demo() -> bool:
    """TRIPTYCH_DEMO=0 keeps the demo studies out."""
    return os.environ.get("TRIPTYCH_DEMO", "1") != "0"


def cookie_secret() -> str:
    """TRIPTYCH_SECRET, else a secret made once and kept in a file that only its owner can read."""
    given = os.environ.get("TRIPTYCH_SECRET")
    if given:
        return given
    path = local_folder() / "cookie.secret"
    try:
        with path.open("x", opener=_owner_only) as file:
            file.write(secrets.token_urlsafe(48))
    except FileExistsError:
        pass
    return path.read_text()


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
