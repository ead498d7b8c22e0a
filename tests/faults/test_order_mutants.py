"""Mutants of what is said of orders, asked or unasked: nobody claims more than was said, and nothing is sent twice.

`scripts/upstream_mutants` does the same as a part of its million.
"""

from decimal import Decimal
from random import Random

import msgspec
import pytest

from mcp_binance_server.domain.order_requests import Amendment, Fate, Outcome, Replacement, Target, WrittenList
from mcp_binance_server.exchange.spot.order_list_wire import read_cancelled_list, read_list
from mcp_binance_server.exchange.spot.order_wire import PlacedWire
from mcp_binance_server.exchange.spot.replacement_wire import read_amended, read_replaced
from support.orders.answers import OK, SHARES, GivenReply, OrderBreaker
from support.orders.list_storm import REQUESTS, WAYS, ListBreaker, storm_of_lists, true_body
from support.orders.list_verdict import Request, change_defects
from support.orders.storm import OrderStorm, any_order, storm_of_orders
from support.orders.user_storm import UserStorm, storm_of_user_events
from support.orders.verdict import defects

pytestmark = [pytest.mark.flood, pytest.mark.anyio]

ANSWERS, TRUE, FRAMES = 600, 60, 8_000


async def test_no_answer_to_an_order_is_believed_beyond_what_it_proves(scale: int) -> None:
    outcome = OrderStorm()

    await storm_of_orders(ANSWERS * scale, outcome)

    assert outcome.defects == []
    assert outcome.requests == ANSWERS * scale
    assert {how for how, _ in outcome.fates} == {*SHARES}
    assert {*outcome.of("true")} == {Fate.ACCEPTED}, "a true answer is not understood"
    assert {*outcome.of("failure"), *outcome.of("odd status")} == {Fate.UNKNOWN}
    assert {*outcome.of("refusal")} == {Fate.REFUSED, Fate.UNKNOWN}


async def test_no_answer_to_a_list_or_a_change_is_believed_beyond_what_it_proves(scale: int) -> None:
    outcome = OrderStorm()

    await storm_of_lists(ANSWERS * scale, outcome)

    assert outcome.defects == []
    assert outcome.requests == ANSWERS * scale
    assert {how for how, _ in outcome.fates} == {*WAYS}
    assert {*outcome.of("true")} == {Fate.ACCEPTED}, "a true answer is not understood"
    assert {*outcome.of("failure"), *outcome.of("odd status"), *outcome.of("torn")} == {Fate.UNKNOWN}
    assert {*outcome.of("half")} == {Fate.REFUSED, Fate.UNKNOWN}


def test_whoever_took_each_answer_to_a_list_for_the_true_one_would_be_found_out() -> None:
    breaker, found = ListBreaker(3), set[str]()
    for number in range(1_000):
        request = REQUESTS[number % len(REQUESTS)]
        reply, claimed = breaker.reply(request), truly(request)
        assert change_defects(request, GivenReply("true", OK, msgspec.json.encode(true_body(request))), claimed) == []
        if change_defects(request, reply, claimed):
            found.add(reply.how)

    assert found == {*WAYS} - {"true"}


def truly(request: Request) -> Outcome:
    """Return what the true answer to a request says."""
    body = msgspec.json.encode(true_body(request))
    if isinstance(request, WrittenList):
        return Outcome(Fate.ACCEPTED, legs=read_list(body, request) or ())
    if isinstance(request, Replacement):
        return read_replaced(body, request) or Outcome(Fate.UNKNOWN)
    if isinstance(request, Amendment):
        return Outcome(Fate.ACCEPTED, read_amended(body, request))
    return Outcome(Fate.ACCEPTED, legs=read_cancelled_list(body, request) or ())


async def test_nothing_is_taken_from_an_accounts_stream_but_what_its_bytes_say(scale: int) -> None:
    storm = UserStorm()

    await storm_of_user_events(FRAMES * scale, storm)

    assert (storm.defects, storm.lost, storm.events) == ([], 1, FRAMES * scale), "it is lost once, at the end"
    assert storm.reports["true"] > 0.5 * storm.frames["true"], "a true report is not understood"
    assert storm.missed > 0.3 * storm.events


def believed(reply: GivenReply) -> Outcome:
    """Take an answer for an order as soon as it can be read at all."""
    try:
        return Outcome(Fate.ACCEPTED, msgspec.json.decode(reply.body, type=PlacedWire).to_domain())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Outcome(Fate.REFUSED, reason="the answer cannot be read")


def test_whoever_believed_what_can_be_read_would_be_found_out() -> None:
    random, breaker, found = Random(3), OrderBreaker(3), set[str]()
    for number in range(2_000):
        order = any_order(random, number)
        reply = breaker.reply(order)
        if defects(order, reply, believed(reply)):
            found.add(reply.how)

    assert found == {*SHARES} - {"true"}


def test_the_true_answer_is_sound_and_each_change_of_it_is_not() -> None:
    random, breaker = Random(4), OrderBreaker(4)
    for number in range(TRUE):
        order = any_order(random, number)
        true = breaker.true(order)
        stands = msgspec.json.decode(msgspec.json.encode(true), type=PlacedWire).to_domain()
        taken = Outcome(Fate.ACCEPTED, stands)
        assert defects(order, GivenReply("true", OK, msgspec.json.encode(true)), taken) == []
        cent = f"{Decimal(true['price']) + Decimal('0.01'):.8f}"
        for lie in (
            {"side": "NONE"},
            {"price": cent},
            {"orderListId": 3},
            {"clientOrderId": "x"},
            {"symbol": "ETHBTC"},
        ):
            assert defects(order, GivenReply("lie", OK, msgspec.json.encode({**true, **lie})), taken), lie
        assert defects(Target(order.symbol, "x"), GivenReply("lie", OK, msgspec.json.encode(true)), taken)
