"""preregistration.md: what was declared before the first annotation, and what was changed since."""

from __future__ import annotations

from collections.abc import Iterator

from triptych.reports.facts import Facts
from triptych.reports.markdown import code_span
from triptych.study.preregistration import declared


def declaration(facts: Facts) -> str:
    """The whole file. Its hash stands in snapshot.json."""
    return "\n\n".join(["# Preregistration", *_paragraphs(facts)]) + "\n"


def _paragraphs(facts: Facts) -> Iterator[str]:
    yield f"Study {code_span(facts.slug)}, {facts.round} round, rubric {code_span(facts.rubric.key)}."
    said = [f"- {heading}: {code_span(words)}" for heading, words in declared(facts.rubric, facts.preregistration)]
    yield "\n".join(said) if said else "Nothing was declared."
    if facts.opened_at is None:
        yield "The study has not been opened."
        return
    yield f"Frozen with the design at launch on {facts.opened_at:%Y-%m-%d %H:%M} UTC; later changes are amendments."
    changes = [
        f"- {one.at:%Y-%m-%d %H:%M} UTC, {code_span(', '.join(one.parts))}: {code_span(one.reason)}"
        for one in facts.amendments
    ]
    yield "\n".join(["Amendments:", "", *changes]) if changes else "There was no amendment."
    yield f"Hash of the design as it stands: {code_span(facts.design_hash or '')}"
