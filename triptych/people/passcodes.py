"""Passcodes, return codes and other secrets: made, hashed, checked, and protected from guessing.

Passcodes and return codes are short, so they are kept as argon2id; long random secrets as SHA-256. Parameters: OWASP
Password Storage Cheat Sheet (argon2id, 19 MiB, 2 passes), about 25 ms.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from functools import cache

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import delete, func, select
from sqlmodel import Session

from triptych import clock
from triptych.errors import NotAllowed
from triptych.stats.numbers import counted
from triptych.storage.models import FailedSignIn

SHORTEST, LONGEST = 8, 200
# Crockford's alphabet: no I, L, O, U, so nothing is mistaken for 1, 0 or V. 32 signs, 5 bits each.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LOOKALIKES = str.maketrans({"I": "1", "L": "1", "O": "0"})
ATTEMPTS, PERIOD = 10, timedelta(minutes=15)
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


@cache
def _nobody() -> str:
    """What an unknown account is checked against, so that it takes as long as a known one."""
    return _hasher.hash(secrets.token_urlsafe())


def new_secret() -> str:
    """256 random bits for links, tickets and cookies."""
    return secrets.token_urlsafe(32)


def secret_hash(secret: str) -> str:
    """What is stored of a random secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def random_signs(count: int) -> str:
    """Readable random signs, 5 bits each."""
    return "".join(secrets.choice(ALPHABET) for _ in range(count))


def new_return_code() -> str:
    """A code that can be read aloud and copied by hand: XXXX-XXXX, 40 bits."""
    return f"{random_signs(4)}-{random_signs(4)}"


def read_return_code(typed: str) -> str:
    """The code as it was given out, however it was typed: small letters, spaces, O for 0, I or L for 1."""
    signs = "".join(sign for sign in typed.upper() if sign.isalnum()).translate(LOOKALIKES)
    return f"{signs[:4]}-{signs[4:]}"


def hash_passcode(passcode: str) -> str:
    """The hash to store. Raises NotAllowed if the passcode is too short, too long or among the first anybody tries."""
    if not SHORTEST <= len(passcode) <= LONGEST:
        raise NotAllowed(f"A passcode has {SHORTEST} to {LONGEST} characters; this one has {len(passcode)}.")
    if passcode.casefold() in COMMON or len(set(passcode)) < 3:
        raise NotAllowed("This passcode is one of the first that anybody would try. Choose another one.")
    return hash_code(passcode)


def hash_code(code: str) -> str:
    return _hasher.hash(code.encode("utf-8", "surrogatepass"))


def fits(stored: str | None, passcode: str) -> bool:
    """Whether the passcode belongs to the stored hash; takes as long where there is none."""
    unknown = _nobody()  # made at the first check, for whatever name
    try:
        right = _hasher.verify(stored or unknown, passcode[: LONGEST + 1].encode("utf-8", "surrogatepass"))
    except (VerificationError, InvalidHashError):
        return False
    return right and stored is not None


def refuse_if_guessing(session: Session, account: str) -> None:
    """Raises NotAllowed after 10 failures within 15 minutes on one account, known or not."""
    since = clock.now() - PERIOD
    recent = (FailedSignIn.account_hash == secret_hash(account)) & (FailedSignIn.at > since)
    count, oldest = session.execute(select(func.count(), func.min(FailedSignIn.at)).where(recent)).one()
    if count >= ATTEMPTS:
        minutes = int((oldest + PERIOD - clock.now()).total_seconds() // 60) + 1
        raise NotAllowed(f"Too many wrong attempts for this name. Try again in {counted(minutes, 'minute')}.")


def note_failure(session: Session, account: str) -> None:
    """Stores a failure for good: the caller then raises, which takes back everything that is not committed."""
    session.execute(delete(FailedSignIn).where(FailedSignIn.at <= clock.now() - PERIOD))
    session.add(FailedSignIn(account_hash=secret_hash(account), at=clock.now()))
    session.commit()


def forget_failures(session: Session, account: str) -> None:
    session.execute(delete(FailedSignIn).where(FailedSignIn.account_hash == secret_hash(account)))
