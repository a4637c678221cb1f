"""What happens when the server starts and when it stops."""

from __future__ import annotations

import html
import logging
import os
import re
import socket
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Engine, QueuePool, event

from triptych import settings
from triptych.errors import UnsafeDatabase
from triptych.operations import backup_schedule, logs
from triptych.people import accounts
from triptych.scripting import home
from triptych.storage import database, host, private, wiping, working
from triptych.storage.database import reading, writing
from triptych.storage.models import DEMO_LOADED, Setting
from triptych.storage.repeating import repeated
from triptych.storage.unavailable import DatabaseUnavailable, explained
from triptych.storage.wiping import Wiped
from triptych.web import budgets, metrics
from triptych.web.origins import configured, prefix_of
from triptych.web.session import serve_below, web_engine

# settings of Streamlit that a command or the environment may change
ADJUSTABLE = ("server.address", "server.headless", "server.maxUploadSize", "server.fileWatcherType")
OPENER = "open-setup.html"
PLAIN_HTTP = (
    "This is plain http: other servers on this computer, and anyone who can read the network traffic, see your "
    "browser's sign-in cookie. To set up https see docs/deploying.md."
)
EVERYWHERE = (None, "", "0.0.0.0", "::")  # noqa: S104 (only compared with)
OPEN_FILES = 65_536
SHUTDOWN_SECONDS = 10.0  # for which a stopping server waits for transactions
FINISH_SECONDS = 300.0
Option = Callable[[str], Any]  # returns Streamlit's setting of a name
log = logging.getLogger("triptych.web")


@contextmanager
def running(option: Option) -> Iterator[None]:
    """Open and lock the database for this server, and print the set-up link if there is no lead yet.

    `option` returns Streamlit's setting of a name; "server.address" is the address to listen on, None for all. Raises
    UnsafeSettings, UnsafeDatabase if another server uses the file, DatabaseUnavailable.
    """
    os.umask(private.umask())
    allow_open_files()
    # set before NumPy is loaded: idle threads of its linear algebra would take a processor from annotators
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    settings.ignore_build_date()
    sys.set_int_max_str_digits(sys.int_info.default_max_str_digits)  # reading a million digits takes seconds
    logs.settle()
    limit_lines_of_pages()
    serve_below(option("server.baseUrlPath"))
    bound = option("server.address")
    try:
        refuse_other_options(option)
        reached_at = address(option)
        budgets.all_budgets()
        settings.mail_server()
        engine, lock = _open(bound)
    except Exception as error:
        log.critical("The app did not start.", exc_info=error)
        name_places(error)
        # keeps uvicorn from printing the first line of the traceback
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        raise
    announce(reached_at, bound)
    if lock:
        host.write_note(lock, host.RunningAt(reached_at, option("server.port"), bound or EVERYWHERE[2]))
    link = setup_link(engine, reached_at)
    if link:
        hand_out(link, bound)
    log.info("Started.")
    try:
        with _mail(engine), backup_schedule.scheduled(engine), _finishing(engine), _for_scripts(lock, option):
            yield
    finally:
        _opener().unlink(missing_ok=True)
        finish_writes(engine)
        engine.dispose()
        if lock:
            lock.close()
        log.info("Stopped.")


def allow_open_files() -> None:
    """Raise this process's limit of open files, often 1,024: one address may open 200 sockets of four files each."""
    with suppress(ImportError, OSError, ValueError):  # Windows has no such limit, macOS another below this one
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
        if 0 <= soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def limit_lines_of_pages() -> None:
    """Keep visitors from filling the log by messages to which Streamlit writes a line each time. Call it once Streamlit
    has made its loggers.
    """
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("streamlit."):
            logging.getLogger(name).addFilter(lambda _: not budgets.spending("refusal_lines").take("pages"))


def refuse_other_options(option: Option) -> None:
    """Raises UnsafeSettings for a setting of Streamlit that differs from our file, except those in ADJUSTABLE.

    Streamlit prefers its environment variables to the file, and somebody may have set them for another app.
    """
    file = settings.app_folder() / ".streamlit" / "config.toml"
    written = tomllib.loads(file.read_text(encoding="utf-8"))
    for section in ("server", "logger", "runner", "client", "browser"):
        for name, value in written[section].items():
            full = f"{section}.{name}"
            if full not in ADJUSTABLE and option(full) != value:
                raise settings.UnsafeSettings(
                    f"Streamlit's setting {full} differs from the app's. Remove it from the command, and "
                    f"{_variable(section, name)} from the environment. Start the app with: {settings.program()} server "
                    f"run, or in {settings.app_folder().name}/, where its settings are."
                )


def _variable(section: str, name: str) -> str:
    """The name of Streamlit's environment variable for this setting."""
    words = re.sub("([A-Z]+)", r"_\1", name)
    return f"STREAMLIT_{section}_{words}".upper()


def _mail(engine: Engine) -> AbstractContextManager[None]:
    """The notifier that e-mails leads, if a mail server is configured."""
    server = settings.mail_server()
    if server is None:
        return nullcontext()
    from triptych.participants import mail  # rarely needed, and it imports everything that computes results

    return mail.watching(engine, server)


def _for_scripts(lock: IO[str] | None, option: Option) -> AbstractContextManager[None]:
    """The key file for scripts on this computer that call an app with a SQLite file; PostgreSQL needs none."""
    return nullcontext() if lock is None else home.announced(settings.local_folder(), local_address(option))


def _open(bound: str | None) -> tuple[Engine, IO[str] | None]:
    """The migrated database, and the lock on its file if it is SQLite."""
    settings.refuse_unsafe_secrets(bound)
    private.refuse_unusable()
    settings.cookie_secret()  # stored now: where others may add files, one could put theirs there later
    repaired = [path.name for path in private.repair()]
    if repaired:
        log.warning(
            "Others could access these files or folders; their permissions were repaired: %s", ", ".join(repaired)
        )
    if any(map(private.is_written_by_others, private.folders())) or private.open_around():
        log.warning(
            "Others can write to the data folder, its backups or a folder around them, and could replace them. To "
            "restrict it: %s server doctor",
            settings.program(),
        )
    working.delete_abandoned()
    lock = database.lock_server(database.open_engine(settings.database_url()))
    with explained():
        engine = web_engine()
    if lock:
        event.listen(engine, "checkout", lambda *_: database.hold(lock))
    finish_erasures(engine)
    metrics.watch(engine)
    if settings.wants_demo():
        _load_demo(engine)
    return engine, lock


def _load_demo(engine: Engine) -> None:
    """Load the demo studies into a database that never had them."""
    with reading(engine) as session:
        if session.get(Setting, DEMO_LOADED) is not None:
            return
    from triptych.simulate import demo  # rarely needed, and it imports everything that reads files of ratings

    demo.load_demo(engine)


def finish_erasures(engine: Engine) -> None:
    """Clear the database's files if a process was killed between an erasure and this, or the clearing was put off."""
    if not wiping.due_wipes(engine):
        return
    from triptych.privacy import erasure  # rarely needed

    with suppress(DatabaseUnavailable):  # such as a full disk
        if erasure.wipe(engine) in (Wiped.done, Wiped.later):
            return
    log.warning(
        "The bytes of somebody who was erased are still in the database's files, which could not be rewritten. SQLite "
        "needs as much free space as the file has; for PostgreSQL see Erasing somebody in docs/deploying.md."
    )


def _finishing(engine: Engine) -> AbstractContextManager[None]:
    return repeated(partial(finish_erasures, engine), "Clearing after erasures", FINISH_SECONDS, log)


def name_places(error: Exception) -> None:
    """Print the path that the log omits from an error: the folder or file that it is about."""
    if isinstance(error, UnsafeDatabase) and logs.scrubbed(str(error)) != str(error):
        say(f"\n  {error}\n\n")


def say(text: str) -> None:
    """Print a text; an output that is closed, or on a full disk, prevents no start."""
    if sys.stdout:
        with suppress(OSError):
            sys.stdout.write(text)
            sys.stdout.flush()


def address(option: Option) -> str:
    """The address for printed links: the first of TRIPTYCH_ADDRESS, otherwise `local_address`.

    `option` returns Streamlit's setting of a name. Raises UnsafeSettings.
    """
    origins = configured().origins
    return f"{origins[0]}{prefix_of(option('server.baseUrlPath'))}" if origins else local_address(option)


def local_address(option: Option) -> str:
    """Where programs on this computer reach the app. `option` returns Streamlit's setting of a name."""
    bound = option("server.address")
    host_name = "127.0.0.1" if bound in EVERYWHERE else bound
    scheme = "https" if option("server.sslCertFile") else "http"
    return f"{scheme}://{host_name}:{option('server.port')}{prefix_of(option('server.baseUrlPath'))}"


def announce(address: str, bound: str | None) -> None:
    """Print the app's address; if it listens on all addresses, also the name for other computers."""
    say(f"\n  Triptych runs at {address}\n")
    if bound in EVERYWHERE and not configured().origins:
        say(f"  On other computers: {address.replace('127.0.0.1', socket.gethostname().lower())}\n")
    if address.startswith("http:"):
        say(f"  {PLAIN_HTTP}\n")


def finish_writes(engine: Engine, patience: float = SHUTDOWN_SECONDS) -> bool:
    """Wait until no transaction is running, at most `patience` seconds; returns whether all have finished.

    The HTTP server has already waited for requests; a page run continues in its own thread.
    """
    deadline = time.monotonic() + patience
    while _connections_in_use(engine) and time.monotonic() < deadline:
        time.sleep(0.02)
    unfinished = _connections_in_use(engine)
    if unfinished:
        log.warning("%d transactions were still running and were rolled back.", unfinished)
    return not unfinished


def _connections_in_use(engine: Engine) -> int:
    return engine.pool.checkedout() if isinstance(engine.pool, QueuePool) else 0


def setup_link(engine: Engine, address: str) -> str | None:
    """A new one-time link for the first lead account; None if there is a lead."""
    with reading(engine) as session:
        if accounts.has_lead(session):
            return None
    with writing(engine) as session:
        return f"{address}/?setup={accounts.issue_setup_ticket(session)}"


def hand_out(link: str, bound: str | None) -> None:
    """Print the set-up link; open it in a browser if the server was started at this computer's screen."""
    say(f"\n  No lead account yet. Create it with this link, which works once:\n\n  {link}\n\n")
    if settings.is_loopback(bound) and host.is_at_a_screen():
        import webbrowser  # needed at the first start only

        webbrowser.open(_leading_to(link).as_uri())


def _opener() -> Path:
    return settings.local_folder() / OPENER


def _leading_to(link: str) -> Path:
    """A private file that redirects a browser to the link; the link as an argument would appear in the process list."""
    opener = _opener()
    opener.unlink(missing_ok=True)
    with os.fdopen(os.open(opener, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(link)}">\n')
    return opener.resolve()
