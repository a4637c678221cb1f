"""How to cite the data of a report: a file in the Citation File Format 1.2.0."""

from __future__ import annotations

import yaml

from triptych.reports.facts import Facts
from triptych.reports.heds import Sheet


def citation(facts: Facts, sheet: Sheet, sha256: str) -> str:
    """CITATION.cff; the authors are those of the datasheet, or the study's authors without a name."""
    people = [sheet[number, ""].text for number in ("1.3.1.1", "1.3.2.1") if (number, "") in sheet]
    names = dict.fromkeys(name for name in people if name) or {f"The authors of the study {facts.slug}": None}
    return yaml.safe_dump(
        {
            "cff-version": "1.2.0",
            "type": "dataset",
            "title": f"Human evaluation: {facts.title}",
            "message": "If you use these results, cite them as below, with the hash of the snapshot.",
            "version": sha256,
            "date-released": f"{facts.as_of:%Y-%m-%d}",
            "authors": [{"name": name} for name in names],
            "keywords": ["human evaluation", "Triptych"],
        },
        sort_keys=False,
        allow_unicode=True,
    )
