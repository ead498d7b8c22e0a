"""Signed reads: every kind of key, a clock that is wrong, a symbol in Unicode, and no secret in any error."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeRejected, InvalidCredentials
from mcp_binance_server.exchange.spot.account import AccountClient
from support.clock import FakeClock
from support.desk import Desk
from support.requirement import requirement

KEYS: dict[str, Callable[[SimulatedExchange], tuple[str, str]]] = {
    "hmac": lambda exchange: (exchange.account.api_key, exchange.account.secret_key),
    "ed25519": lambda exchange: (exchange.account.ed25519_api_key, exchange.account.ed25519_private_key_pem),
    "rsa": lambda exchange: (exchange.account.rsa_api_key, exchange.account.rsa_private_key_pem),
}


@pytest.fixture(params=KEYS)
def account(request: pytest.FixtureRequest, desk: Desk, exchange: SimulatedExchange) -> AccountClient:
    return desk.account(*KEYS[str(request.param)](exchange))


async def test_every_kind_of_key_passes_the_exchanges_own_check(
    account: AccountClient, exchange: SimulatedExchange
) -> None:
    reading = await account.account()

    assert reading.value.balances
    assert [request.status for request in exchange.requests] == [200, 200]


@pytest.mark.parametrize("skew_ms", [-60_000, -5_000, 5_000, 60_000])
async def test_a_clock_that_is_off_is_learned_before_the_first_signature(
    account: AccountClient, exchange: SimulatedExchange, skew_ms: int
) -> None:
    exchange.skew_ms = skew_ms

    await account.account()

    assert [(request.path, request.status) for request in exchange.requests] == [
        ("/api/v3/time", 200),
        ("/api/v3/account", 200),
    ]


@pytest.mark.parametrize("skew_ms", [-7_000, 7_000])
async def test_a_clock_that_jumps_costs_one_refusal_and_is_healed(
    account: AccountClient, exchange: SimulatedExchange, skew_ms: int
) -> None:
    await account.account()
    exchange.skew_ms = skew_ms
    exchange.requests.clear()

    await account.account()
    await account.account()

    assert [(request.path[8:], request.status) for request in exchange.requests] == [
        ("account", 400),
        ("time", 200),
        ("account", 200),
        ("account", 200),
    ]


async def test_a_jump_of_our_own_wall_clock_is_not_even_noticed(
    account: AccountClient, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    await account.account()
    exchange.skew_ms = 3_600_000
    clock.set_wall(clock.now_ms() - 3_600_000)

    await account.account()

    assert [request.status for request in exchange.requests] == [200, 200, 200]


async def test_the_clock_is_asked_again_after_half_an_hour(
    account: AccountClient, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    await account.account()
    clock.advance(30 * 60 * 1000 + 1)

    await account.account()

    assert [request.path for request in exchange.requests].count("/api/v3/time") == 2


async def test_a_symbol_in_unicode_is_signed_as_it_is_sent(account: AccountClient, exchange: SimulatedExchange) -> None:
    orders = await account.open_orders(Symbol("币安人生USDT"))

    assert orders.value == ()
    assert exchange.requests[-1].params["symbol"] == "币安人生USDT"
    assert exchange.requests[-1].status == 200


async def test_open_orders_history_fills_and_one_order_are_read(
    account: AccountClient, exchange: SimulatedExchange
) -> None:
    exchange.set_scenario("contract")

    orders = (await account.open_orders()).value
    history = (await account.order_history(Symbol("BTCUSDT"), 10)).value
    one = (await account.order(Symbol("BTCUSDT"), orders[0].client_order_id)).value
    same = (await account.order(Symbol("BTCUSDT"), order_id=12345)).value

    assert [(order.order_id, order.status, order.remaining) for order in orders] == [
        (12345, "NEW", Decimal("0.001")),
        (12346, "NEW", Decimal("0.5")),
        (12347, "PARTIALLY_FILLED", Decimal(5)),
    ]
    assert one == same == orders[0]
    assert orders[0] in history


async def test_fills_belong_to_orders(account: AccountClient) -> None:
    fills = (await account.fills(Symbol("BNBUSDT"), 100)).value

    assert fills
    assert all(fill.quantity > 0 and fill.symbol == "BNBUSDT" for fill in fills)


async def test_the_account_says_what_it_may_do_and_pays(account: AccountClient) -> None:
    found = (await account.account()).value

    assert (found.kind, found.permissions) == ("SPOT", ("SPOT",))
    assert found.commission is not None
    assert (found.commission.maker, found.commission.taker) == (Decimal("0.001"), Decimal("0.001"))


async def test_every_kind_of_key_that_is_known_but_not_let_in_is_told_from_an_unknown_one(
    account: AccountClient, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="status", path="*/account", status=401, code=-2015))

    with pytest.raises(InvalidCredentials) as caught:
        await account.account()

    assert caught.value.likely_cause == "ip_not_allowed_or_permission_missing"
    assert [request.status for request in exchange.requests] == [200, 401, 400]


async def test_a_private_key_that_is_not_the_keys_own_is_named_as_such(desk: Desk, exchange: SimulatedExchange) -> None:
    account = desk.account(exchange.account.api_key, exchange.account.ed25519_private_key_pem)

    with pytest.raises(InvalidCredentials) as caught:
        await account.account()

    assert caught.value.likely_cause == "signature"
    assert "BINANCE_PRIVATE_KEY_FILE" in (caught.value.explanation or "")


@requirement("ruling/24")
async def test_without_a_key_the_error_says_where_to_get_one(desk: Desk, exchange: SimulatedExchange) -> None:
    with pytest.raises(InvalidCredentials) as caught:
        await AccountClient(desk.caller, None).account()

    assert caught.value.data()["help_url"] == "https://testnet.binance.vision/"
    assert exchange.requests == []


@requirement("ruling/24")
async def test_a_wrong_secret_shows_the_masked_key_and_nothing_else(desk: Desk, exchange: SimulatedExchange) -> None:
    key = exchange.account.api_key

    with pytest.raises(InvalidCredentials) as caught:
        await desk.account(key, "wrong" * 12).account()

    data = caught.value.data()
    assert data["masked_api_key"] == f"{key[:4]}****{key[-4:]}"
    assert data["retryable"] is False
    assert key[4:13] not in f"{data} {caught.value!r} {caught.value}"


async def test_a_definite_refusal_keeps_the_exchanges_code_and_words(
    account: AccountClient, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="status", path="*/account", status=400, code=-1102, msg="Mandatory\n<b>x</b>"))

    with pytest.raises(ExchangeRejected) as caught:
        await account.account()

    assert caught.value.data()["exchange_code"] == -1102
    assert "\n" not in caught.value.message
