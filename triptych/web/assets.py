"""The workbench's own files under an address that names their content, so that browsers may keep them for ever."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from triptych.settings import ROOT

FOLDER = ROOT / "components" / "workbench"
SERVED = (".js", ".css")


@lru_cache(maxsize=1)
def version() -> str:
    """A digest of all served files, fixed when the process starts."""
    digest = hashlib.sha256()
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in SERVED:
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class ImmutableFiles(StaticFiles):
    """Scripts and styles of one folder, never anything else that lies in it."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if not path.endswith(SERVED):
            raise HTTPException(404)
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


async def _gone(_: object) -> Response:
    # without this Streamlit answers with its page, and a browser would read that as a script
    return PlainTextResponse("No such file in this version.", status_code=404)


ASSET_ROUTES = [
    Mount(f"/assets/{version()}", app=ImmutableFiles(directory=FOLDER)),
    Route("/assets/{rest:path}", _gone),
]
