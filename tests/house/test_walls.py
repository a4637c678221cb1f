"""The walls: a module imports from its own room and from rooms further down the list in tests/house/rooms.py."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest
from helpers.studies import ROOT
from house import rooms

PRODUCT = {
    path.relative_to(ROOT).as_posix(): path
    for folder in ("triptych", "components", "pages")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "versions" not in path.parts
} | {"app.py": ROOT / "app.py"}
MODULES = {name[: -len(".py")].replace("/", ".").removesuffix(".__init__"): name for name in PRODUCT}


@cache
def imported_names(name: str) -> frozenset[str]:
    """Every module a file imports, inside functions and under TYPE_CHECKING too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(PRODUCT[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = _package_of(name, node.level)
            module = ".".join(part for part in (package, node.module) if part)
            # `from package import module` reads the module, not the package
            names |= {
                full if (full := f"{module}.{alias.name}") in MODULES or full in MODULES.values() else module
                for alias in node.names
            }
    return frozenset(names)


def _package_of(name: str, level: int) -> str:
    return ".".join(name.split("/")[:-level]) if level else ""


def imported_files(name: str) -> set[str]:
    return {MODULES[module] for module in imported_names(name) if module in MODULES} - {name}


def test_imports_go_down():
    floor = ("app.py", *rooms.ROOMS).index
    assert not [
        f"{name} is below {other}, which it imports"
        for name in PRODUCT
        for other in imported_files(name)
        if floor(rooms.room_of(other)) < floor(rooms.room_of(name))
    ]


def test_no_module_imports_itself_in_a_circle():
    graph = {name: imported_files(name) for name in PRODUCT}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_packages_of_others_stay_in_their_rooms():
    used = {name: {module.partition(".")[0] for module in imported_names(name)} for name in PRODUCT}
    assert not [
        f"{name}: {package}"
        for package, places in rooms.ONLY_IN.items()
        for name, packages in used.items()
        if package in packages and not any(name == place or name.startswith(f"{place}/") for place in places)
    ]


def test_no_folder_holds_too_many_modules():
    folders = Counter(path.parent.relative_to(ROOT).as_posix() for path in PRODUCT.values())
    folders |= Counter({"components/workbench": len([*(ROOT / "components" / "workbench").glob("*.js")])})
    full = {
        folder: count
        for folder, count in folders.items()
        if count > rooms.MOST_BY_FOLDER.get(folder, rooms.MOST_MODULES)
    }
    assert not full
    assert folders["triptych"] <= rooms.MOST_FLAT


@pytest.mark.parametrize("room", rooms.ROOMS)
def test_each_room_states_its_purpose_and_limits(room: str):
    sentence = rooms.sentence_of(room)
    assert sentence.endswith(".")
    assert any(word in sentence for word in ("No ", "Nothing", "never")), f"{room}/: {sentence}"


def test_every_folder_of_the_core_is_in_a_room():
    folders = {name.split("/")[1] for name in PRODUCT if name.startswith("triptych/") and name.count("/") > 1}
    assert folders == {room.split("/")[1] for room in rooms.ROOMS if room.startswith("triptych/")}
    assert len(folders) <= 20


def test_the_design_draws_these_rooms():
    design = rooms.DESIGN.read_text(encoding="utf-8")
    assert rooms.written(design) == design, "run: python tests/house/rooms.py"
