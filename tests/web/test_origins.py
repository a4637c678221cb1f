"""Hosts, origins and forwarded addresses, as pure functions."""

from __future__ import annotations

import ipaddress

import pytest
from helpers.present import present
from hypothesis import given, strategies

from triptych.settings import UnsafeSettings
from triptych.web import origins
from triptych.web.origins import Authority, Reach

NAMES = strategies.from_regex(r"[a-z][a-z0-9-]{0,20}(\.[a-z][a-z0-9-]{0,20}){0,3}", fullmatch=True)
PORTS = strategies.none() | strategies.integers(1, 65535)
HOSTS = NAMES | strategies.ip_addresses(v=4).map(str) | strategies.ip_addresses(v=6).map(lambda ip: f"[{ip}]")


def written(host: str, port: int | None) -> str:
    return host if port is None else f"{host}:{port}"


@given(HOSTS, PORTS)
def test_a_host_header_is_read_back_whatever_its_case(host, port):
    assert origins.authority_of(written(host, port)) == Authority(host, port)
    assert origins.authority_of(written(host, port).upper()) == Authority(host, port)


@given(strategies.text(max_size=40))
def test_no_text_breaks_the_readers(text):
    authority = origins.authority_of(text)
    assert authority is None or (authority.host and authority.host == authority.host.lower())
    origin = origins.read_origin(text)
    assert origin is None or origins.read_origin(origin) == origin
    assert origins.ip_of(text) is None or ipaddress.ip_address(text.strip("[]"))


@given(strategies.sampled_from(["http", "https"]), HOSTS, PORTS)
def test_a_page_equals_its_own_origin_and_no_other(scheme, host, port):
    called = origins.origin_of(scheme, Authority(host, port))
    other_scheme = "http" if scheme == "https" else "https"
    other_port = 8500 if port != 8500 else 8501

    assert origins.read_origin(f"{scheme}://{written(host, port)}") == called
    assert origins.read_origin(f"{other_scheme}://{written(host, port)}") != called
    assert origins.read_origin(f"{scheme}://{written(host, other_port)}") != called
    assert origins.read_origin(f"{scheme}://x{written(host, port).lstrip('[')}") != called


@pytest.mark.parametrize(
    "text",
    ["", "a b", "a/b", "a@b", "[::1", "::1", "[::g]", "a:0", "a:65536", "a:", "a:-1", "a:8 0", "ä.example", "a\n", "."],
)
def test_what_no_browser_sends_as_a_host_is_none(text):
    assert origins.authority_of(text) is None


@pytest.mark.parametrize(
    "scheme, text, origin",
    [
        ("http", "lab:80", "http://lab"),
        ("https", "lab:443", "https://lab"),
        ("http", "lab:443", "http://lab:443"),
        ("http", "LAB.", "http://lab"),
        ("http", "[0:0:0:0:0:0:0:1]:8501", "http://[::1]:8501"),
    ],
)
def test_origins_are_as_browsers_write_them(scheme, text, origin):
    assert origins.origin_of(scheme, present(origins.authority_of(text))) == origin


@pytest.mark.parametrize("host", ["localhost", "x.localhost", "127.0.0.1", "10.0.0.1", "[::1]", "8.8.8.8"])
def test_addresses_and_loopback_names_need_no_name_server(host):
    assert origins.needs_no_lookup(host)


@pytest.mark.parametrize("host", ["localhost.example", "127.0.0.1.example", "127.1", "2130706433", "0x7f000001", ""])
def test_all_other_names_do(host):
    assert not origins.needs_no_lookup(host)


def test_this_machines_names_come_from_itself_and_its_hosts_file(tmp_path, monkeypatch):
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost\n127.0.1.1 Lab7.cs.example lab7 # not other\n10.0.0.1 other.example other\n")
    monkeypatch.setattr(origins, "HOSTS_FILE", hosts)
    monkeypatch.setattr(origins.socket, "gethostname", lambda: "Lab7")

    assert origins.own_names() == {"lab7", "lab7.local", "lab7.cs.example"}
    hosts.unlink()
    assert origins.own_names() == {"lab7", "lab7.local"}


PROXIES = Reach((), frozenset(), (ipaddress.ip_network("127.0.0.1"), ipaddress.ip_network("10.0.0.0/8")))


@pytest.mark.parametrize(
    "peer, forwarded, visitor",
    [
        ("127.0.0.1", "", "127.0.0.1"),
        ("127.0.0.1", "192.0.2.1", "192.0.2.1"),
        ("127.0.0.1", "198.51.100.1, 192.0.2.1", "192.0.2.1"),
        ("127.0.0.1", "192.0.2.1, 10.0.0.7", "192.0.2.1"),
        ("127.0.0.1", "10.0.0.8, 10.0.0.7", "10.0.0.8"),
        ("127.0.0.1", "unknown", "127.0.0.1"),
        ("127.0.0.1", "192.0.2.1, x, 10.0.0.7", "10.0.0.7"),
        ("192.0.2.9", "192.0.2.1", "192.0.2.9"),
        ("", "192.0.2.1", ""),
    ],
)
def test_the_last_forwarded_address_of_no_proxy_is_the_visitors(peer, forwarded, visitor):
    assert origins.sender(peer, forwarded, PROXIES) == visitor


@pytest.mark.parametrize("words", ["https://a.example", "https://a.example/", "https://a.example,http://b.example:80"])
def test_addresses_are_origins_separated_by_commas_or_spaces(monkeypatch, words):
    monkeypatch.setenv("TRIPTYCH_ADDRESS", words)

    assert origins.configured().origins[0] == "https://a.example"
    assert "a.example" in origins.configured().names


@pytest.mark.parametrize("words", ["a.example", "ftp://a.example", "https://", "https://a.example/x", "https://u@a"])
def test_an_address_that_is_no_origin_is_refused(monkeypatch, words):
    monkeypatch.setenv("TRIPTYCH_ADDRESS", words)

    with pytest.raises(UnsafeSettings, match="TRIPTYCH_ADDRESS"):
        origins.configured()
