"""Settings from the environment, read at each call; no secret has a default."""

from __future__ import annotations

import importlib.metadata
import ipaddress
import os
import secrets
import tomllib
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

from triptych.errors import TriptychError

_PACKAGE = Path(__file__).resolve().parent
SECRET, TOKEN, DATABASE = "TRIPTYCH_SECRET", "TRIPTYCH_METRICS_TOKEN", "TRIPTYCH_DATABASE_URL"
ADDRESS, PROXIES, BUDGETS = "TRIPTYCH_ADDRESS", "TRIPTYCH_PROXIES", "TRIPTYCH_BUDGETS"
IDENTITY_HEADER, IDENTITY_SECRET = "TRIPTYCH_IDENTITY_HEADER", "TRIPTYCH_IDENTITY_SECRET"
FRAMED_BY = "TRIPTYCH_FRAMED_BY"
SECRETS = (SECRET, TOKEN, IDENTITY_SECRET, "STREAMLIT_SERVER_COOKIE_SECRET")
MAIL = "TRIPTYCH_MAIL"
MIN_SECRET_LENGTH = 32
PLACEHOLDERS = ("change", "example", "secret", "password", "default")
HOW_TO_MAKE = "Generate one with: python3 -c 'import secrets; print(secrets.token_urlsafe(48))'"


class UnsafeSettings(TriptychError):
    """The environment would make the app unsafe; it does not start."""


def app_folder() -> Path:
    """The folder with app.py, pages/, components/, rubrics/ and data/demo/: a checkout's root, or `_app` in a wheel."""
    installed = _PACKAGE / "_app"
    return installed if installed.is_dir() else _PACKAGE.parent


def is_installed() -> bool:
    """Whether this is an installation and not a checkout."""
    return app_folder().parent == _PACKAGE


def version() -> str:
    """The version of this code."""
    if is_installed():
        return importlib.metadata.version("triptych")
    return str(tomllib.loads((app_folder() / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def ignore_build_date() -> None:
    """Unset SOURCE_DATE_EPOCH, which changes no file of ours: at a value that is no date, NumPy and matplotlib stop."""
    os.environ.pop("SOURCE_DATE_EPOCH", None)


def program() -> str:
    """How this program is called on a command line; in a checkout by the environment that `make run` made."""
    python = ".venv\\Scripts\\python" if os.name == "nt" else ".venv/bin/python"
    return "triptych" if is_installed() else f"{python} -m triptych"


def start_for_network() -> str:
    """The command that starts the app for other computers too."""
    return f"{program()} server run --address 0.0.0.0"


def local_folder() -> Path:
    """Where the database, its backups and the cookie secret live.

    TRIPTYCH_HOME; else data/local/ in a checkout, the user's data folder in an installation.
    """
    return _existing(os.environ.get("TRIPTYCH_HOME") or str(usual_home()))


def usual_home() -> Path:
    """The folder that the app makes where TRIPTYCH_HOME names none."""
    checkout = app_folder() if not is_installed() else _checkout_here()
    if checkout:
        return checkout / "data" / "local"
    import platformdirs  # not at the top: the doctor reads this module to report missing packages

    return Path(platformdirs.user_data_dir("triptych", appauthor=False))


def _checkout_here() -> Path | None:
    """The checkout in whose top folder an installed command was typed, if this user has data there."""
    try:
        here = Path.cwd()
    except FileNotFoundError:  # the folder was deleted in the meantime
        return None
    stored = here / "data" / "local" / "triptych.db"
    if not ((here / "app.py").is_file() and (here / "triptych" / "settings.py").is_file() and stored.is_file()):
        return None
    # a folder placed there by another user is not used
    is_own = os.name == "nt" or stored.stat().st_uid == stored.parent.stat().st_uid == os.getuid()
    return here if is_own else None


@lru_cache(maxsize=8)
def _existing(folder: str) -> Path:
    path, mode = Path(folder), 0o770 if group_may() else 0o700
    for above in reversed(path.parents):  # with `parents=True` these would follow the shell's umask
        if not above.exists():
            above.mkdir(mode=mode, exist_ok=True)
    path.mkdir(mode=mode, exist_ok=True)
    return path


def database_url() -> str:
    """TRIPTYCH_DATABASE_URL, else the SQLite file in the local folder."""
    return full_address(os.environ.get(DATABASE) or sqlite_url(local_folder() / "triptych.db"))


def sqlite_url(path: Path) -> str:
    """The address of an SQLite file. Raises UnsafeSettings for a name that is not UTF-8, which no address holds."""
    try:
        return f"sqlite:///{quote(str(path))}"
    except UnicodeEncodeError as error:
        raise UnsafeSettings(f"The name {str(path)!a} is not UTF-8; use another folder.") from error


def uses_own_file() -> bool:
    """Whether the database is the SQLite file in the local folder."""
    return not os.environ.get(DATABASE)


def full_address(url: str) -> str:
    """A database's address as its manual writes it, with our driver for PostgreSQL, or an SQLite file's whole path."""
    name = url.partition(":///")[2] if url.startswith("sqlite") else ""
    if name in ("", ":memory:") or Path(name).is_absolute():
        return url.replace("postgresql://", "postgresql+psycopg://", 1)
    return f"{sqlite_url(Path.cwd())}/{name}"


def is_shared() -> bool:
    """Whether several processes may serve the same data: they then need the same secrets."""
    return os.environ.get(DATABASE, "").startswith("postgresql")


def addresses() -> tuple[str, ...]:
    """TRIPTYCH_ADDRESS: the origins under which browsers reach the app, the first for links; see web/origins."""
    return _words(ADDRESS)


def proxies() -> tuple[str, ...]:
    """TRIPTYCH_PROXIES: the addresses or networks of proxies whose forwarded headers count; see web/origins."""
    return _words(PROXIES)


def identity_header() -> str:
    """TRIPTYCH_IDENTITY_HEADER: the header in which a proxy passes single sign-on identities; empty: none."""
    return os.environ.get(IDENTITY_HEADER, "")


def identity_secret() -> str:
    """TRIPTYCH_IDENTITY_SECRET: which proves to the app that the header comes from the proxy. Raises UnsafeSettings."""
    secret = os.environ.get(IDENTITY_SECRET, "")
    if not secret or is_weak(secret):
        raise UnsafeSettings(
            f"{IDENTITY_HEADER} needs {IDENTITY_SECRET}: at least {MIN_SECRET_LENGTH} random characters, which the "
            f"proxy sends. {HOW_TO_MAKE}"
        )
    return secret


def framed_by() -> tuple[str, ...]:
    """TRIPTYCH_FRAMED_BY: origins whose pages may show the app in a frame; see web/origins."""
    return _words(FRAMED_BY)


def budgets() -> tuple[str, ...]:
    """TRIPTYCH_BUDGETS: budgets that differ from the usual ones, as name=at_once/per_second; see web/budgets."""
    return _words(BUDGETS)


def _words(name: str) -> tuple[str, ...]:
    return tuple(os.environ.get(name, "").replace(",", " ").split())


class Encryption(StrEnum):
    """How the connection to a mail server is encrypted: from its start, from STARTTLS on, or not at all."""

    tls = "TLS"
    starttls = "STARTTLS"
    nothing = "nothing"


@dataclass(frozen=True)
class MailServer:
    """The mail server. user: empty if it requires none."""

    host: str
    port: int
    sender: str
    encryption: Encryption
    user: str = ""
    password: str = field(default="", repr=False)


def mail_server() -> MailServer | None:
    """TRIPTYCH_MAIL, as in smtp://user:password@mail.example.org:587?from=triptych@example.org; None without it.

    smtps: encrypted from the start; smtp: by STARTTLS, except to this computer. Raises UnsafeSettings.
    """
    text = os.environ.get(MAIL, "")
    if not text:
        return None
    try:
        url = urlsplit(text)
        port, sender = url.port, parse_qs(url.query).get("from", [""])[0]
    except ValueError:
        url, port, sender = urlsplit(""), None, ""
    if url.scheme not in ("smtp", "smtps") or not url.hostname or "@" not in sender or not sender.isprintable():
        raise UnsafeSettings(
            f"{MAIL} cannot be read. Write it as smtp://user:password@mail.example.org:587?from=triptych@example.org, "
            "or smtps:// for encryption from the start; write characters such as @ and / in user or password as %40 "
            "and %2F."
        )
    plain = Encryption.nothing if is_loopback(url.hostname) else Encryption.starttls
    encryption = Encryption.tls if url.scheme == "smtps" else plain
    usual = 465 if encryption == Encryption.tls else 587
    return MailServer(
        url.hostname, port or usual, sender, encryption, unquote(url.username or ""), unquote(url.password or "")
    )


def logs_json() -> bool:
    """TRIPTYCH_LOG=json writes one JSON object per line instead of text."""
    return os.environ.get("TRIPTYCH_LOG", "text") == "json"


def group_may() -> bool:
    """TRIPTYCH_GROUP=1 lets the group of the data folder read and write what is in it, except secrets and traces."""
    return os.environ.get("TRIPTYCH_GROUP") == "1"


def wants_demo() -> bool:
    """TRIPTYCH_DEMO=0 keeps the demo studies out."""
    return os.environ.get("TRIPTYCH_DEMO", "1") != "0"


def cookie_secret() -> str:
    """TRIPTYCH_SECRET, else a secret made once and kept in a file that only its owner can read."""
    return os.environ.get(SECRET) or _stored_secret(local_folder() / "cookie.secret")


def metrics_token() -> str | None:
    """TRIPTYCH_METRICS_TOKEN; without it the numbers for Prometheus are closed."""
    return os.environ.get(TOKEN) or None


def refuse_unsafe_secrets(bound: str | None) -> None:
    """Raise UnsafeSettings for a missing or weak secret where other computers can reach the app.

    `bound` is the address the app listens on; None and "" are all addresses. An app on PostgreSQL counts as reachable
    wherever it listens: it is behind a proxy. Without TRIPTYCH_SECRET, an app with its own SQLite file uses a random
    secret that it stores; processes that share a database need the same one.
    """
    if not is_shared() and is_loopback(bound):
        return
    if is_shared() and not os.environ.get(SECRET):
        raise UnsafeSettings(
            f"{SECRET} is not set. Processes that share a PostgreSQL database need the same secret. {HOW_TO_MAKE}"
        )
    for name in SECRETS:
        if is_weak(os.environ.get(name)):
            raise UnsafeSettings(
                f"{name} is too easy to guess: at least {MIN_SECRET_LENGTH} characters, made at random. {HOW_TO_MAKE}"
            )
    if "change-me" in os.environ.get(DATABASE, ""):
        raise UnsafeSettings(f"{DATABASE} still contains the example's password; set a different one for the role.")


def is_weak(secret: str | None) -> bool:
    """Whether a secret is short, repeats itself or is a placeholder; one that is not set is not weak."""
    if not secret:
        return False
    return len(secret) < MIN_SECRET_LENGTH or len(set(secret)) < 10 or secret.lower().startswith(PLACEHOLDERS)


def is_loopback(bound: str | None) -> bool:
    """Whether only this computer reaches an app that listens on this address; None and "" are all addresses."""
    if bound == "localhost":
        return True
    try:
        return ipaddress.ip_address(bound or "").is_loopback
    except ValueError:
        return False


@lru_cache(maxsize=8)
def _stored_secret(path: Path) -> str:
    if not path.exists() or not path.stat().st_size:
        path.unlink(missing_ok=True)  # empty after a power failure: anyone could sign with it
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(48))
            file.flush()
            os.fsync(file.fileno())
        # the first link wins; no process reads a half-written file
        try:
            path.hardlink_to(fresh)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links, such as exFAT, where two first starts must not coincide
            fresh.replace(path)
        fresh.unlink(missing_ok=True)
    return path.read_text()
