"""The workbench's own files under an address that names their content, so that browsers may keep them for ever."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from mimetypes import guess_type

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from triptych.settings import app_folder

FOLDER = app_folder() / "components" / "workbench"
SERVED = (".js", ".css")
PAGE = "/annotate"
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


class Ahead:
    """ASGI middleware: the page with the workbench names its modules, and the browser fetches them beside Streamlit's
    own files instead of after the page has been drawn. They are asked for last, so that nothing waits for them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        wanted = (f"<assets/{version()}/{name}>; rel=modulepreload; fetchpriority=low" for name in modules())
        self.link = ", ".join(wanted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].endswith(PAGE):
            return await self.app(scope, receive, send)

        async def send_with_link(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Link"] = self.link
            await send(message)

        return await self.app(scope, receive, send_with_link)


async def _file(request: Request) -> Response:
    place, _, name = request.path_params["path"].partition("/")
    if place != version() or name not in files():
        # without this Streamlit answers with its page, and a browser would read that as a script
        return PlainTextResponse("No such file in this version.", status_code=404)
    return Response(files()[name], media_type=guess_type(name)[0], headers=FOR_EVER)


ASSET_ROUTES = [Route("/assets/{path:path}", _file)]
