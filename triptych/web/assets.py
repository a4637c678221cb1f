"""The workbench's own files under an address that names their content, so that browsers may keep them for ever."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from mimetypes import guess_type

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from triptych.settings import app_folder

FOLDER = app_folder() / "components" / "workbench"
SERVED = (".js", ".css")
FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}


@lru_cache(maxsize=1)
def files() -> dict[str, bytes]:
    """Scripts and styles of the folder, never anything else that lies in it, as they were when the process started."""
    return {path.name: path.read_bytes() for path in sorted(FOLDER.iterdir()) if path.suffix in SERVED}


@lru_cache(maxsize=1)
def version() -> str:
    """A digest of all served files."""
    digest = hashlib.sha256()
    for name, content in files().items():
        digest.update(name.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()[:16]


def modules() -> list[str]:
    """The scripts' names: all are asked for at once, instead of one level of imports after the other."""
    return [name for name in files() if name.endswith(".js")]


async def _file(request: Request) -> Response:
    place, _, name = request.path_params["path"].partition("/")
    if place != version() or name not in files():
        # without this Streamlit answers with its page, and a browser would read that as a script
        return PlainTextResponse("No such file in this version.", status_code=404)
    return Response(files()[name], media_type=guess_type(name)[0], headers=FOR_EVER)


ASSET_ROUTES = [Route("/assets/{path:path}", _file)]
