"""The rooms (packages) of the code, top first: a module imports from its own room and from rooms further down.

`python tests/house/rooms.py` writes the drawing into docs/design.md; tests/house/test_walls.py holds code and drawing
to this list.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DESIGN = ROOT / "docs" / "design.md"
BEGIN, END = "<!-- rooms: written by tests/house/rooms.py -->", "<!-- end of rooms -->"

ROOMS = (
    "pages",
    "components/study",
    "components/people",
    "components/results/first_screen",
    "components/results",
    "components/annotator",
    "components/rubric_builder",
    "components/workbench",
    "components/sign_in",
    "components/shell",
    "triptych/web",
    "triptych/cli",
    "triptych/scripting",
    "triptych/archive",
    "triptych/reports",
    "triptych/operations",
    "triptych/simulate",
    "triptych/exchange",
    "triptych/results/first_screen",
    "triptych/participants",
    "triptych/results",
    "triptych/results/frame",
    "triptych/privacy",
    "triptych/preview",
    "triptych/annotate",
    "triptych/people",
    "triptych/study",
    "triptych/formats",
    "triptych/stats",
    "triptych/rubric",
    "triptych/storage",
    "triptych/languages",
    "triptych",
)
# what a program finds under the package's own name: the command line, and what scripts import
DOORS = {"triptych/__main__.py": "triptych/cli", "triptych/__init__.py": "triptych/scripting"}
# Streamlit runs the files of pages/, which is not a package and has no docstring
PAGES = "Screens; the sub-folder says who may open them. No query, no figure, no other page."
# third-party packages that only some rooms may import
ONLY_IN = {
    "streamlit": ("app.py", "pages", "components"),
    "plotly": ("components",),
    "st_aggrid": ("components",),
    "sqlalchemy": ("triptych", "components/shell/state.py"),
    "sqlmodel": ("triptych", "components/shell/state.py"),
    "starlette": ("app.py", "triptych/web"),
}
# the largest number of modules in one folder, and the folders that may hold more: no sensible split exists, or they are
# one screen whose parts all depend on each other (components/workbench)
MOST_MODULES, MOST_BY_FOLDER, MOST_FLAT = (
    20,
    {"triptych/stats": 30, "components/workbench": 30},
    5,
)


def room_of(path: str) -> str:
    """The room of a file, the innermost one that holds it; app.py is above all of them."""
    if path in DOORS:
        return DOORS[path]
    holding = [room for room in ROOMS if path.startswith(f"{room}/")]
    return max(holding, key=len, default="app.py")


def sentence_of(room: str) -> str:
    """The first sentence of the room's own docstring: what it is for and what must not be in it."""
    if room == "pages":
        return PAGES
    init = ROOT / room / "__init__.py"
    text = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8")))
    return " ".join((text or "").partition("\n\n")[0].split())


def drawing() -> str:
    """The rooms as docs/design.md shows them."""
    lines = ["| room | what it is for |", "|---|---|"]
    lines += [f"| `{room}/` | {sentence_of(room)} |" for room in ROOMS]
    return "\n".join(lines)


def written(text: str) -> str:
    """The design with today's drawing between its two marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{drawing()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    DESIGN.write_text(written(DESIGN.read_text(encoding="utf-8")), encoding="utf-8")
