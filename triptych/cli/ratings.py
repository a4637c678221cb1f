"""Finished ratings from files named on a command line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from triptych.cli.studies import items_from, read, rubric_text
from triptych.errors import ImportRefused
from triptych.exchange.import_ratings import asked_as_proposed, asked_by, proposed
from triptych.formats.model import ItemFile
from triptych.formats.ratings import read_files
from triptych.formats.ratings.assemble import Assembled, assemble
from triptych.formats.ratings.model import FinishedRatings
from triptych.formats.ratings.proposal import ProposedCriterion


def assembled_from(
    title: str,
    files: Sequence[FinishedRatings],
    items: str | None,
    rubric: str | None,
    positive: Sequence[str],
    encoding: str | None = None,
) -> Assembled:
    """What the files would become; `items` is a path, `rubric` a path or key, `positive` as in `_with_positive`.

    Raises ImportRefused for a file that cannot be read or has errors, InvalidRubric.
    """
    texts = items_from([items], encoding) if items else None
    for file in files:
        _refuse_faulty(file.name, file)
    if items and texts:
        _refuse_faulty(items, texts)
    if not files:
        raise ImportRefused("Name at least one file of ratings.")
    if rubric and positive:
        raise ImportRefused("The rubric says itself which options count as positive; leave --positive out.")
    if rubric:
        asked = asked_by(rubric_text(rubric), files)
    else:
        asked = asked_as_proposed(title, files, _with_positive(proposed(files), positive))
    return assemble(files, asked, texts)


def _refuse_faulty(name: str, file: FinishedRatings | ItemFile) -> None:
    if not file.ok:
        raise ImportRefused("\n".join([f"{name} has errors:", *map(str, file.problems)]))


def ratings_in(people: Sequence[str], judges: Sequence[str], encoding: str | None = None) -> list[FinishedRatings]:
    """The ratings in files by people and in files by models. Raises ImportRefused."""
    by_people = [file for path in people for file in read_files(read(path, encoding), Path(path).name)]
    return by_people + [file for path in judges for file in read_files(read(path, encoding), Path(path).name, "judge")]


def _with_positive(criteria: Sequence[ProposedCriterion], positive: Sequence[str]) -> tuple[ProposedCriterion, ...]:
    """The criteria with options that count as positive, each written "criterion=option".

    Raises ImportRefused for a criterion without such an option.
    """
    options: dict[str, list[str]] = defaultdict(list)
    for pair in positive:
        name, _, option = pair.partition("=")
        if not any(criterion.name == name and option in criterion.labels for criterion in criteria):
            raise ImportRefused(f"--positive {pair}: no criterion '{name}' has an option '{option}' in these files.")
        options[name].append(option)
    return tuple(
        replace(criterion, positive=tuple(options.get(criterion.name, criterion.positive))) for criterion in criteria
    )
