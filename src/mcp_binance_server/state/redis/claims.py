"""Claims of accounts, kept for all workers by Lua scripts."""

import json
from collections.abc import Sequence
from typing import Any, get_args

import msgspec

from mcp_binance_server.state.claims import (
    AccountBook,
    AccountStop,
    Claim,
    ClaimNews,
    ClaimRoom,
    LimitPart,
    Reservation,
    Verdict,
    returning,
)
from mcp_binance_server.state.engine import Fenced, Lease, check_size
from mcp_binance_server.state.redis import keys
from mcp_binance_server.state.redis.keys import (
    ACCOUNT_BOOK,
    DEPART,
    RECOUNT,
    RESERVE,
    RESUME_ACCOUNT,
    STOP_ACCOUNT,
    TELL,
    Reply,
    Script,
    Word,
)
from mcp_binance_server.state.redis.link import Link
from mcp_binance_server.state.redis.memory import Memory

FENCED = {1: Fenced.WRITTEN, 0: Fenced.STALE, -1: Fenced.LOST}
VERDICTS: dict[str, Verdict] = {each: each for each in get_args(Verdict)}


class SharedClaims:
    """Claims and limits that are exact across processes."""

    def __init__(self, link: Link, memory: Memory) -> None:
        self._link = link
        self._memory = memory

    async def reserve(self, account: str, claim: Claim, room: ClaimRoom | None, alike_ms: int) -> Reservation:
        check_size(claim.value)
        words = (claim.name, claim.value, _facts(claim), _parts(claim.parts), _room(room), alike_ms)
        return _reservation(await self._ask("reserve", RESERVE, account, *words))

    async def depart(self, account: str, news: ClaimNews) -> Reservation:
        check_size(news.value)
        return _reservation(await self._ask("depart", DEPART, account, news.name, news.value, _news(news)))

    async def tell(self, account: str, news: ClaimNews) -> bool:
        check_size(news.value)
        return await self._ask("tell", TELL, account, news.name, news.value, _news(news)) == [1]

    async def recount(self, account: str, claims: Sequence[tuple[Claim, ClaimNews]], lease: Lease | None) -> Fenced:
        token = "" if lease is None else lease.token
        words = [word for claim, news in claims for word in (claim.name, news.value, _facts(claim), _news(news))]
        more = () if lease is None else (keys.newest_token(lease.name),)
        reply = await self._ask("recount", RECOUNT, account, token, *words, more=more)
        return FENCED[msgspec.convert(reply, tuple[int])[0]]

    async def book(self, account: str, now_ms: int, since_ms: int) -> AccountBook:
        reply = await self._ask("account_book", ACCOUNT_BOOK, account, now_ms, since_ms)
        told = msgspec.convert(reply, tuple[int, bytes, int, int, int, list[bytes], list[bytes]])
        is_open, why, since, allows_exits, resumed_ms, used, values = told
        stop = AccountStop(why.decode(), since, bool(allows_exits)) if why else None
        amounts = {name.decode(): int(amount) for name, amount in zip(used[::2], used[1::2], strict=True)}
        return AccountBook(bool(is_open), stop, resumed_ms, amounts, tuple(values))

    async def find(self, account: str, name: str) -> bytes | None:
        reply = await self._link.call("find_claim", "HGET", keys.claim_key(account, "value"), name)
        return reply if isinstance(reply, bytes) else None

    async def stop(self, account: str, why: str, since_ms: int, *, allows_exits: bool) -> AccountStop | None:
        named = (keys.claim_key(account, "stop"),)
        reply = await self._link.run("stop_account", STOP_ACCOUNT, named, why, since_ms, int(allows_exits))
        match reply:
            case [bytes(stands), int(since), int(allows)]:
                return AccountStop(stands.decode(), since, bool(allows))
            case _:
                return None

    async def resume(self, account: str, now_ms: int) -> None:
        await self._link.run("resume_account", RESUME_ACCOUNT, (keys.claim_key(account, "stop"),), now_ms)

    async def _ask(
        self, operation: str, script: Script, account: str, *words: Word, more: tuple[str, ...] = ()
    ) -> Reply:
        async def ask() -> Reply:
            named = (*keys.claims(account), *more)
            return await self._link.run(operation, script, named, self._memory.id, *words)

        return await self._memory.answered(self._link, operation, ask)


def _facts(claim: Claim) -> str:
    told: dict[str, Any] = {
        "at": claim.at_ms,
        "worth": claim.worth,
        "group": claim.group,
        "alike": claim.alike,
        "line": claim.line,
        "counts": claim.counts,
        "passes": claim.passes_stop,
        "back": returning(claim.parts),
        "day": {each.name: each.amount for each in claim.parts if each.window == "day"},
        "rank": 0,
        "given": 0,
        "settled": False,
    }
    return json.dumps(told)


def _news(news: ClaimNews) -> str:
    told: dict[str, Any] = {"rank": news.rank, "settled": news.settled, "given": news.given}
    return json.dumps(told if news.over_ms is None else {**told, "over": news.over_ms})


def _parts(parts: Sequence[LimitPart]) -> str:
    listed: list[dict[str, Any]] = []
    for each in parts:
        told: dict[str, Any] = {"name": each.name, "window": each.window, "amount": each.amount}
        listed.append(told if each.most is None else {**told, "most": each.most})
    return json.dumps(listed)


def _room(room: ClaimRoom | None) -> str:
    if room is None:
        return ""
    return json.dumps({"name": room.name, "held": room.held, "most": room.most, "since": room.since_ms})


def _reservation(reply: Reply) -> Reservation:
    verdict, text, name, number = msgspec.convert(reply, tuple[bytes, bytes, bytes, int])
    said = VERDICTS[verdict.decode()]
    if said == "stopped":
        return Reservation(said, stop=AccountStop(text.decode(), number, name == b"1"))
    return Reservation(said, text, name.decode(), number)
