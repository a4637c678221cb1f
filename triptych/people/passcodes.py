"""Passcodes, return codes and other secrets: generation, hashing, checking, and protection from guessing.

Passcodes and return codes are short, so they are kept as argon2id; long random secrets as SHA-256. Parameters: OWASP
Password Storage Cheat Sheet (argon2id, 19 MiB, 2 passes), about 25 ms. Hashing runs in separate threads, so that
strangers trying passcodes never use more than half of the cores.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache
from typing import NamedTuple, TypeVar

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import delete, func, select
from sqlmodel import Session

from triptych import clock
from triptych.errors import NotAllowed
from triptych.languages.language import ngettext
from triptych.storage.database import wait_for_others
from triptych.storage.models import FailedSignIn

T = TypeVar("T")
SHORTEST, LONGEST = 8, 200
# Crockford's alphabet: no I, L, O, U, so nothing is mistaken for 1, 0 or V. 32 signs, 5 bits each.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LOOKALIKES = str.maketrans({"I": "1", "L": "1", "O": "0"})
FREE_TRIES, PERIOD = 5, timedelta(minutes=15)
LONGEST_WAIT_SECONDS = 30
HASHES_AT_ONCE = min(max((os.cpu_count() or 1) // 2, 1), 4)
# fmt: off
COMMON = frozenset([
    "password", "password1", "passw0rd", "passcode", "12345678", "123456789", "1234567890", "0123456789",
    "87654321", "11111111", "00000000", "qwertyui", "qwerty123", "qwertyuiop", "abcd1234", "abcdefgh",
    "1q2w3e4r", "iloveyou", "letmein1", "welcome1", "sunshine", "football", "baseball", "princess",
    "trustno1", "superman", "starwars", "computer", "internet", "whatever", "triptych", "triptych1",
    "changeme", "annotator", "administrator",
])
# fmt: on
_hasher = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1, type=Type.ID)


class Hashed(str):
    """A passcode or code as stored. Commands accept it so that nothing is hashed within their transaction."""


class ReturnCode(NamedTuple):
    """A new code: the code for its owner, and the hash to store."""

    text: str
    hashed: Hashed


@cache
def _hashing(process_id: int) -> ThreadPoolExecutor:
    """The hashing threads of a process. They are reused, since each thread keeps the memory that argon2 allocated."""
    return ThreadPoolExecutor(HASHES_AT_ONCE, thread_name_prefix="passcodes")


def _in_turn(hashing: Callable[..., T], *texts: str | bytes) -> T:
    return _hashing(os.getpid()).submit(hashing, *texts).result()


@cache
def _nobody() -> str:
    """The hash against which an unknown account is checked, so that the check takes as long as for a known one."""
    return hash_code(secrets.token_urlsafe())


def new_secret() -> str:
    """256 random bits for links, tickets and cookies."""
    return secrets.token_urlsafe(32)


def secret_hash(secret: str) -> str:
    """The hash of a random secret, to be stored."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def random_signs(count: int) -> str:
    """Readable random signs, 5 bits each."""
    return "".join(secrets.choice(ALPHABET) for _ in range(count))


def new_return_code() -> ReturnCode:
    """A code that can be read aloud and copied by hand: XXXX-XXXX, 40 bits."""
    code = f"{random_signs(4)}-{random_signs(4)}"
    return ReturnCode(code, hash_code(code))


def read_return_code(typed: str) -> str:
    """The code as issued, however it was typed: small letters, spaces, O for 0, I or L for 1."""
    signs = "".join(sign for sign in typed.upper() if sign.isalnum()).translate(LOOKALIKES)
    return f"{signs[:4]}-{signs[4:]}"


def hash_passcode(passcode: str) -> Hashed:
    """The hash to store; a value that is already hashed is returned unchanged.

    Raises NotAllowed if the passcode is too short, too long or among the most common ones.
    """
    if isinstance(passcode, Hashed):
        return passcode
    if not SHORTEST <= len(passcode) <= LONGEST:
        raise NotAllowed(f"A passcode has {SHORTEST} to {LONGEST} characters; this one has {len(passcode)}.")
    if passcode.casefold() in COMMON or len(set(passcode)) < 3:
        raise NotAllowed("This passcode is one of the first that anybody would try. Choose another one.")
    return hash_code(passcode)


def hash_code(code: str) -> Hashed:
    return Hashed(_in_turn(_hasher.hash, code.encode("utf-8", "surrogatepass")))


def fits(stored: str | None, passcode: str) -> bool:
    """Whether the passcode matches the stored hash; takes as long if there is no hash."""
    unknown = _nobody()  # computed at the first check of any account
    try:
        right = _in_turn(_hasher.verify, stored or unknown, passcode[: LONGEST + 1].encode("utf-8", "surrogatepass"))
    except (VerificationError, InvalidHashError):
        return False
    return right and stored is not None


def wait_after(failures: int) -> timedelta:
    """The waiting time after this many failures: 0 at first, then doubled each time."""
    if failures < FREE_TRIES:
        return timedelta(0)
    return timedelta(seconds=min(2 ** (failures - FREE_TRIES), LONGEST_WAIT_SECONDS))


def begin_try(session: Session, account: str) -> None:
    """Count a try as failed before it is checked, so that parallel tries count; call `forget_tries` after a success.

    Raises NotAllowed with the seconds to wait after recent failures for this account. Accounts are never locked.
    """
    wait_for_others(session, f"tries of {account}")
    now, of_account = clock.now(), FailedSignIn.account_hash == secret_hash(account)
    # a time in the future is from a clock that was wrong
    session.execute(delete(FailedSignIn).where((FailedSignIn.at <= now - PERIOD) | (FailedSignIn.at > now)))
    failures, last = session.execute(select(func.count(), func.max(FailedSignIn.at)).where(of_account)).one()
    wait = (last + wait_after(failures) - now).total_seconds() if failures else 0
    if wait > 0:
        seconds = int(-(-wait // 1))
        raise NotAllowed(
            ngettext(
                "Too many wrong attempts for this name. Try again in {count} second.",
                "Too many wrong attempts for this name. Try again in {count} seconds.",
                seconds,
            )
        )
    session.add(FailedSignIn(account_hash=secret_hash(account), at=now))
    session.flush()


def forget_tries(session: Session, account: str) -> None:
    session.execute(delete(FailedSignIn).where(FailedSignIn.account_hash == secret_hash(account)))
