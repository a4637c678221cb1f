"""Real servers for tests: the same ones that the benchmarks measure."""

from __future__ import annotations

from bench.server import Server, ServerFailed, running_app
from bench.world import World, build_world

__all__ = ["Server", "ServerFailed", "World", "build_world", "running_app"]
