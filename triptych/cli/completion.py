"""`triptych completion`: completion of commands in a shell."""

from __future__ import annotations

from click.shell_completion import get_completion_class

from triptych.cli.commands import root
from triptych.cli.output import Reply


def script(shell: str) -> Reply:
    """The script that the shell evaluates."""
    completion = get_completion_class(shell)
    if completion is None:
        raise ValueError(f"click completes nothing in {shell}")
    return Reply(completion(root(), {}, "triptych", "_TRIPTYCH_COMPLETE").source().splitlines())
