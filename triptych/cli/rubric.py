"""`triptych rubric`: rubric files."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.cli.files import rubric_text
from triptych.cli.output import Reply, for_people
from triptych.rubric.files import RUBRICS, json_schema, parse_rubric, shipped_rubrics
from triptych.stats.numbers import counted


def check(files: Sequence[str]) -> Reply:
    """Check rubric files and list what they ask."""
    paths = files or [str(path) for path in shipped_rubrics().values()]
    rubrics = {path: parse_rubric(rubric_text(path), path) for path in paths}
    lines = [
        f"{path}: {rubric.title}, {counted(len(rubric.criteria), 'criterion', 'criteria')}, no problem found."
        for path, rubric in rubrics.items()
    ]
    values = [
        {"file": path, "title": rubric.title, "criteria": len(rubric.criteria)} for path, rubric in rubrics.items()
    ]
    return Reply(lines, {"rubrics": values})


def schema() -> Reply:
    """Write the JSON Schema of rubric files to the place where editors look for it."""
    path = RUBRICS / "schema.json"
    with for_people():
        path.write_text(json_schema(), encoding="utf-8")
    return Reply(["rubrics/schema.json is up to date."], {"file": str(path)})
