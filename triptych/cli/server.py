"""`triptych server` and `triptych share`: start the app, check the installation, show its address."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
from pathlib import Path

from triptych import settings
from triptych.cli.output import Reply, note
from triptych.errors import NotAllowed, NotFound
from triptych.operations import doctor as examination
from triptych.stats.numbers import counted
from triptych.storage import host, traces

FIRST_PORT, PORTS_TO_TRY = 8501, 50
LOOPBACK = "127.0.0.1"
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 (compared with)
NOBODY = ("192.0.2.1", 9)  # an address reserved by RFC 5737, which no computer has
PLAIN_HTTP = (
    "Warning: this is plain http. Anyone on this network can read the traffic, including passcodes and cookies. Use it "
    "among people you trust, or set up https: docs/deploying.md."
)


def run(address: str | None, port: int | None) -> Reply:
    """Replace this process by the app, started in the app's folder. Raises UnsafeDatabase, NotAllowed."""
    home = settings.local_folder().absolute()  # links stay: the app refuses those of other users
    _refuse_second(host.lock_in(home))
    bound = address or os.environ.get("STREAMLIT_SERVER_ADDRESS") or LOOPBACK
    if port or "STREAMLIT_SERVER_PORT" not in os.environ:
        port = port_for(bound, port)
    place = home if settings.uses_own_file() else f"the database that {settings.DATABASE} names"
    note(f"Triptych {settings.version()}. Its data are in {place}. Ctrl+C stops it.")
    os.environ["TRIPTYCH_HOME"] = str(home)
    if not settings.uses_own_file():
        os.environ[settings.DATABASE] = settings.database_url()  # names the same file in another folder
    # Streamlit reads .streamlit/ in the current folder, and -P keeps that folder out of the import path. So files in
    # the folder where the command is typed can change no setting and replace no module.
    os.chdir(settings.app_folder())
    command = [sys.executable, "-P", "-m", "streamlit", "run", "app.py", f"--server.address={bound}"]
    command += [f"--server.port={port}"] if port else []
    if os.name != "nt":  # on Windows, exec returns to the prompt while the app still runs
        os.execv(sys.executable, command)  # noqa: S606 (no shell; every part is ours or an option's value)
    return Reply((), code=subprocess.call(command))  # noqa: S603 (no shell; every part is ours or an option's value)


def _refuse_second(lock: Path) -> None:
    """Raises UnsafeDatabase if a server uses this home: two on one SQLite file would damage it."""
    if not settings.uses_own_file() or not lock.exists():
        return
    place = host.noted(lock)
    at = f" at {place.address}" if place else ""
    host.lock_file(lock, f"Triptych is already running with these data{at}: {lock.parent}.").close()


def port_for(bound: str, port: int | None = None) -> int:
    """The port to listen on: the given one, or the first free one. Raises NotAllowed if none is free."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(bound, None, type=socket.SOCK_STREAM)[0]
    except UnicodeError as error:
        raise NotAllowed(f"{bound!r:.60} is not an address of this computer.") from error
    except OSError as error:
        raise NotAllowed(f"{bound} is not an address of this computer: {error.strerror}.") from error
    ports = [port] if port else range(FIRST_PORT, FIRST_PORT + PORTS_TO_TRY)
    for candidate in ports:
        try:
            with socket.socket(family, kind, protocol) as probe:
                if os.name != "nt":  # as the server does: a port that was just released counts as free
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((place[0], candidate, *place[2:]))
            return candidate
        except OSError as error:
            refusal = error.strerror
    if port:
        raise NotAllowed(f"Port {port} of {bound} cannot be used: {refusal}. Without --port a free port is used.")
    raise NotAllowed(f"No port from {ports[0]} to {ports[-1]} of {bound} can be used: {refusal}. Name one with --port.")


def doctor(error: str | None) -> Reply:
    """All diagnoses, or one stored trace."""
    if error:
        lines = traces.text_of(error).split("\n")
        return Reply(lines, {"error": error, "trace": lines})
    diagnoses = list(examination.examine())
    problems = sum(diagnosis.problem for diagnosis in diagnoses)
    last = f"{counted(problems, 'problem')} found." if problems else "No problem found."
    values = [{"about": part.about, "text": part.text, "problem": part.problem} for part in diagnoses]
    lines = [*map(str, diagnoses), last]
    return Reply(lines, {"problems": problems, "diagnoses": values}, 1 if problems else 0)


def share() -> Reply:
    """The address for colleagues in the same network. Raises NotFound, NotAllowed if nobody can reach it."""
    address = settings.addresses()[0].rstrip("/") if settings.addresses() else _address_in_network()
    warnings = [] if address.startswith("https:") else [PLAIN_HTTP]
    lines = ["Colleagues on the same network open:", "", f"  {address}", "", *qr_code(address), "", *warnings]
    return Reply(lines, {"address": address, "encrypted": not warnings})


def _address_in_network() -> str:
    """The address of the app that runs on the home, for other computers in the network."""
    lock = host.lock_in(settings.local_folder())
    place = host.noted(lock) if settings.uses_own_file() and host.is_locked(lock) else None
    start = settings.start_for_network()
    if place is None:
        raise NotFound(f"No app is running on {lock.parent}. Start one that the network can reach: {start}")
    scheme, _, rest = place.address.partition("://")
    authority, _, path = rest.partition("/")
    if authority.rpartition(":")[0] not in (LOOPBACK, "localhost", place.bound):
        return place.address  # the address of a proxy in front of it
    if settings.is_loopback(place.bound):
        raise NotAllowed(
            f"The app at {place.address} listens on this computer only. Stop it and start it with: {start}"
        )
    own = network_address() if place.bound in EVERYWHERE else place.bound
    return f"{scheme}://{f'[{own}]' if ':' in own else own}:{place.port}" + (f"/{path}" if path else "")


def network_address() -> str:
    """This computer's address in its network. Raises NotFound if it is in none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(NOBODY)  # selects the network interface; connecting a datagram socket sends nothing
            own = str(probe.getsockname()[0])
        except OSError:
            own = LOOPBACK
    if settings.is_loopback(own):
        raise NotFound("This computer is not on a network, so nobody else can reach it.")
    return own


def qr_code(text: str) -> list[str]:
    """A QR code of half blocks, light on a dark terminal; readers accept inverted codes, too."""
    import segno

    code = io.StringIO()
    segno.make(text, error="m", micro=False).terminal(code, border=2, compact=True)
    return code.getvalue().splitlines()
