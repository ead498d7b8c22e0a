"""One perpetual from eleven concurrent requests: funding, open interest, basis, positioning, liquidations."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

import anyio

from mcp_binance_server.analytics.derivatives.basis import (
    PerpVsSpot,
    Quarterly,
    mark_vs_index,
    perp_vs_spot,
    premium_rate,
    quarterly,
)
from mcp_binance_server.analytics.derivatives.funding import (
    annualised,
    funding_interval,
    funding_report,
    settlements,
)
from mcp_binance_server.analytics.derivatives.hourly import by_hour, is_fresh
from mcp_binance_server.analytics.derivatives.interest import DAY_HOURS, interest_change, interest_report
from mcp_binance_server.analytics.derivatives.positioning import share_report, taker_report
from mcp_binance_server.analytics.derivatives.report import DerivativesReport, PerpetualGlance
from mcp_binance_server.analytics.derivatives.spot_pair import SpotPair, spot_pair
from mcp_binance_server.domain.derivatives import (
    Contract,
    FuturesQuote,
    InterestPoint,
    PremiumIndex,
    ShareKind,
)
from mcp_binance_server.domain.market import Quote, Sourced
from mcp_binance_server.domain.symbols import Symbol, fold
from mcp_binance_server.errors import AppError, InvalidSymbol
from mcp_binance_server.exchange.futures.contracts import ContractList
from mcp_binance_server.exchange.futures.rest import FuturesClient
from mcp_binance_server.exchange.futures.side import FuturesSide, offered
from mcp_binance_server.services.derivatives.liquidations import LiquidationService
from mcp_binance_server.services.gathering import Part, gather
from mcp_binance_server.services.market.service import MarketService

SHARE_KINDS: tuple[ShareKind, ...] = ("accounts_all", "top_accounts", "top_positions")
SHARE_NAMES: dict[ShareKind, str] = {
    "accounts_all": "long share of all accounts",
    "top_accounts": "long share of the top accounts",
    "top_positions": "long share of the top positions",
}
ValueT = TypeVar("ValueT")

# Timeout of a glance in seconds. A page about a spot pair must not wait for its perpetual.
GLANCE_SECS = 2.0
BPS = 10_000
ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class _SpotSeen:
    """The contract's likely spot pair, its quote, and the interval in which the quote was valid."""

    pair: SpotPair
    quote: Quote
    from_ms: int
    to_ms: int

    def furthest_ms(self, other_ms: int) -> int:
        return max((self.from_ms, self.to_ms), key=lambda each: abs(each - other_ms))


@dataclass(frozen=True, slots=True)
class DerivativesService:
    """Public futures data. Without a configured futures host, each call is refused with the missing setting."""

    side: FuturesSide | None
    market: MarketService
    liquidations: LiquidationService
    setting: str = "BINANCE_FUTURES_REST_URL"
    """Name of the missing setting if futures are not offered."""

    async def symbols(self, prefix: str) -> list[Symbol]:
        """Return the trading perpetuals that start with a prefix typed by the caller."""
        if self.side is None:
            return []
        typed = fold(prefix)
        return [each for each in (await self.side.contracts.table()).perpetuals if each.startswith(typed)]

    async def spelled(self, text: str) -> Symbol | None:
        """Return the perpetual that another spelling means, or None."""
        return None if self.side is None else await self.side.contracts.spelled(text)

    async def read(self, text: str) -> DerivativesReport:
        """Return all data about a perpetual in the caller's spelling.

        Raises:
            FuturesNotOffered: no futures host is configured.
            InvalidSymbol: the perpetual does not exist or does not trade.
            RateLimited: a read hit the rate limit; a partial page would only cause more requests.
            ExchangeError: no current data could be read.
        """
        side = offered(self.side, self.setting)
        client, contracts = side.client, side.contracts
        contract = await self._perpetual(contracts, text)
        symbol = contract.symbol
        at_once, past, told, beside = await gather(
            lambda: gather(
                lambda: client.premium(symbol),
                lambda: client.open_interest(symbol),
                lambda: client.quote(symbol),
                lambda: self._spot(contract),
            ),
            lambda: gather(
                lambda: client.interest_hours(symbol),
                lambda: client.taker_hours(symbol),
                lambda: client.basis_hours(contract.pair),
                lambda: client.funding_payments(symbol),
            ),
            lambda: gather(*(partial(client.shares, symbol, kind) for kind in SHARE_KINDS)),
            lambda: gather(
                contracts.rules,
                lambda: _quarterlies(client, contracts, contract),
                lambda: self.liquidations.heard(symbol),
            ),
        )
        premium, interest, quote, spot = at_once.required()
        hours, taker, basis, payments = past.required()
        rules, quarterlies, heard = beside.required()
        shares = dict(zip(SHARE_KINDS, told.required(), strict=True))
        if premium.failure and interest.failure and quote.failure:
            raise premium.failure
        now_ms = client.caller.time.now_ms()
        rule = rules.value.get(symbol) if rules.value is not None else None
        paid = _rows(payments)
        index = premium.value.value if premium.value else None
        answered = next(each.value for each in (premium, interest, quote) if each.value is not None)
        as_of_ms = index.time_ms if index else answered.at_ms
        perpetual = quote.value.value if quote.value else None
        seen = _confirmed(spot.value, perpetual, index)
        return DerivativesReport(
            contract=contract,
            interval=funding_interval(rule, settlements(paid, now_ms)),
            spot=seen.pair if seen else None,
            funding=None if index is None else funding_report(index, rule, paid, now_ms),
            interest=(
                None
                if index is None or interest.value is None
                else interest_report(interest.value.value, index, _rows(hours), now_ms)
            ),
            mark=None if index is None else mark_vs_index(index, _rows(basis), now_ms),
            perp_vs_spot=_against_spot(perpetual, seen),
            quarterlies=quarterlies.value or (),
            shares={
                kind: share_report(part.value.value, now_ms) for kind, part in shares.items() if part.value is not None
            },
            taker=None if taker.value is None else taker_report(taker.value.value, now_ms),
            liquidations=heard.value,
            missing=_missing(
                {
                    "premium index": premium,
                    "open interest": interest,
                    "quote of the perpetual": quote,
                    "spot quote": spot,
                    "history of open interest": hours,
                    "taker volumes": taker,
                    "history of the basis": basis,
                    "settled funding": payments,
                    "funding rules": rules,
                    "quarterlies": quarterlies,
                    "liquidations": heard,
                    **{SHARE_NAMES[kind]: part for kind, part in shares.items()},
                }
            ),
            host=answered.host,
            origin=answered.origin,
            as_of_ms=as_of_ms,
            age_ms=max(0, now_ms - as_of_ms),
        )

    async def glance(self, text: str) -> PerpetualGlance | None:
        """Return a summary of a spot pair's perpetual within 2 s.

        Return None if it does not exist or cannot be read.
        """
        if self.side is None:
            return None
        with anyio.move_on_after(GLANCE_SECS), suppress(AppError):
            return await self._glance(self.side, text)
        return None

    async def _glance(self, side: FuturesSide, text: str) -> PerpetualGlance | None:
        client, contracts = side.client, side.contracts
        contract = (await contracts.table()).contracts.get(Symbol(fold(text)))
        if contract is None or not (contract.is_perpetual and contract.is_trading and contract.underlying == "crypto"):
            return None
        premium, hours, rules = await gather(
            lambda: client.premium(contract.symbol), lambda: client.interest_hours(contract.symbol), contracts.rules
        )
        index, now_ms = premium.required().value, client.caller.time.now_ms()
        if index.funding is None:
            return None
        rule = rules.required().get(contract.symbol)
        paid = () if rule is not None else (await client.funding_payments(contract.symbol)).value
        interval = funding_interval(rule, settlements(paid, now_ms))
        rate = premium_rate(index)
        return PerpetualGlance(
            estimate=index.funding,
            interval=interval,
            apr=annualised(index.funding, interval.hours),
            left_ms=None if index.next_funding_ms is None else max(0, index.next_funding_ms - now_ms),
            interest_24h_percent=_day_change(_rows(hours), now_ms),
            mark_vs_index_bps=None if rate is None else BPS * rate,
        )

    async def _perpetual(self, contracts: ContractList, text: str) -> Contract:
        try:
            return await contracts.find(text)
        except InvalidSymbol as error:
            table, listed = self.market.directory.loaded, contracts.loaded
            pair = table.find(fold(text)) if table else None
            error.spot_pair = pair.symbol if pair else None
            dated = listed.find(text) if listed else None
            if listed and dated and not dated.is_perpetual and Symbol(dated.pair) in listed.perpetuals:
                error.did_you_mean = (dated.pair, *(each for each in error.did_you_mean if each != dated.pair))
            raise

    async def _spot(self, contract: Contract) -> _SpotSeen | None:
        table = await self.market.directory.table()
        pair = spot_pair(contract, table)
        if pair is None:
            return None
        told = self.market.streamed.book(table.rules[pair.symbol], 1)
        if told is not None and told.value.bids and told.value.asks:
            bid, ask = told.value.bids[0], told.value.asks[0]
            quote = Quote(pair.symbol, bid.price, bid.quantity, ask.price, ask.quantity)
            return _SpotSeen(pair, quote, told.at_ms, told.at_ms)
        clock = self.market.client.caller.clock
        began_ms = clock.monotonic_ms()
        reading = await self.market.client.quote(pair.symbol)
        # The answer has no timestamp. The quote was valid between request and response.
        took_ms = round(clock.monotonic_ms() - began_ms)
        return _SpotSeen(pair, reading.value, reading.at_ms, reading.at_ms + took_ms)


async def _quarterlies(client: FuturesClient, contracts: ContractList, contract: Contract) -> tuple[Quarterly, ...]:
    listed = (await contracts.table()).deliveries(contract.pair)
    read = await gather(*(partial(client.premium, each.symbol) for each in listed))
    return tuple(quarterly(each, part.required().value) for each, part in zip(listed, read, strict=True))


def _rows(part: Part[Sourced[tuple[ValueT, ...]]]) -> tuple[ValueT, ...]:
    return part.value.value if part.value is not None else ()


def _confirmed(seen: _SpotSeen | None, perpetual: FuturesQuote | None, index: PremiumIndex | None) -> _SpotSeen | None:
    """Return the spot pair. Return None if prices contradict the contract's multiplier, or are missing."""
    if seen is None:
        return None
    price = index.mark if index else (perpetual.bid + perpetual.ask) / 2 if perpetual else ZERO
    return seen if seen.pair.agrees(price, (seen.quote.bid + seen.quote.ask) / 2) else None


def _against_spot(perpetual: FuturesQuote | None, seen: _SpotSeen | None) -> PerpVsSpot | None:
    if perpetual is None or seen is None:
        return None
    return perp_vs_spot(perpetual, seen.quote, seen.furthest_ms(perpetual.time_ms), seen.pair.multiplier)


def _day_change(points: Sequence[InterestPoint], now_ms: int) -> Decimal | None:
    hours = by_hour(points, now_ms)
    return interest_change(hours, DAY_HOURS).contracts_percent if is_fresh(max(hours, default=None), now_ms) else None


def _missing(parts: dict[str, Part[Any]]) -> tuple[str, ...]:
    return tuple(f"{name}: {part.failure.message}" for name, part in parts.items() if part.failure is not None)
