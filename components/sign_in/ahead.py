"""Preloads in the background what a lead's next pages need: two seconds of imports and YAML parsing."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from threading import Thread

from triptych.rubric.files import read_shipped

# no module of components: Streamlit registers components where a page imports them
LIBRARIES, ROOMS = ("plotly.graph_objects", "plotly.subplots"), ("study", "results", "participants")


@cache
def begin() -> None:
    """Start once per process. Annotators need none of it, so a server without leads skips it."""
    Thread(target=_get_ready, name="ahead").start()


def _get_ready() -> None:
    read_shipped()
    for room in ROOMS:
        package = import_module(f"triptych.{room}")
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    for library in LIBRARIES:
        import_module(library)
