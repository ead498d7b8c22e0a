"""Lists, replacements and amendments to an exchange whose answers make no sense; what each came to is judged."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from random import Random
from typing import Any, cast

import msgspec

from mcp_binance_server.domain.order_requests import Amendment, Gate, Outcome, Replacement, WrittenList
from mcp_binance_server.exchange.spot.order_params import amendment_params, list_params, replacement_params
from mcp_binance_server.exchange.spot.orders import OrderClient
from support.breaking import BAD_TEXTS, BAD_VALUES, BAD_WHOLES
from support.mutating import mutant
from support.orders.answers import CLIENT_STATUSES, CODES, MESSAGES, ODD_STATUSES, OK, SERVER_STATUSES, Body, GivenReply
from support.orders.list_verdict import NOT_REPLACED, Request, change_defects
from support.orders.lists import (
    AMENDMENT,
    LIST_ID,
    LIST_TARGET,
    LISTS,
    OLD_ID,
    REPLACEMENT,
    amended_body,
    cancelled_list_body,
    half_replaced_body,
    list_body,
    replaced_body,
)
from support.orders.storm import Attempt, OrderStorm, storm_of_writes
from support.orders.verdict import PARTIAL

Holder = dict[Any, Any] | list[Any]

REQUESTS: tuple[Request, ...] = (*LISTS.values(), LIST_TARGET, REPLACEMENT, AMENDMENT)
WAYS = {
    "true": 1, "senseless": 3, "other": 3, "lacking": 2, "mixed up": 2, "bytes": 3, "torn": 1, "another": 1,
    "odd status": 1, "failure": 1, "refusal": 2, "half": 4,
}  # fmt: skip
SENSIBLE: tuple[object, ...] = (
    "SUCCESS", "FAILURE", "NOT_ATTEMPTED", "NEW", "CANCELED", "FILLED", "PENDING_NEW", "EXPIRED", "REJECT", "EXECUTING",
    "ALL_DONE", "OCO", "OTO", "BUY", "SELL", "LIMIT", "LIMIT_MAKER", "STOP_LOSS_LIMIT", "ETHUSDT", "0.01000000",
    "0.00000000", "0.00800000", "66000", "58000", -1, 500, 501, 502, 88_100, 88_101, 41_231, 41_600, -1007, -2010,
    -2011, LIST_ID, f"{LIST_ID}-a", f"{LIST_ID}-b", f"{LIST_ID}-w", OLD_ID, REPLACEMENT.order.client_order_id,
)  # fmt: skip


def true_body(request: Request) -> Body:
    """Return what the exchange would say."""
    if isinstance(request, WrittenList):
        return list_body({name: str(value) for name, value in list_params(request).items()}, request.shape)
    if isinstance(request, Replacement):
        params = replacement_params(request, f"{OLD_ID}-c")
        return replaced_body({name: str(value) for name, value in params.items()})
    if isinstance(request, Amendment):
        return amended_body({name: str(value) for name, value in amendment_params(request).items()})
    return cancelled_list_body(f"{LIST_ID}-c")


class ListBreaker:
    """Makes answers to lists and changes, the same in every run of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"lists {seed}")

    def reply(self, request: Request) -> GivenReply:
        random, body = self.random, true_body(request)
        how, choice = random.choices([*WAYS], [*WAYS.values()])[0], random.choice
        written = msgspec.json.encode
        made: dict[str, Callable[[], tuple[int, bytes]]] = {
            "true": lambda: (OK, written(body)),
            "senseless": lambda: (OK, written(self._changed(body, (*BAD_TEXTS, *BAD_VALUES, *BAD_WHOLES)))),
            "other": lambda: (OK, written(self._changed(body, SENSIBLE))),
            "lacking": lambda: (OK, written(self._lacking(body))),
            "mixed up": lambda: (OK, written(self._mixed(body))),
            "bytes": lambda: (OK, mutant(random, written(body))),
            "torn": lambda: (OK, written(body)[: random.randrange(len(written(body)))]),
            "another": lambda: (OK, written(true_body(choice([each for each in REQUESTS if each is not request])))),
            "odd status": lambda: (choice(ODD_STATUSES), written(body)),
            "failure": lambda: (choice(SERVER_STATUSES), written(choice((body, half_replaced_body(PARTIAL))))),
            "refusal": lambda: (choice(CLIENT_STATUSES), written({"code": choice(CODES), "msg": choice(MESSAGES)})),
            "half": self._half,
        }
        return GivenReply(how, *made[how]())

    def _half(self) -> tuple[int, bytes]:
        random = self.random
        code, status = random.choice(((PARTIAL, 409), (NOT_REPLACED, 400), (PARTIAL, 429), (PARTIAL, 400)))
        body = half_replaced_body(code)
        if random.random() < 0.7:
            body = self._changed(body, random.choice((SENSIBLE, (*BAD_VALUES, *BAD_WHOLES))))
        return status, msgspec.json.encode(body)

    def _changed(self, body: Body, values: tuple[object, ...]) -> Body:
        changed = deepcopy(body)
        holder, name = self.random.choice([*_leaves(changed)])
        holder[name] = self.random.choice(values)
        return changed

    def _lacking(self, body: Body) -> Body:
        changed = deepcopy(body)
        holder, name = self.random.choice([*_leaves(changed)])
        del holder[name]
        return changed

    def _mixed(self, body: Body) -> Body:
        """Put one part in the place of another."""
        changed = deepcopy(body)
        (first, one), (second, other) = self.random.sample([*_leaves(changed)], 2)
        first[one], second[other] = second[other], first[one]
        return changed


def _leaves(value: object) -> Iterator[tuple[Any, Any]]:
    """Return where each part stands, the large ones too."""
    if isinstance(value, dict | list):
        holder = cast("Holder", value)
        for name in [*holder] if isinstance(holder, dict) else range(len(holder)):
            yield holder, name
            yield from _leaves(cast("Any", holder)[name])


async def _sent(request: Request, client: OrderClient, gate: Gate) -> Outcome:
    if isinstance(request, WrittenList):
        return await client.place_list(request, gate)
    if isinstance(request, Replacement):
        return await client.replace(request, gate, cancel_id=f"{OLD_ID}-c")
    if isinstance(request, Amendment):
        return await client.amend(request, gate)
    return await client.cancel(request, gate, cancel_id=f"{LIST_ID}-c")


async def storm_of_lists(count: int, outcome: OrderStorm, seed: int = 8) -> None:
    """Place lists, replace, amend and cancel at an exchange whose answers make no sense."""
    breaker = ListBreaker(seed)

    def attempt(number: int) -> Attempt:
        request = REQUESTS[number % len(REQUESTS)]
        reply = breaker.reply(request)
        return Attempt(reply, partial(_sent, request), partial(change_defects, request, reply))

    await storm_of_writes(count, outcome, attempt)
