"""Plans in which annotators share no item, or that leave items out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triptych.stats.numbers import counted
from triptych.study import pairing
from triptych.study.lint.findings import LintFinding, about
from triptych.study.lint.material import Material


def plan_gaps(m: Material) -> Iterator[LintFinding]:
    """If a plan's annotators share no item, a severe annotator cannot be distinguished from a weak system."""
    if not m.plan and m.most_raters == 1:
        text = "Every item is rated by one annotator, so no two annotators share an item."
        advice = (
            "Agreement cannot be computed, and a severe annotator cannot be distinguished from weak responses. "
            "Give a subset of the items more annotators."
        )
        yield LintFinding("warning", text, advice)
    parts = pairing.connected(m.plan)
    if len(parts) > 1:
        groups = "; ".join(_some(part) for part in parts[:4])
        text = f"The plan falls into {len(parts)} parts that share no item: {groups}."
        advice = "Give at least one item of each part to an annotator of another part, so that ratings can be compared."
        yield LintFinding("grave", text, advice, blocking=True)
    planned = {line.item_id for line in m.plan}
    left = [item for item in m.items if item.external_id not in planned] if planned else []
    text = f"{counted(len(left), 'item')} without an annotator in the plan."
    yield from about(left, "warning", text, "Nobody will rate them. Add lines to the plan or leave the items out.")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (" …" if len(names) > 4 else "")
