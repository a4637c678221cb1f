"""The places of a study in display order, and the screens of each, for the router and the frame."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Screen:
    """A page of a place: its file below pages/, its name in the list of screens, and its section of the guide."""

    page: str
    name: str
    section: str

    @property
    def path(self) -> str:
        """The last part of its address."""
        return PATHS.get(self.page, Path(self.page).stem)


PATHS = {"lead/design.py": "setup"}
# the first screen has its place's name and address
PLACES = {
    "Setup": (
        Screen("lead/design.py", "Design", "from-draft-to-launch"),
        Screen("lead/preview.py", "Preview", "from-draft-to-launch"),
        Screen("lead/dry_run.py", "Dry run", "is-it-large-enough"),
        Screen("lead/planner.py", "Planner", "is-it-large-enough"),
        Screen("lead/backups.py", "Backups", "keeping-it-safe"),
    ),
    "People": (
        Screen("lead/people.py", "Who takes part", "letting-annotators-in"),
        Screen("lead/workbooks.py", "Workbooks", "rating-in-a-spreadsheet"),
    ),
    "Results": (
        Screen("lead/results.py", "Systems", "results"),
        Screen("lead/quality.py", "Quality", "while-it-runs"),
    ),
    "Items": (
        Screen("lead/items.py", "Second looks", "while-it-runs"),
        Screen("lead/ratings.py", "Ratings", "results"),
    ),
    "Report": (Screen("lead/report.py", "Report", "reports-and-exports"),),
    "Log": (Screen("lead/log.py", "Log", "keeping-it-safe"),),
}
# address in earlier versions → the page that has replaced it
FORMER = {"design": "lead/design.py", "study": "lead/design.py", "overview": "lead/design.py"}
# about a study only if the address names one
WITHOUT_STUDY = {"planner", "help"}


def title_of(place: str, screen: Screen) -> str:
    """The page's heading."""
    return place if screen is PLACES[place][0] else screen.name


def place_of(path: str) -> tuple[str, Screen] | None:
    """The place and the screen at this address; None for a page that is not about a study."""
    named = {screen.path: (place, screen) for place, screens in PLACES.items() for screen in screens}
    return named.get(path)
