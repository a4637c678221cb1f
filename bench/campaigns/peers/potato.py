"""Potato: a YAML configuration, one state file per annotator, and a page that is reloaded for every item."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

import aiohttp
import yaml

from bench.campaigns.peers.material import PLACES, Question, questions, texts
from bench.campaigns.peers.tool import (
    NotMeasured,
    Project,
    Screen,
    browserlike,
    clean,
    environment,
    reachable,
    start_process,
)
from bench.client import PageFailed
from bench.server import Server, free_port

VERSION = "2.12.1"
EXPORTING = 600  # seconds
SHOWN = re.compile(r'id="instance_id"[^>]*value="([^"]+)"')
EXPORTED = re.compile(r"num_records: (\d+)")
# requests of a loaded page; scripts and styles come from the browser's cache
FIRST_READS = ("/api/colors", "/api/spans/{item}", "/pocket/api/routing", "/api/keyword_highlights/{item}")
LATER_READS = ("/api/schemas", "/api/colors", "/api/spans/{item}", "/api/keyword_highlights/{item}")


class Potato:
    """Version 2.12.1 of `potato-annotation`: likert and radio schemes under four texts, no passwords."""

    name: ClassVar[str] = "Potato"
    notes: ClassVar[str] = (
        "`potato start` with twelve `likert` and three `radio` schemes, all required, under four text fields; fixed "
        "order, for each annotator an equal share of all places (`max_annotations_per_user`); no passwords, no export "
        "apart from its own state files. A submit is its save, its step to the next item and the page of that item; "
        "the page's own eight requests follow before the next item is rated. Its fifteen requests that track clicks "
        "are left out, in its favour. For the export, state files are written as it writes them"
    )

    def install(self) -> str:
        self._commands()
        return VERSION

    def _commands(self) -> Path:
        return environment("potato-annotation", VERSION)

    def prepare(self, home: Path, items: int, annotators: int, raters: int) -> Project:
        home.mkdir(parents=True, exist_ok=True)
        (home / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in texts(items)))
        (home / "config.yaml").write_text(yaml.safe_dump(_configuration(items, annotators, raters), sort_keys=False))
        return Project(home, items, annotators, raters, free_port())

    def start(self, project: Project) -> Server:
        command: list[str | Path] = [self._commands() / "potato", "start", "config.yaml", "--host", "127.0.0.1"]
        return start_process(project, [*command, "-p", str(project.port)], {})

    def answers(self, project: Project) -> bool:
        return reachable(f"{project.url}/health")

    def sign_up(self, project: Project) -> Sequence[Mapping[str, str]]:
        return asyncio.run(_signed_up(project))

    @asynccontextmanager
    async def visit(self, project: Project, cookies: Mapping[str, str], number: int) -> AsyncIterator[PotatoVisitor]:
        async with browserlike(cookies) as http:
            visitor = PotatoVisitor(http, project.url, questions(), number)
            await visitor.load()
            yield visitor

    def screen(self, project: Project) -> Screen:
        return Screen(
            address=f"{project.url}/annotate",
            shown="""document.getElementById('main-content')?.style.display === 'block'
                ? document.getElementById('instance_id').value : null""",
            question="form.annotation-form",
            option="input[type=radio]",
            chosen=":checked",
            submit="#next-btn",
        )

    def fill(self, project: Project, count: int) -> None:
        """Write state files of further annotators in Potato's format, each with every item."""
        for number in range(-(-count // project.items)):
            done = [f"item-{n}" for n in range(min(project.items, count - number * project.items))]
            folder = project.home / "annotation_output" / f"filled-{number}"
            folder.mkdir(parents=True)
            (folder / "user_state.json").write_text(json.dumps(_state(folder.name, done)))

    def export(self, project: Project) -> int:
        program, arguments = self._commands() / "python", ["-c", "config.yaml", "-f", "csv", "-o", "out"]
        ended = subprocess.run(
            [program, "-m", "potato.export", *arguments],
            cwd=project.home,
            env=clean({}),
            check=True,
            capture_output=True,
            text=True,
            timeout=EXPORTING,
        )
        count = EXPORTED.search(ended.stdout)
        if count is None:
            raise NotMeasured(f"The export does not say how much it wrote: {ended.stdout[-1000:]}")
        return int(count[1])

    def stored(self, project: Project) -> dict[str, str]:
        files = (project.home / "annotation_output").glob("*/user_state.json")
        return {
            f"{file.parent.name}/{item}": item
            for file in files
            for item, ratings in json.loads(file.read_text())["instance_id_to_label_to_value"].items()
            if ratings
        }


class PotatoVisitor:
    """The requests of Potato's page for an annotator."""

    def __init__(self, http: aiohttp.ClientSession, url: str, asked: Sequence[Question], number: int) -> None:
        self.http, self.url, self.asked, self.number = http, url, asked, number
        self.item: str | None = None

    @property
    def work(self) -> str | None:
        return f"{_name(self.number)}/{self.item}" if self.item else None

    async def load(self) -> None:
        """Load the current item's page and the requests of its scripts."""
        await self._page()
        await self._reads()

    async def draft(self) -> None:
        """The page's automatic save, half a second after the last click."""
        await self._post("/updateinstance", self._annotation())

    async def submit(self) -> float:
        before = self.item
        began = time.perf_counter()
        await self._post("/updateinstance", self._annotation())
        await self._post("/annotate", {"action": "next_instance", "instance_id": before})
        await self._page()
        waited = time.perf_counter() - began
        if self.item == before:
            self.item = None
        await self._reads()
        return waited

    def _annotation(self) -> dict[str, object]:
        chosen = {q.name: q.options[(self.number + n) % len(q.options)] for n, q in enumerate(self.asked)}
        return {
            "instance_id": self.item,
            "annotations": {f"{name}:{option}": option for name, option in chosen.items()},
            "cleared_schemas": [],
            "span_annotations": [],
            "response_time_seconds": 5.0,
        }

    async def _page(self) -> None:
        async with self.http.get(f"{self.url}/annotate") as answer:
            match = SHOWN.search(await answer.text())
            self.item = match[1] if answer.status == 200 and match else None

    async def _reads(self) -> None:
        """Like a browser, in parallel over at most six connections."""
        for paths in (FIRST_READS, LATER_READS) if self.item else ():
            await asyncio.gather(*(self._read(path.format(item=self.item)) for path in paths))

    async def _read(self, path: str) -> None:
        async with self.http.get(f"{self.url}{path}") as answer:
            await answer.read()

    async def _post(self, path: str, body: Mapping[str, object]) -> None:
        headers = {"X-Potato-Navigation": "1"}
        async with self.http.post(f"{self.url}{path}", json=body, headers=headers) as answer:
            text = await answer.text()
            if answer.status != 200:
                raise PageFailed(f"{path} was answered with {answer.status}: {text[:300]}")


def _configuration(items: int, annotators: int, raters: int) -> dict[str, object]:
    """The study, as a user of Potato would configure it."""
    fields = [{"key": "review", "type": "text", "label": "Review"}]
    fields += [{"key": f"response_{p}", "type": "text", "label": f"Response {p.upper()}"} for p in PLACES]
    return {
        "annotation_task_name": "Replies to customer reviews",
        "task_dir": ".",
        "data_files": ["items.jsonl"],
        "output_annotation_dir": "annotation_output",
        "item_properties": {"id_key": "id", "text_key": "review"},
        "instance_display": {"fields": fields},
        "annotation_schemes": [_scheme(question) for question in questions()],
        "require_password": False,
        "user_config": {"allow_all_users": True, "users": []},
        "assignment_strategy": "fixed_order",
        "num_annotators_per_item": raters,
        "max_annotations_per_user": min(items, -(-items * raters // annotators)),
    }


def _scheme(question: Question) -> dict[str, object]:
    common = {"name": question.name, "description": question.title, "label_requirement": {"required": True}}
    if question.ends:
        ends = dict(zip(("min_label", "max_label"), question.ends, strict=True))
        return {"annotation_type": "likert", **common, "size": len(question.options), **ends}
    return {"annotation_type": "radio", **common, "labels": list(question.options)}


def _state(user: str, done: Sequence[str]) -> dict[str, object]:
    ratings = [[{"schema": q.name, "name": q.options[0]}, q.options[0]] for q in questions()]
    return {
        "user_id": user,
        "instance_id_ordering": list(done),
        "current_instance_index": 0,
        "instance_id_to_label_to_value": dict.fromkeys(done, ratings),
    }


def _name(number: int) -> str:
    return f"annotator-{number}"


async def _signed_up(project: Project) -> list[dict[str, str]]:
    return [await _cookies(project, _name(number)) for number in range(project.annotators)]


async def _cookies(project: Project, name: str) -> dict[str, str]:
    """Sign in without a password, which creates the annotator."""
    async with browserlike({}) as http:
        async with http.post(f"{project.url}/auth", data={"email": name, "pass": ""}) as answer:
            answer.raise_for_status()
        return {cookie.key: cookie.value for cookie in http.cookie_jar}
