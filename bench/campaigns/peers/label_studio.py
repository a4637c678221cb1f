"""Label Studio: a Django server on SQLite, and a React page that fetches one task after the other."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
import shutil
import sqlite3
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from xml.sax.saxutils import quoteattr

import aiohttp

from bench.campaigns.peers.material import PLACES, Question, questions, texts
from bench.campaigns.peers.tool import (
    NotMeasured,
    Project,
    Screen,
    browserlike,
    environment,
    reachable,
    seconds,
    serving,
    start_process,
)
from bench.client import PageFailed
from bench.server import Server, free_port

VERSION = "1.23.2"
MAX_ANNOTATORS = 50  # who are signed up once, when the environment is created
BATCH = 10_000  # items per request
LEAD, TOKEN, PASSCODE = "lead@example.org", "b" * 40, "for benchmarks only 1"
QUIET = {"COLLECT_ANALYTICS": "False", "LATEST_VERSION_CHECK": "False", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": ""}
CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
STORED = """
SELECT htx_user.email || '/' || json_extract(task.data, '$.id'), json_extract(task.data, '$.id')
FROM task_completion
JOIN task ON task.id = task_completion.task_id
JOIN htx_user ON htx_user.id = task_completion.completed_by_id
"""


class LabelStudio:
    """Version 1.23.2 of `label-studio`: seven-star ratings and single choices under three texts."""

    name: ClassVar[str] = "Label Studio"
    notes: ClassVar[str] = (
        "`label-studio start` with twelve `Rating` and three `Choices` controls, all required, on three `Text` "
        "objects; sequential sampling; analytics, version check and error reports off by its documented settings. A "
        "submit is the annotation and the next task; the request for label links that follows is made before the next "
        "task is rated. Its database is prepared once, with fifty annotators signed up, so that no start-up includes "
        "its first migrations"
    )

    def install(self) -> str:
        self._base()
        return VERSION

    def _base(self) -> Path:
        """A data folder after the first migrations, with a lead and fifty annotators; created once."""
        base = environment("label-studio", VERSION).parent / "base"
        if not (base / "cookies.json").exists():
            shutil.rmtree(base, ignore_errors=True)
            base.mkdir()
            project = Project(base, 0, MAX_ANNOTATORS, 0, free_port())
            with serving(self, project):
                cookies = asyncio.run(_signed_up(project))
            (base / "cookies.json").write_text(json.dumps(cookies))
        return base

    def prepare(self, home: Path, items: int, annotators: int, raters: int) -> Project:
        if annotators > MAX_ANNOTATORS:
            raise NotMeasured(f"no more than {MAX_ANNOTATORS} annotators are signed up")
        shutil.copytree(self._base(), home, dirs_exist_ok=True)
        project = Project(home, items, annotators, raters, free_port())
        with serving(self, project):
            study = {"title": "Replies", "label_config": _labelling(), "maximum_annotations": raters}
            settings = {"sampling": "Sequential sampling", "show_skip_button": False, "show_collab_predictions": False}
            _ask(project, "POST", "/api/projects/", {**study, **settings})
            importing = seconds(lambda: _import(project, texts(items)))
        return replace(project, importing=importing)

    def start(self, project: Project) -> Server:
        command: list[str | Path] = [
            environment("label-studio", VERSION) / "label-studio",
            "start",
            "--no-browser",
            "--data-dir",
            ".",
        ]
        command += ["--internal-host", "127.0.0.1", "--port", str(project.port), "--enable-legacy-api-token"]
        command += ["--username", LEAD, "--password", PASSCODE, "--user-token", TOKEN]
        return start_process(project, command, QUIET)

    def answers(self, project: Project) -> bool:
        return reachable(f"{project.url}/health")

    def sign_up(self, project: Project) -> Sequence[Mapping[str, str]]:
        return json.loads((project.home / "cookies.json").read_text())[: project.annotators]

    @asynccontextmanager
    async def visit(self, project: Project, cookies: Mapping[str, str], number: int) -> AsyncIterator[StudioVisitor]:
        async with browserlike(cookies) as http:
            visitor = StudioVisitor(http, project.url, questions(), number)
            await visitor.load()
            yield visitor

    def screen(self, project: Project) -> Screen:
        return Screen(
            address=f"{project.url}/projects/1/data?labeling=1",
            shown="""document.querySelectorAll('.lsf-choices').length === 3
                ? document.querySelector('.lsf-current-task__task-id').textContent : null""",
            question=".ant-rate, .lsf-choices",
            option=".ant-rate-star [role=radio], .ant-radio-wrapper",
            chosen="[aria-checked=true], .ant-radio-checked",
            submit="[data-testid=bottombar-submit-button]",
        )

    def fill(self, project: Project, count: int) -> None:
        """Import tasks with annotations, through its own API."""
        each, more = divmod(count, project.items)
        annotation = {"result": _result(questions(), 0), "lead_time": 5.0}
        tasks = [
            {"data": item, "annotations": [annotation] * (each + (n < more))}
            for n, item in enumerate(texts(project.items))
        ]
        _import(project, tasks, batch=20)

    def export(self, project: Project) -> int:
        rows = csv.reader(io.StringIO(_ask(project, "GET", "/api/projects/1/export?exportType=CSV")))
        return sum(1 for _ in rows) - 1

    def stored(self, project: Project) -> dict[str, str]:
        with closing(sqlite3.connect(project.home / "label_studio.sqlite3")) as database:
            return dict(database.execute(STORED).fetchall())


class StudioVisitor:
    """The requests of Label Studio's page for an annotator."""

    def __init__(self, http: aiohttp.ClientSession, url: str, asked: Sequence[Question], number: int) -> None:
        self.http, self.url, self.asked, self.number = http, url, asked, number
        self.task: Any = None  # as JSON; None if none is left
        self.draft_id: int | None = None
        self.view = 0

    @property
    def work(self) -> str | None:
        return f"{_email(self.number)}/{self.task['data']['id']}" if self.task else None

    async def load(self) -> None:
        """What the page fetches before its first task, as far as it is needed."""
        columns = {"data": {"title": "Default", "type": "list", "target": "tasks"}}
        self.view = (await self._send("POST", "/api/dm/views?tabID=0&project=1", columns | {"project": "1"}))["id"]
        for path in ("/api/projects/1", "/api/dm/columns?project=1", "/api/dm/project?project=1"):
            await self._send("GET", path)
        await self._next()
        await self._send("GET", "/api/label_links?project=1&expand=label")

    async def draft(self) -> None:
        """The page's automatic save while the annotator rates."""
        draft = await self._send("POST", f"/api/tasks/{self.task['id']}/drafts?project=1", self._annotation())
        self.draft_id = draft["id"]

    async def submit(self) -> float:
        annotation = self._annotation() | ({"draft_id": self.draft_id} if self.draft_id else {})
        began = time.perf_counter()
        await self._send("POST", f"/api/tasks/{self.task['id']}/annotations?project=1", annotation)
        await self._next()
        waited = time.perf_counter() - began
        self.draft_id = None
        await self._send("GET", "/api/label_links?project=1&expand=label")
        return waited

    def _annotation(self) -> dict[str, Any]:
        return {"lead_time": 5.0, "result": _result(self.asked, self.number), "project": "1"}

    async def _next(self) -> None:
        query = {"ordering": [], "selectedItems": {"all": False, "included": []}, "project": "1"}
        query["filters"] = {"conjunction": "and", "items": []}
        path = f"/api/dm/actions?id=next_task&tabID={self.view}&project=1"
        self.task = await self._send("POST", path, query, missing=404)

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None, missing: int = 0) -> Any:
        """The answer's JSON; None for the status `missing`. Raises PageFailed."""
        async with self.http.request(method, f"{self.url}{path}", json=body) as answer:
            if answer.status == missing:
                return None
            if answer.status >= 300:
                raise PageFailed(f"{path} was answered with {answer.status}: {(await answer.text())[:300]}")
            return await answer.json()


def _labelling() -> str:
    """The labelling configuration, as a user of Label Studio would write it."""
    lines = ["<View>", '<Header value="Review"/>', '<Text name="review" value="$review"/>']
    for place in PLACES:
        name = f"response_{place}"
        lines += [f'<Header value="Response {place.upper()}"/>', f'<Text name="{name}" value="${name}"/>']
        lines += [line for question in questions() if question.place == place for line in _control(question)]
    return "\n".join([*lines, "</View>"])


def _control(question: Question) -> Iterator[str]:
    common = f'name="{question.name}" toName="response_{question.place}" required="true"'
    yield f'<Header size="5" value={quoteattr(question.title)}/>'
    if question.ends:
        yield f'<Rating {common} maxRating="{len(question.options)}"/>'
    else:
        choices = "".join(f"<Choice value={quoteattr(option)}/>" for option in question.options)
        yield f'<Choices {common} choice="single-radio" showInline="true">{choices}</Choices>'


def _result(asked: Sequence[Question], number: int) -> list[dict[str, Any]]:
    """A complete annotation, as the page sends it."""
    regions = []
    for n, question in enumerate(asked):
        place = (number + n) % len(question.options)
        value = {"rating": place + 1} if question.ends else {"choices": [question.options[place]]}
        kind = "rating" if question.ends else "choices"
        names = {"from_name": question.name, "to_name": f"response_{question.place}"}
        regions.append({"id": f"r{n}", **names, "type": kind, "value": value, "origin": "manual"})
    return regions


def _import(project: Project, tasks: Sequence[Mapping[str, Any]], batch: int = BATCH) -> None:
    for start in range(0, len(tasks), batch):
        _ask(project, "POST", "/api/projects/1/import", list(tasks[start : start + batch]))


def _ask(project: Project, method: str, path: str, body: Any = None) -> str:
    """One request of the lead."""
    headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(f"{project.url}{path}", data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=1800) as answer:
        return answer.read().decode()


def _email(number: int) -> str:
    return f"annotator-{number}@example.org"


async def _signed_up(project: Project) -> list[dict[str, str]]:
    return [await _cookies(project, _email(number)) for number in range(project.annotators)]


async def _cookies(project: Project, email: str) -> dict[str, str]:
    """Create an account with the sign-up form."""
    page = f"{project.url}/user/signup/"
    async with browserlike({}) as http:
        async with http.get(page) as answer:
            match = CSRF.search(await answer.text())
            if match is None:
                raise NotMeasured("The sign-up form has no token.")
            token = match[1]
        form = {"csrfmiddlewaretoken": token, "email": email, "password": PASSCODE}
        async with http.post(page, data=form, headers={"Referer": page}) as answer:
            answer.raise_for_status()
        return {cookie.key: cookie.value for cookie in http.cookie_jar}
