"""What the environment decides, read once per question; nothing here is secret by default."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import lru_cache
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
    return os.environ.get("TRIPTYCH_SECRET") or _kept_secret(local_folder() / "cookie.secret")


@lru_cache(maxsize=8)
def _kept_secret(path: Path) -> str:
    if not path.exists():
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(48))
        # whoever links first has made the secret; the file is never seen half written
        with suppress(FileExistsError):
            path.hardlink_to(fresh)
        fresh.unlink()
    return path.read_text()
