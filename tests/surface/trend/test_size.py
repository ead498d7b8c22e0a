"""The size on the page of trading_analysis: an order that preview_order takes now, or the reason for none."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

import msgspec
import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.market.listing import Symbol
from binance_simulator.market.portfolio import Balance, Order, Portfolio
from mcp_binance_server.analytics.thresholds import RiskTolerance, Strategy
from mcp_binance_server.app import App
from mcp_binance_server.domain import account as domain
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.exchange.spot.account import OrderWire
from mcp_binance_server.surface.views.orders.preview import CHECKED
from mcp_binance_server.surface.views.trend.size import size_lines
from mcp_binance_server.trading.judgement.filters import check
from mcp_binance_server.trading.judgement.intent import OrderIntent, Touch
from mcp_binance_server.trading.judgement.preview import preview
from support.clock import FakeClock
from support.served import Place, text_of

HOUR_MS = 3_600_000
SEED = 20_261_116
# With --scale 10 the whole claim: five hundred accounts, every symbol that trades among them twelve times.
ACCOUNTS = 50
# With --scale 42 five hundred of them for every symbol, past the transport that takes most of the time above.
ACCOUNTS_OF_A_SYMBOL = 12
STRATEGIES: tuple[Strategy, ...] = ("aggressive", "balanced", "conservative")
RISKS: tuple[RiskTolerance, ...] = ("low", "medium", "high")
# Dollars, roughly: enough to draw balances that some would have.
WORTH = {
    "BTC": Decimal(100_000),
    "ETH": Decimal(3_000),
    "BNB": Decimal(600),
    "EUR": Decimal(1),
    "TRY": Decimal("0.03"),
    "BRL": Decimal("0.2"),
}
SIZE = re.compile(
    r"^\*\*Position Size\*\*: (?P<quantity>[\d,.]+) (?P<base>\S+) \((?P<value>.+?)\), limited by (?P<bound>.+) "
    r"\(24h-range rule, limit order at \$?(?P<price>[\d,.]+)(?: \S+)?\)$",
    re.MULTILINE,
)
NONE = re.compile(r"^\*\*Position Size\*\*: no order: (?P<why>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Question:
    """One account, one symbol, one way of trading, and how much later it is asked."""

    symbol: Symbol
    portfolio: Portfolio
    arguments: dict[str, str]
    later_ms: int


@pytest.fixture
def place(clock: FakeClock, exchange: SimulatedExchange) -> Place:
    return Place(clock, exchange, "auto")


async def page(client: Client, arguments: dict[str, str]) -> str:
    (message,) = (await client.get_prompt("trading_analysis", {**arguments, "detail": "true"})).messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


def order_of(sized: re.Match[str]) -> dict[str, str]:
    return {name: sized[name].replace(",", "") for name in ("quantity", "price")}


def trading(exchange: SimulatedExchange) -> list[Symbol]:
    return [each for each in exchange.listing.symbols.values() if each.trading]


def questions(exchange: SimulatedExchange, count: int, chance: random.Random) -> Iterator[Question]:
    """Draw questions; every symbol that trades comes round before one comes twice."""
    symbols = trading(exchange)
    for number in range(count):
        symbol = symbols[number % len(symbols)]
        arguments = {"strategy": chance.choice(STRATEGIES), "risk_tolerance": chance.choice(RISKS)}
        yield Question(symbol, drawn_account(exchange, symbol, chance), arguments, chance.randrange(HOUR_MS))


def drawn_account(exchange: SimulatedExchange, symbol: Symbol, chance: random.Random) -> Portfolio:
    """Draw an account that has from nothing to millions, and orders on the symbol."""
    last = exchange.stage.market.last(symbol, exchange.now_ms())
    assert last is not None
    price = Decimal(symbol.price(last.price))
    waiting = tuple(orders(symbol, price, chance))
    return Portfolio(tuple(balances(symbol, price, waiting, chance)), waiting)


def balances(symbol: Symbol, price: Decimal, waiting: tuple[Order, ...], chance: random.Random) -> Iterator[Balance]:
    """Draw what is free; what the orders wait with is locked, as the exchange would have it."""

    def drawn(worth: Decimal) -> str:
        dollars = 0.0 if chance.random() < 0.1 else 10 ** chance.uniform(-1, 6.5)
        return f"{Decimal(dollars) / worth:.8f}"

    quote = WORTH.get(symbol.quote, Decimal(1))
    paid = sum(Decimal(each.price) * Decimal(each.quantity) for each in waiting if each.side == "BUY")
    yield Balance(symbol.quote, drawn(quote), f"{paid:.8f}")
    sold = sum(Decimal(each.quantity) for each in waiting if each.side == "SELL")
    if sold or chance.random() < 0.4:
        yield Balance(symbol.base, drawn(price * quote * 100), f"{sold:.8f}")
    rest = [asset for asset in WORTH if asset not in (symbol.base, symbol.quote)]
    yield from (Balance(asset, drawn(WORTH[asset]), "0.00000000") for asset in rest if chance.random() < 0.3)


def orders(symbol: Symbol, price: Decimal, chance: random.Random) -> Iterator[Order]:
    for number in range(chance.choice((0, 0, 1, 2))):
        quantity = Decimal(10 ** chance.uniform(1, 4)) / (price * WORTH.get(symbol.quote, Decimal(1)))
        yield Order(
            symbol=symbol.name, order_id=number + 1, client_order_id=f"own{number}",
            side=chance.choice(("BUY", "SELL")), price=f"{price * Decimal('0.9'):.8f}", quantity=f"{quantity:.8f}",
            executed="0.00000000", executed_value="0.00000000", status="NEW", placed_ms=0, updated_ms=0,
        )  # fmt: skip


@pytest.mark.night
@pytest.mark.flood
@pytest.mark.timeout(900)
async def test_every_size_is_taken_by_preview_order_at_that_moment_or_there_is_a_reason(
    place: Place, scale: int
) -> None:
    chance = random.Random(SEED)
    bounds: Counter[str] = Counter()
    reasons: Counter[str] = Counter()

    async with place.served() as client:
        for question in questions(place.exchange, ACCOUNTS * scale, chance):
            place.clock.advance(question.later_ms)
            place.exchange.stage = replace(place.exchange.stage, portfolio=question.portfolio)
            text = await page(client, {"symbol": question.symbol.name, **question.arguments})
            sized, refused = SIZE.search(text), NONE.search(text)
            assert (sized is None) is not (refused is None), text
            if refused is not None:
                reasons[refused["why"].partition(",")[0]] += 1
            if sized is not None:
                bounds[sized["bound"]] += 1
                tried = await client.call_tool(
                    "preview_order", {"symbol": question.symbol.name, "side": "BUY", "type": "LIMIT", **order_of(sized)}
                )
                assert not tried.is_error, f"{question}\n{text}\n{text_of(tried)}"
                assert tried.structured_content is not None
                assert tried.structured_content["changes"] == []
                assert tried.structured_content["balance_check"] == CHECKED

    assert sum(bounds.values()) > ACCOUNTS * scale / 4, f"{bounds} {reasons}"
    assert len(bounds) > 2


def account_of(portfolio: Portfolio) -> domain.Account:
    held = (
        domain.Balance(each.asset, Quantity(Decimal(each.free)), Quantity(Decimal(each.locked)))
        for each in portfolio.balances
    )
    return domain.Account(tuple(held), can_trade=True, can_withdraw=False, can_deposit=False, updated_ms=0)


@pytest.mark.night
@pytest.mark.flood
@pytest.mark.timeout(900)
async def test_every_symbol_with_many_balances_is_sized_within_rules_and_means(
    app: App, exchange: SimulatedExchange, scale: int
) -> None:
    chance = random.Random(SEED)
    said: Counter[str] = Counter()
    prices = (await app.analysis.client.prices()).value
    for symbol in trading(exchange):
        report = await app.analysis.trading(symbol.name, chance.choice(STRATEGIES), chance.choice(RISKS))
        read = await app.analysis.size.read(report.view.rules.symbol)
        for _ in range(ACCOUNTS_OF_A_SYMBOL * scale):
            portfolio = drawn_account(exchange, symbol, chance)
            account = account_of(portfolio)
            waiting = tuple(msgspec.convert(each.body(), OrderWire).to_domain() for each in portfolio.orders)
            known = replace(read, account=account, orders=waiting, prices=prices)
            size = await app.analysis.size.size(report.view, report.outlook, known)

            text = "\n".join(size_lines(replace(report, size=size)))

            sized = SIZE.search(text)
            said["sized" if sized else "refused"] += 1
            assert sized or NONE.search(text), text
            if sized:
                amounts = {name: Decimal(text) for name, text in order_of(sized).items()}
                order = OrderIntent("BUY", "LIMIT", Quantity(amounts["quantity"]), price=Price(amounts["price"]))
                held = next((each.total for each in account.balances if each.asset == symbol.base), Decimal(0))
                verdict = check(report.view.rules, order, Touch.of(read.book), held)
                assert (verdict.broken, verdict.changes) == ((), ())
                preview(report.view.rules, order, read.book, account)  # or it says that the balance is insufficient

    assert min(said["sized"], said["refused"]) > said.total() / 4
