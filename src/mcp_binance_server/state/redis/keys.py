"""Names of keys, the Lua scripts that change them, and the types of values on the wire."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha1
from importlib.resources import files
from typing import Protocol, TypeAlias

PREFIX = "{mcp-binance}:"
MEMORY = f"{PREFIX}memory"

Word: TypeAlias = str | bytes | int
Reply: TypeAlias = "bytes | int | list[Reply] | None"


def value(key: str) -> str:
    return f"{PREFIX}value:{key}"


def lease(name: str) -> str:
    return f"{PREFIX}lease:{name}"


def newest_token(name: str) -> str:
    return f"{PREFIX}token:{name}"


def channel(name: str) -> str:
    return f"{PREFIX}channel:{name}"


def lock(key: str) -> str:
    return f"{PREFIX}lock:{key}"


def outcome(production: str) -> str:
    return f"{PREFIX}outcome:{production}"


def minute(ip: str, number: int) -> str:
    return f"{PREFIX}weight:{ip}:{number}"


def spenders(ip: str, number: int, kind: str) -> str:
    return f"{PREFIX}weight:{ip}:{number}:{kind}"


def stop(ip: str) -> str:
    return f"{PREFIX}stop:{ip}"


def promises(ip: str) -> str:
    return f"{PREFIX}local-budget:{ip}"


def pool(name: str) -> str:
    return f"{PREFIX}pool:{name}"


def parties(pool: str) -> str:
    return f"{PREFIX}pool-parties:{pool}"


def shelf(name: str) -> tuple[str, str]:
    """Return the keys of a shelf: for its values and for their expiry times."""
    return f"{PREFIX}shelf:{name}", f"{PREFIX}shelf-ends:{name}"


def log(name: str) -> str:
    return f"{PREFIX}log:{name}"


# Order of the keys in every script that works on claims.
CLAIM_KEYS = ("value", "facts", "ends", "open", "begun", "ended", "used", "opened", "stop")


def claims(account: str) -> tuple[str, ...]:
    """Keys of an account's claims. All keys of this program are in one hash slot."""
    return (*(claim_key(account, each) for each in CLAIM_KEYS), MEMORY)


def claim_key(account: str, name: str) -> str:
    return f"{PREFIX}claims:{account}:{name}"


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script, and the SHA-1 under which a server caches it."""

    text: str
    sha: str

    @classmethod
    def named(cls, *names: str) -> "Script":
        folder = files(__package__ or "").joinpath("lua")
        return cls.of("".join(folder.joinpath(f"{name}.lua").read_text(encoding="utf-8") for name in names))

    @classmethod
    def of(cls, text: str) -> "Script":
        return cls(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


GREET = Script.named("greet")
LEASE = Script.named("lease")
RELEASE = Script.named("release")
PUT_FENCED = Script.named("put_fenced")
BOARD = Script.named("board")
HOLD = Script.named("hold")
LAND = Script.named("land")
ACQUIRE = Script.named("acquire")
REPORT = Script.named("report")
RECALL = Script.named("recall")
STOP = Script.named("stop")
LOCAL_BUDGET = Script.named("local_budget")
ADMIT = Script.named("admit")
TAKE_SHARE = Script.named("take_share")
TOUCH = Script.named("touch")
LEAVE = Script.named("leave")
MEMBERS = Script.named("members")
RESTATE = Script.named("restate")
SHELVE = Script.named("shelve")
SHELVED = Script.named("shelved")
ON_SHELF = Script.named("on_shelf")
RESERVE = Script.named("claims", "reserve")
DEPART = Script.named("claims", "depart")
TELL = Script.named("claims", "tell")
RECOUNT = Script.named("claims", "recount")
ACCOUNT_BOOK = Script.named("claims", "account_book")
STOP_ACCOUNT = Script.named("stop_account")
RESUME_ACCOUNT = Script.named("resume_account")
APPEND_LOG = Script.named("logs", "append_log")
READ_LOG = Script.named("logs", "read_log")
TRIM_LOG = Script.named("logs", "trim_log")


class RedisWire(Protocol):
    """A connection that sends words and reads replies, in order."""

    @property
    def is_connected(self) -> bool: ...

    async def connect(self) -> None: ...

    async def on_connect(self) -> None:
        """Authenticate, name the client and select the database."""
        ...

    async def disconnect(self, nowait: bool = False) -> None: ...  # noqa: FBT001, FBT002 - the library's signature

    async def send_command(self, *words: Word, check_health: bool) -> None: ...

    async def read_response(self, *, timeout: float | None = None) -> Reply:  # noqa: ASYNC109 - the library's signature
        """Return the next reply. Return None after `timeout` seconds, if given."""
        ...

    async def can_read(self) -> bool:
        """Return True if there is data to read, or the end of the stream."""
        ...


Greet: TypeAlias = Callable[[RedisWire], Awaitable[None]]


async def happened(event: asyncio.Event, *, within_secs: float) -> bool:
    """Wait for an event, at most `within_secs`. Return True if it is set."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_secs):
            await event.wait()
    return event.is_set()


async def pause(secs: float) -> None:
    await happened(asyncio.Event(), within_secs=secs)
