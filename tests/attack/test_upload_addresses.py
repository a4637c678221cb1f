"""What a stranger asks of Streamlit's uploads costs the server little."""

from __future__ import annotations

import asyncio

import aiohttp
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from bench.client import PageSession
from bench.server import running_app
from components.shell.upload_addresses import MOST_FILES_AT_ONCE


def test_a_stranger_gets_few_addresses_of_uploads_for_many_names(tmp_path, forked):
    """Without the limit each message of this length stalls the server for seconds."""
    asked = BackMsg()
    asked.file_urls_request.request_id = "many"
    asked.file_urls_request.file_names.extend(["a"] * 100_000)

    async def answer(url: str) -> ForwardMsg:
        async with aiohttp.ClientSession() as http:
            page = PageSession(http, url)
            await page.open()
            socket = page._connection()
            await socket.send_bytes(asked.SerializeToString())
            async with asyncio.timeout(60):
                while True:
                    message = ForwardMsg.FromString(await socket.receive_bytes())
                    if message.WhichOneof("type") == "file_urls_response":
                        await page.close()
                        return message

    with running_app(tmp_path, start=forked) as server:
        message = asyncio.run(answer(server.url))

    assert message.file_urls_response.response_id == "many"
    assert len(message.file_urls_response.file_urls) == MOST_FILES_AT_ONCE
