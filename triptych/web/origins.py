"""The names that this server answers to, the origin of a page, and the address of a visitor. No request, no database.

Origins are compared in the form that browsers use: scheme://host, with the port unless it is the scheme's usual one.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import NamedTuple

from triptych import settings
from triptych.settings import UnsafeSettings

USUAL_PORTS = {"http": 80, "https": 443}
LOOPBACK_NAMES = ("localhost", "localhost.localdomain", "localhost6", "ip6-localhost", "ip6-loopback")
MAX_PORT = 65535
IDENTITY_HEADER = re.compile(r"[a-z][a-z0-9-]{2,60}")
# headers that browsers, proxies and the app itself use for other purposes
OTHER_HEADERS = re.compile(
    r"(sec-|accept|content-|if-|x-triptych|x-xsrftoken|access-control-).*"
    r"|x-forwarded-(for|proto|host|port)|host|origin|cookie|authorization|connection|upgrade|user-agent|referer"
    r"|transfer-encoding|cache-control|pragma|range|te|via|date|forwarded|x-real-ip|priority|dnt"
)
HOSTS_FILE = Path("/etc/hosts")
AUTHORITY = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::([0-9]{1,5}))?")


class Authority(NamedTuple):
    """The host in lower case, an IPv6 address in brackets; the port, or None for the scheme's usual one."""

    host: str
    port: int | None


@dataclass(frozen=True)
class Reach:
    """The configured addresses, proxies and framing sites of this server."""

    origins: tuple[str, ...]
    names: frozenset[str]
    proxies: tuple[IPv4Network | IPv6Network, ...]
    framed_by: tuple[str, ...] = ()
    identity_header: bytes = b""  # in lower case; empty without single sign-on
    identity_secret: bytes = field(default=b"", repr=False)

    def trusts(self, address: str) -> bool:
        """Whether this is the address of a configured proxy."""
        ip = ip_of(address) if self.proxies else None
        return ip is not None and any(ip in network for network in self.proxies)


def configured() -> Reach:
    """The reach according to the settings. Raises UnsafeSettings naming the invalid word."""
    header = settings.identity_header()
    secret = settings.identity_secret() if header else ""
    return _read(settings.addresses(), settings.proxies(), settings.framed_by(), header, secret)


@lru_cache(maxsize=8)
def _read(
    addresses: tuple[str, ...], proxies: tuple[str, ...], framed_by: tuple[str, ...], header: str, secret: str
) -> Reach:
    origins = tuple(_configured_origin(settings.ADDRESS, address) for address in addresses)
    names = frozenset(_host_of(origin) for origin in origins)
    networks = tuple(_network(proxy) for proxy in proxies)
    identity_header = _identity_header(header, networks) if header else ""
    return Reach(origins, names, networks, _framing(framed_by, origins), identity_header.encode(), secret.encode())


def _configured_origin(setting: str, address: str) -> str:
    origin = read_origin(address.removesuffix("/"))
    if origin is None:
        raise UnsafeSettings(
            f"{setting}: {address!r} is not an origin such as https://annotate.example.org: scheme, name, and "
            "the port where it is not the usual one."
        )
    return origin


def _framing(framed_by: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
    """The origins that may frame the app. All must use https, as must all addresses of the app itself."""
    framing = tuple(_configured_origin(settings.FRAMED_BY, address) for address in framed_by)
    if framing and (not own or not all(origin.startswith("https:") for origin in (*framing, *own))):
        raise UnsafeSettings(
            f"{settings.FRAMED_BY} works over https only: browsers send no cookie into a frame otherwise. Set "
            f"{settings.ADDRESS} to the https address of this app, and name the framing site by https too."
        )
    return framing


def _identity_header(header: str, proxies: tuple[IPv4Network | IPv6Network, ...]) -> str:
    name = header.lower()
    if not IDENTITY_HEADER.fullmatch(name) or OTHER_HEADERS.fullmatch(name):
        raise UnsafeSettings(
            f"{settings.IDENTITY_HEADER}: {header!r} is not the name of a header such as X-Remote-User: letters, "
            f"digits and hyphens, and not a header with another purpose."
        )
    if not proxies:
        raise UnsafeSettings(
            f"{settings.IDENTITY_HEADER} is trusted from a configured proxy only: set {settings.PROXIES} to its "
            f"address."
        )
    return name


def _network(proxy: str) -> IPv4Network | IPv6Network:
    try:
        return ipaddress.ip_network(proxy, strict=False)
    except ValueError as error:
        raise UnsafeSettings(
            f"{settings.PROXIES}: {proxy!r} is not an address or network such as 127.0.0.1."
        ) from error


def _host_of(origin: str) -> str:
    authority = authority_of(origin.partition("://")[2])
    return authority.host if authority else ""


def prefix_of(base_path: str | None) -> str:
    """What the addresses of the app's pages begin with, given Streamlit's server.baseUrlPath: "" or "/path"."""
    path = (base_path or "").strip("/")
    return f"/{path}" if path else ""


def authority_of(text: str) -> Authority | None:
    """Host and port of a Host header, or of an origin without its scheme; None if it is neither."""
    match = AUTHORITY.fullmatch(text.lower())
    if match is None:
        return None
    host, port = match[1].removesuffix("."), int(match[2]) if match[2] else None
    if host.startswith("["):
        ip = ip_of(host)
        host = f"[{ip.compressed}]" if ip else ""
    return None if not host or (port is not None and not 0 < port <= MAX_PORT) else Authority(host, port)


def origin_of(scheme: str, authority: Authority) -> str:
    """The origin of a page at this scheme (http or https) and authority."""
    usual = authority.port in (None, USUAL_PORTS[scheme])
    return f"{scheme}://{authority.host}" + ("" if usual else f":{authority.port}")


def read_origin(text: str) -> str | None:
    """The origin in an Origin header or a setting; None for `null`, other schemes, paths and invalid text."""
    scheme, _, rest = text.partition("://")
    authority = authority_of(rest)
    return origin_of(scheme.lower(), authority) if authority and scheme.lower() in USUAL_PORTS else None


def ip_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address in a host, with or without brackets; None for a name."""
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def needs_no_lookup(host: str) -> bool:
    """Whether no foreign name server can have led a browser here: an IP address, or a name of this computer only."""
    return host in LOOPBACK_NAMES or host.endswith(".localhost") or ip_of(host) is not None


def own_names() -> frozenset[str]:
    """This machine's current names: its host name, and its aliases in the hosts file. Sends no DNS query."""
    name = socket.gethostname().lower()
    short = name.partition(".")[0]
    names = {name, short, f"{short}.local"}
    try:
        lines = HOSTS_FILE.read_text(encoding="utf-8", errors="replace").lower().splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, *others = line.partition("#")[0].split() or [""]
        if not names.isdisjoint(others):
            names.update(others)
    return frozenset(names)


def sender(peer: str, forwarded_for: str, reach: Reach) -> str:
    """The visitor's address: the last forwarded one that is not a proxy of ours, if the peer is a proxy; else the
    peer's.
    """
    address = peer
    for hop in reversed(forwarded_for.split(",")):
        if not reach.trusts(address) or ip_of(hop.strip()) is None:
            break
        address = hop.strip()
    return address
