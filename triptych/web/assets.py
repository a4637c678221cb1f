"""Serves the components' files at addresses with a hash of their content, so that browsers may cache them for ever."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from mimetypes import guess_type

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from triptych.languages.language import ENGLISH, codes, for_browser
from triptych.settings import app_folder

COMPONENTS = app_folder() / "components"
MARKDOWN = "workbench/markdown"  # requested only if a study has Markdown
FOLDERS = ("rubric_builder", "workbench", "workbench/texts", MARKDOWN, f"{MARKDOWN}/vendor")
SERVED = (".js", ".css")
CACHE_FOR_GOOD = {"Cache-Control": "public, max-age=31536000, immutable"}


@lru_cache(maxsize=1)
def files() -> dict[str, bytes]:
    """Path → bytes of all scripts, styles and catalogues, read once."""
    paths = [path for folder in FOLDERS for path in sorted((COMPONENTS / folder).iterdir()) if path.suffix in SERVED]
    catalogues = {f"language/{code}.json": for_browser(code) for code in codes() if code != ENGLISH}
    return {path.relative_to(COMPONENTS).as_posix(): path.read_bytes() for path in paths} | catalogues


@lru_cache(maxsize=1)
def version() -> str:
    """A digest of all served files."""
    digest = hashlib.sha256()
    for name, content in files().items():
        digest.update(name.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()[:16]


def modules(*folders: str) -> list[str]:
    """The scripts of these folders, which a page requests together instead of following the imports level by level."""
    return [name for name in files() if name.rpartition("/")[0] in folders and name.endswith(".js")]


async def _file(request: Request) -> Response:
    digest, _, name = request.path_params["path"].partition("/")
    if digest != version() or name not in files():
        # without this, Streamlit would answer with its page, which a browser would run as a script
        return PlainTextResponse("No such file in this version.", status_code=404)
    return Response(files()[name], media_type=guess_type(name)[0], headers=CACHE_FOR_GOOD)


ASSET_ROUTES = [Route("/assets/{path:path}", _file)]
