"""Waiting times of a lead during set-up: refused files, the linter, and a slider of the planner."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.analysis import milliseconds
from bench.figures import Figure, at_most
from bench.options import Options
from triptych.errors import ImportRefused
from triptych.formats import read_items
from triptych.formats.model import CandidateDraft, ItemDraft
from triptych.rubric.files import read_shipped
from triptych.simulate.demo import HALF_DONE
from triptych.simulate.planner import advise
from triptych.stats.components import Components
from triptych.stats.power import Plan
from triptych.study.lint import linter

MEGABYTES = 2**20
ITEMS = 3_000


def lead(options: Options, home: Path) -> list[Figure]:
    """Hostile uploads, the linter on a large study, and one step of the planner's sliders."""
    return [uploads(), linting(options.rounds(10)), slider(options.rounds(20))]


def uploads() -> Figure:
    """Each hostile file once; with fewer than twenty values, p95 is the slowest."""
    files = dict(hostile_files())
    took = {name: milliseconds(partial(_refuse, content, name), 1)[0] for name, content in files.items()}
    slowest = max(took, key=lambda name: took[name])
    note = f"{len(files)} files of up to 20 MB or that much when opened; the slowest, {slowest}, {took[slowest]:.0f} ms"
    return at_most("bombs refused", "ms", list(took.values()), 1000, by="p95", note=note)


def hostile_files() -> Iterator[tuple[str, bytes]]:
    """Name and content of hostile files below the size limit of uploads."""
    yield "commas.csv", b"item_id,context,cand:a\n" + b"," * (19 * MEGABYTES)
    yield "lines.csv", b"item_id,context,cand:a\n" + b"\n" * (19 * MEGABYTES)
    yield "quotes.csv", b"item_id,context,cand:a\n" + b'"x' * (9 * MEGABYTES)
    yield "objects.json", b"[" + b"{}," * (6 * MEGABYTES) + b"{}]"
    yield "numbers.json", b"[" + b"1," * (9 * MEGABYTES) + b"1]"
    yield "lines.jsonl", b"{}\n" + b"x\n" * (9 * MEGABYTES)
    yield "rows.xlsx", _workbook(b"<row/>" * 5_000_000)
    yield "cells.xlsx", _workbook(b"<row>" + b"<c><v>1</v></c>" * 3_000_000 + b"</row>")


def _workbook(rows: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"<workbook><sheets/></workbook>")
        archive.writestr("xl/worksheets/sheet1.xml", b"<worksheet><sheetData>" + rows + b"</sheetData></worksheet>")
    return buffer.getvalue()


def _refuse(content: bytes, name: str) -> None:
    try:
        accepted = read_items(content, name).ok
    except ImportRefused:
        return
    assert not accepted, f"{name} was read"


def linting(rounds: int) -> Figure:
    rubric, items = read_shipped()[HALF_DONE][1], long_items()
    taken = milliseconds(lambda: linter.lint(rubric, items, ()), rounds)
    note = f"{ITEMS:,} items of three candidates of 60 words"
    return at_most("linter before launch", "ms", taken, 1000, note=note)


def long_items() -> list[ItemDraft]:
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghiklmnoprstuw", k=draw.randint(2, 9))) for _ in range(3_000)]
    texts = [" ".join(draw.choices(words, k=60)) for _ in range(500)]
    return [
        ItemDraft(
            external_id=f"i{n}",
            context_text=f"{texts[n % 500]} {n}",
            context_turns=(),
            candidates=tuple(CandidateDraft(f"sys-{k}", f"{texts[(n * 3 + k) % 500]} {n}.") for k in range(3)),
            meta={},
            extra_texts={},
            row=n + 1,
        )
        for n in range(ITEMS)
    ]


def slider(rounds: int) -> Figure:
    """A different plan in each round, so that nothing is cached."""
    scatter, items = Components(item=0.5, annotator=0.4, residual=1.2), iter(range(100, 100 + rounds))
    taken = milliseconds(lambda: advise(Plan(next(items), 3, 12), 0.31, scatter), rounds)
    note = "about 100 items × 3 raters, 12 annotators, and the gain from more of either"
    return at_most("planner: one point of a slider", "ms", taken, 150, note=note)
