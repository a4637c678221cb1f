"""The preregistration: a text to submit to a registry, and sentences for a report."""

from __future__ import annotations

from collections.abc import Iterator

from triptych.rubric.model import Rubric
from triptych.stats.analysis.collection import bound_in_words
from triptych.stats.numbers import written
from triptych.storage.models import Study
from triptych.study.settings import Preregistration

PARTS = {
    "criteria": "Criteria that will be reported",
    "primary_criterion": "Primary criterion",
    "primary_contrast": "Primary contrast",
    "sample": "Items and annotators",
    "stop_rule": "When collection stops",
    "exclusions": "Who and what will be left out",
    "slices": "Slices of the items to compare, by field",
}


def declared(rubric: Rubric, declaration: Preregistration) -> Iterator[tuple[str, str]]:
    """(heading, text) of every declared part, criteria by their titles."""
    titles = {criterion.key: criterion.title for criterion in rubric.criteria}
    for name, heading in PARTS.items():
        value: str | tuple[str, ...] = getattr(declaration, name)
        words = [titles.get(key, key) for key in (value if isinstance(value, tuple) else [value]) if key]
        if words:
            yield heading, "; ".join(words)
    if declaration.margins:
        words = [f"{titles.get(key, key)} ±{written(margin, 'margin')}" for key, margin in declaration.margins.items()]
        yield "Practically equal within, in scale points (shares from 0 to 1)", "; ".join(words)
    if declaration.declared:
        yield "If results are opened early", bound_in_words(declaration.interim_bound)


def as_text(study: Study, rubric: Rubric, declaration: Preregistration) -> str:
    """The whole declaration, with the hash of the design once there is one."""
    lines = [f"Preregistration: {study.title}", f"Rubric: {rubric.title}; {study.round} round", ""]
    lines += [f"{heading}: {words}" for heading, words in declared(rubric, declaration)]
    if study.opened_at is not None:
        lines += ["", f"Frozen at launch on {study.opened_at:%Y-%m-%d %H:%M} UTC. Design {study.design_hash}"]
    return "\n".join(lines)
