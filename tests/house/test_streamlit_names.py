"""Names of Streamlit that are not public: each is listed in docs/design.md, used, and where the list says."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from helpers.studies import ROOT
from starlette.datastructures import Headers
from streamlit import config
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.state import common, session_state
from streamlit.web.server.starlette import starlette_websocket

from triptych.web import messages
from triptych.web.headers import inline_hashes

# the type of every container, which the reference names
PUBLIC = {"streamlit", "streamlit.delta_generator", "streamlit.testing.v1"}
SOURCES = Path(st.__file__).parent
PRODUCT = [ROOT / "app.py"] + [
    path
    for folder in ("components", "pages", "triptych")
    for path in (ROOT / folder).rglob("*.*")
    if path.suffix in (".py", ".js", ".css") and "node_modules" not in path.parts
]
PYTHON = [ROOT / "app.py"] + [
    path for folder in ("components", "pages", "triptych", "bench", "tests") for path in (ROOT / folder).rglob("*.py")
]
ELEMENT = re.compile(r"""(?:data-testid[\^$*]?=["']?|\.)(st[A-Z][A-Za-z]+)""")
# as the browser part writes it
DRAWN = re.compile(r"""["'`](st[A-Z][A-Za-z]+)(?=-\$|["'` ])""")
# other names of its browser part: attributes, and the kind of a message
OF_BROWSER = re.compile(r"\bdata-(?:test-[a-z-]+|selected)\b|\bCLIENT_[A-Z_]+")
OF_RUNTIME = re.compile(r"\bst\.runtime\.\w+")
ADDRESS = re.compile(r"/_stcore/[a-z_-]+")


def listed() -> dict[str, set[str]]:
    """Name → where it is used, from the table in docs/design.md."""
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    section = text.partition("## Private names of Streamlit\n")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    return {name: {*re.findall("`([^`]+)`", row[2])} for row in rows for name in re.findall("`([^`]+)`", row[1])}


LISTED = listed()
MODULES = sorted(name for name in LISTED if name.startswith("streamlit."))
ELEMENTS = sorted(name for name in LISTED if re.fullmatch("st[A-Z][A-Za-z]+", name))
ADDRESSES = sorted(name for name in LISTED if name.startswith("/_stcore/"))
BROWSER_NAMES = sorted(filter(OF_BROWSER.fullmatch, LISTED))
RUNTIME_NAMES = sorted(filter(OF_RUNTIME.fullmatch, LISTED))


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def private_modules(path: Path) -> set[str]:
    """The modules of Streamlit that a file imports, without the public ones."""
    if "streamlit" not in text_of(path):
        return set()
    names: set[str] = set()
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {full for alias in node.names if _is_module(full := f"{node.module}.{alias.name}")}
    names = {name for name in names if name.partition(".")[0] == "streamlit"} - PUBLIC
    return {name for name in names if not any(other.startswith(f"{name}.") for other in names)}


def _is_module(name: str) -> bool:
    place = SOURCES.parent / Path(*name.split("."))
    return name.startswith("streamlit.") and (place.is_dir() or place.with_suffix(".py").is_file())


def product_text() -> str:
    return "\n".join(map(text_of, PRODUCT))


@cache
def browser_part() -> str:
    """All scripts that Streamlit sends, which are 23 MB."""
    return "\n".join(map(text_of, (SOURCES / "static").rglob("*.js")))


@cache
def drawn_elements() -> frozenset[str]:
    return frozenset(DRAWN.findall(browser_part()))


def test_every_private_module_is_listed():
    used = {name for path in PYTHON for name in private_modules(path)}

    assert {name for name in used if name not in LISTED} == set()


def test_product_code_imports_public_modules_only():
    assert not [path.name for path in PRODUCT if path.suffix == ".py" and private_modules(path)]


def test_product_code_uses_no_underscored_name():
    assert not re.findall(r"\bst\._[a-z]\w*", product_text())


def test_every_element_and_address_that_product_code_names_is_listed():
    text = product_text()

    assert set(ELEMENT.findall(text)) == set(ELEMENTS)
    assert set(ADDRESS.findall(text)) == set(ADDRESSES)
    assert set(OF_BROWSER.findall(text)) == set(BROWSER_NAMES)
    assert set(OF_RUNTIME.findall(text)) == set(RUNTIME_NAMES)


@pytest.mark.parametrize("name", [*ELEMENTS, *BROWSER_NAMES])
def test_the_list_says_where_a_name_is_used(name: str):
    using = [path for path in PRODUCT if name in text_of(path) and re.search(rf"\b{name}\b", text_of(path))]

    assert {"/".join(path.relative_to(ROOT).parts[:2]) for path in using} == LISTED[name]


@pytest.mark.parametrize("name", MODULES)
def test_the_module_is_there(name: str):
    importlib.import_module(name)


@pytest.mark.parametrize("name", ELEMENTS)
def test_the_browser_part_draws_the_element(name: str):
    assert name in drawn_elements()


@pytest.mark.parametrize("name", BROWSER_NAMES)
def test_the_browser_part_has_the_name(name: str):
    assert name in browser_part()


@pytest.mark.parametrize("name", RUNTIME_NAMES)
def test_the_runtime_has_the_name(name: str):
    assert hasattr(st.runtime, name.rpartition(".")[2])


def test_the_runtime_holds_uploads_by_session():
    assert "uploaded_file_mgr.file_storage" in LISTED
    assert isinstance(Runtime.uploaded_file_mgr, property)
    assert MemoryUploadedFileManager("/").file_storage == {}


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_server_answers_the_address(address: str):
    sources = [path.read_text(encoding="utf-8") for path in (SOURCES / "web" / "server").rglob("*.py")]
    last = address.rpartition("/")[2]

    assert any(re.search(rf"(_stcore|\{{BASE_ROUTE_CORE\}})/{last}\b", source) for source in sources)


def test_messages_have_the_fields_and_prefixes_of_the_list():
    fields = BackMsg.DESCRIPTOR.fields_by_name
    kinds = [fields[name].number for name in ("stop_script", "rerun_script", "file_urls_request", "app_heartbeat")]
    prefixes = common.GENERATED_ELEMENT_ID_PREFIX, session_state.STREAMLIT_INTERNAL_KEY_PREFIX

    assert kinds == list(messages.KINDS)
    assert tuple(prefix.encode() for prefix in prefixes) == messages.IDS
    assert {"BackMsg", *prefixes} <= LISTED.keys()


def test_the_session_of_a_tab_is_the_third_protocol():
    headers = Headers({"Sec-WebSocket-Protocol": "streamlit, token, session"})

    assert starlette_websocket._parse_subprotocols(headers) == ("streamlit", "token", "session")


def test_the_page_has_its_inline_script():
    assert inline_hashes((SOURCES / "static" / "index.html").read_text(encoding="utf-8"))


def test_every_hidden_setting_is_listed_and_known():
    ours = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    names = {f"{section}.{name}" for section, options in ours.items() for name in options}
    hidden = {name for name, option in config.get_config_options().items() if option.visibility == "hidden"}

    assert names & hidden == {name for name, places in LISTED.items() if ".streamlit/config.toml" in places}
