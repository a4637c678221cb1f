"""Short documents of a report: preregistration.md, CITATION.cff, and the script that recomputes every number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from triptych import stats
from triptych.formats.writers.model import File
from triptych.formats.writers.writing import text_file
from triptych.reports import analysis
from triptych.reports.facts import MADE_ELSEWHERE, Facts
from triptych.rubric import yaml_text
from triptych.storage.models import Origin
from triptych.study.preregistration import declared

STATS = Path(stats.__file__).parent


def code_span(text: str) -> str:
    """A Markdown code span on one line, in which user text is not markup.

    Its fence is longer than any run of backticks in the text.
    """
    line = " ".join(text.split())
    fence = "`" * (max(map(len, "".join(c if c == "`" else " " for c in line).split()), default=0) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"`{line}`"


def declaration(facts: Facts) -> str:
    """preregistration.md: what was declared before the first annotation, and later changes.

    snapshot.json contains its hash.
    """
    return "\n\n".join(["# Preregistration", *_paragraphs(facts)]) + "\n"


def _paragraphs(facts: Facts) -> Iterator[str]:
    yield f"Study {code_span(facts.study.slug)}, {facts.study.round} round, rubric {code_span(facts.rubric.key)}."
    lines = [
        f"- {heading}: {code_span(words)}" for heading, words in declared(facts.rubric, facts.settings.preregistration)
    ]
    yield "\n".join(lines) if lines else "Nothing was declared."
    if facts.origins and facts.origins <= MADE_ELSEWHERE:
        yield "The ratings were made elsewhere and imported: what was declared beforehand is unknown."
        return
    if Origin.imported in facts.origins:
        yield "Some ratings were made elsewhere and imported: what was declared before them is unknown."
    opened_at = facts.study.opened_at
    if opened_at is None:
        yield "The study has not been opened."
        return
    yield f"Frozen with the design at launch on {opened_at:%Y-%m-%d %H:%M} UTC; later changes are amendments."
    changes = [
        f"- {amendment.at:%Y-%m-%d %H:%M} UTC, {code_span(', '.join(amendment.parts))}: {code_span(amendment.reason)}"
        for amendment in facts.amendments
    ]
    yield "\n".join(["Amendments:", "", *changes]) if changes else "There were no amendments."
    yield f"Current hash of the design: {code_span(facts.study.design_hash or '')}"


def citation(facts: Facts, authors: Sequence[str], sha256: str) -> str:
    """CITATION.cff in the Citation File Format 1.2.0; without authors, with those of the study."""
    return yaml_text.write(
        {
            "cff-version": "1.2.0",
            "type": "dataset",
            "title": f"Human evaluation: {facts.study.title}",
            "message": "If you use these results, cite them as below, with the hash of the snapshot.",
            "version": sha256,
            "date-released": f"{facts.as_of:%Y-%m-%d}",
            "authors": [{"name": name} for name in authors or [f"The authors of the study {facts.study.slug}"]],
            "keywords": ["human evaluation", "Triptych"],
        }
    )


def script_files(sha256: str) -> Iterator[File]:
    """analysis.py with the snapshot's hash, and the modules of `stats` that it imports from its own folder."""
    source = Path(analysis.__file__).read_text(encoding="utf-8")
    source = source.replace("from triptych.stats", "from stats").replace('\nSNAPSHOT = ""', f'\nSNAPSHOT = "{sha256}"')
    yield text_file("analysis.py", source)
    for path in sorted(STATS.rglob("*.py")):
        yield text_file(f"stats/{path.relative_to(STATS).as_posix()}", path.read_text(encoding="utf-8"))
