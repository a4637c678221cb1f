"""A command's output: the reply on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import click

PLAIN = "\t\u200c\u200d"  # besides what is printable; the joiners belong to letters and emoji


@dataclass(frozen=True)
class Reply:
    """The reply of a command. `lines` are for people, `values` for `--json`, `code` is the exit code.

    If `data_on_stdout`, standard output contains data, so the reply goes to standard error.
    """

    lines: Sequence[str]
    values: Mapping[str, object] = field(default_factory=dict)
    code: int = 0
    data_on_stdout: bool = False

    def print(self, as_json: bool) -> None:
        stream = sys.stderr if self.data_on_stdout else sys.stdout
        try:
            if as_json:
                stream.write(json.dumps(self.values, ensure_ascii=True) + "\n")
            else:
                stream.writelines(f"{visible(line)}\n" for line in self.lines)
            stream.flush()
        except BrokenPipeError:  # nobody reads it; that ends the command without a message
            raise
        except OSError as error:
            note(f"The command has ended, but its answer cannot be written: {error.strerror}.")
            raise click.exceptions.Exit(self.code or 1) from error


def note(*lines: str) -> None:
    """Print on standard error what a long command does, what it waits for, or what went wrong.

    If that cannot be written, the command goes on.
    """
    with suppress(OSError):
        sys.stderr.writelines(f"{visible(line)}\n" for line in lines)
        sys.stderr.flush()


def visible(text: str) -> str:
    """Text as one line safe for a terminal: a stored title or file name cannot hide, colour or add words."""
    return "".join(c if c.isprintable() or c in PLAIN else repr(c)[1:-1] for c in text)


@contextmanager
def for_people() -> Iterator[None]:
    """Files written within this context get the usual permissions of the person who runs the command."""
    private_umask = os.umask(click.get_current_context().obj)
    try:
        yield
    finally:
        os.umask(private_umask)
