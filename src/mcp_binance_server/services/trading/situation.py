"""Inputs of the guards: limits, recent orders, the stop, the balance, the position, and today's loss."""

from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from statistics import median

from mcp_binance_server.domain.account import Balance, Commission
from mcp_binance_server.domain.account_reader import AccountReader
from mcp_binance_server.domain.market import PriceLevel
from mcp_binance_server.domain.money import EXACT_DIGITS, Quantity, floor_to_step, written
from mcp_binance_server.domain.periods import Candle
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.trading.drafting import Drafter
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.journal.ledger import Admitted
from mcp_binance_server.trading.journal.limits import PositionRoom
from mcp_binance_server.trading.journal.reading import JournalReader, OrderPast
from mcp_binance_server.trading.judgement.charges import AUTO, Charge, charges
from mcp_binance_server.trading.judgement.exposure import Holding
from mcp_binance_server.trading.judgement.guards import BROUGHT, PERCENT, Denied, Situation, first_denial
from mcp_binance_server.trading.judgement.intent import Touch
from mcp_binance_server.trading.judgement.policy import Way
from mcp_binance_server.trading.judgement.preview import USUAL, FillWalk, largest_part
from mcp_binance_server.trading.judgement.steps import counted_for_way
from mcp_binance_server.trading.judgement.terms import Terms

NONE = Decimal(0)
LEVELS = 100
# Number of minutes of prices that a sale in live trading is compared with.
RECENT_MINUTES = 5
HOUR_MINUTES = 60


@dataclass(frozen=True, slots=True)
class Seen:
    """Book as one order sees it: the best prices, the immediate fill, and the time."""

    touch: Touch
    fill: FillWalk | None
    at_ms: int
    levels: tuple[PriceLevel, ...] = ()


@dataclass(frozen=True, slots=True)
class Around:
    """Inputs of the guards, except those from the journal."""

    found: Situation
    room: PositionRoom | None
    holding: Holding
    lost: int | None
    """Loss of the day. None without a limit for the loss, or if the caller may not trade on the account."""

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All charges that the order may need, for any purpose."""
        return charges(self.found.terms, self.found.policy, self.found.way, "smaller_entry")

    def with_past(self, past: OrderPast) -> Situation:
        """Return the complete inputs, with those from the journal."""
        return replace(
            self.found,
            stopped="" if past.stopped is None else past.stopped.why,
            stop_allows_exits=past.stopped is not None and past.stopped.allows_exits,
            used=past.used,
            oldest_ms=past.oldest_ms,
            open_buys=past.open_buys,
            recent=past.recent,
            orders=past.orders,
        )

    def judge(self, past: OrderPast) -> Denied | Admitted:
        """Return the first denial by a guard, or the purpose and the charges of the order."""
        found = self.with_past(past)
        return first_denial(found) or Admitted(found.purpose, found.charges)


@dataclass(frozen=True, slots=True)
class SituationReader:
    """Reader of the journal, the account and the market for the guards."""

    drafter: Drafter
    desk: Desk
    reader: JournalReader
    market: SpotClient
    directory: Directory
    time: ServerTime

    async def situation(self, around: "Around") -> Situation:
        """Return all inputs of the guards, with those from the journal."""
        terms = around.found.terms
        past = await self.desk.ledger.past(terms, around.charges, around.found.now_ms, around.room, around.holding)
        # Check the loss after that read, because it can stop trading.
        await self.stop_at(around.lost, terms.account)
        return around.with_past(past)

    async def around(self, terms: Terms, seen: Seen, asset: str, way: Way, account: AccountReader) -> "Around":
        """Return the inputs of the guards, except those from the journal, which is read when the order is claimed."""
        policy, now_ms = self.drafter.policy, self.time.now_ms()
        is_own = terms.account != BROUGHT
        rules = await self.directory.find(terms.symbol)
        room = await self._room(terms, asset, seen, account) if is_own else None
        holding = (
            await self._holding(terms, asset, account)
            if is_own
            else Holding(asset, Quantity(NONE), Quantity(NONE), now_ms)
        )
        lost = await self._lost_today(terms.account, account) if is_own else None
        found = Situation(
            mode=self.drafter.mode,
            policy=policy,
            terms=terms,
            way=way,
            now_ms=now_ms,
            touch=seen.touch,
            book_age_ms=max(0, now_ms - seen.at_ms),
            fill=seen.fill,
            waits_for=self.desk.waits_for,
            key=terms.account,
            asset=asset,
            quote=rules.quote,
            held=0 if room is None else room.held,
            lost_today=lost or 0,
            holding=holding,
            usual_minute=await self._usual_minute(terms),
            most_exits=rules.max_num_orders // 2 or None,
            most_stops=max(1, rules.max_num_algo_orders - 1) if rules.max_num_algo_orders else None,
            fits=_fits(seen, terms, rules, policy.limits.slippage_bps),
        )
        return Around(found, room, holding, lost)

    async def _holding(self, terms: Terms, asset: str, account: AccountReader) -> Holding:
        """Return the balance that a sale can use. If it cannot be read, return zero, so that no sale is an exit."""
        read_ms, nothing = self.time.now_ms(), Quantity(NONE)
        found: Balance | None = None
        if terms.side == "SELL":
            with suppress(AppError):
                balances = (await account.account()).value.balances
                found = next((each for each in balances if each.asset == asset), None)
        if found is None:
            return Holding(asset, nothing, nothing, read_ms)
        return Holding(asset, found.total, found.locked, read_ms)

    async def _usual_minute(self, terms: Terms) -> Decimal | None:
        """Return the median price range of a minute in the last hour.

        Return None unless the order is a stop that sells.
        """
        if terms.side != "SELL" or not terms.is_stop:
            return None
        return await usual_minute(self.market, terms.symbol)

    async def way(self, terms: Terms, asset: str) -> Way:
        """Return how an order must be confirmed.

        Replacing a stop needs the same confirmation as placing it. A person confirms every exit while trading is
        stopped. In live trading a person confirms a sale of more than was bought here, and a sale far below the price
        of the last minutes.
        """
        policy, mode = self.drafter.policy, self.drafter.mode
        counted = counted_for_way(terms)
        if terms.replaces is not None:
            old = await self.desk.ledger.named(terms.account, terms.replaces)
            counted = max(counted, old.terms.counted if old is not None and old.terms.is_stop else 0)
        way = policy.way(mode, counted)
        if way == "policy" and await self._needs_person(terms, asset):
            return policy.way_of_person(mode, counted)
        return way

    async def _needs_person(self, terms: Terms, asset: str) -> bool:
        if terms.side == "BUY" and terms.replaces is None:
            return False  # an entry, which a stop of trading refuses
        stopped = await self.desk.ledger.stopped(terms.account)
        if stopped is not None and stopped.allows_exits:
            return True
        if self.drafter.mode != "live" or terms.side != "SELL":
            return False
        automatic = Charge(AUTO, "day", "money", terms.taken, self.drafter.policy.confirm.auto_per_day)
        used = await self.desk.ledger.used(terms.account, (automatic,), self.time.now_ms())
        if automatic.breaks(used[AUTO]):
            return True
        return terms.quantity > await self.reader.bought_here(terms.account, asset) or await self._is_cheap(terms)

    async def _is_cheap(self, terms: Terms) -> bool:
        """Return True if a sale may be far below the highest recent price, or if that price is unknown."""
        candles = await _minutes(self.market, terms.symbol, RECENT_MINUTES)
        if not candles:
            return True
        highest = max(each.high for each in candles)
        return terms.worst < highest * (1 - self.drafter.policy.limits.collar_percent / PERCENT)

    async def _room(self, terms: Terms, asset: str, seen: Seen, account: AccountReader) -> PositionRoom | None:
        """Return the position limit of an asset, with the present value.

        Return None for a sale, or if there is no limit.
        """
        most = self.drafter.policy.limits.position.get(asset)
        if most is None or terms.side == "SELL":
            return None
        read_ms = self.time.now_ms()
        balances = (await account.account()).value.balances
        total = next((each.total for each in balances if each.asset == asset), NONE)
        quote = (await self.directory.find(terms.symbol)).quote
        with localcontext(prec=EXACT_DIGITS):
            worth = Quantity(total * (seen.touch.reference or NONE))
            held = await self.drafter.counted(quote, worth)
        return PositionRoom(f"position:{asset}", asset, held, read_ms, most)

    async def lost_today(self, account_id: str, account: AccountReader) -> int | None:
        """Return the loss of today's orders, in hundredths of the counting asset.

        Return None if there is no limit for the loss. Stop the account if the loss reaches the limit.
        """
        lost = await self._lost_today(account_id, account)
        await self.stop_at(lost, account_id)
        return lost

    async def stop_at(self, lost: int | None, account_id: str) -> None:
        """Stop an account if its loss today has reached the operator's limit."""
        most = self.drafter.policy.limits.daily_loss
        if most is not None and lost is not None and lost >= most:
            why = f"today's loss has reached the limit daily_loss ({self.drafter.policy.counting_asset})"
            await self.desk.ledger.stop(why, "daily_loss", self.time.now_ms(), account_id)

    async def _lost_today(self, account_id: str, account: AccountReader) -> int | None:
        """Return the loss, but do not stop the account.

        The loss is the cost of closing the day's positions now. A net purchase is valued at the bid, a net sale at the
        ask, and fees at the taker's rate.
        """
        if self.drafter.policy.limits.daily_loss is None:
            return None
        rates = (await account.account()).value.commission or USUAL
        lost = 0
        for each in await self.reader.traded(account_id, self.time.now_ms()):
            lost += await self._lost(Symbol(each.symbol), each.bought - each.sold, each.paid, each.received, rates)
        return lost

    async def _lost(self, symbol: Symbol, held: Decimal, paid: Decimal, received: Decimal, rates: Commission) -> int:
        rules = await self.directory.find(symbol)
        touch = Touch.of((await self.market.depth(symbol, LEVELS)).value)
        price = (touch.bid if held > 0 else touch.ask) or touch.reference or NONE
        with localcontext(prec=EXACT_DIGITS):
            fees = (paid + received) * rates.taker
            lost = paid - received - held * price + fees
            counted = await self.drafter.counted(rules.quote, Quantity(abs(lost)))
        return counted if lost > 0 else -counted


async def usual_minute(market: SpotClient, symbol: Symbol) -> Decimal | None:
    """Return the median range of the last hour's minutes; None if they cannot be read."""
    candles = await _minutes(market, symbol, HOUR_MINUTES)
    return median(each.high - each.low for each in candles) if candles else None


async def _minutes(market: SpotClient, symbol: Symbol, count: int) -> tuple[Candle, ...]:
    """Return the newest minutes of a symbol, or none if they cannot be read: an exit does not fail for them."""
    with suppress(AppError):
        return (await market.candles(symbol, "1m", count)).value
    return ()


def _fits(seen: Seen, terms: Terms, rules: SymbolRules, most_bps: Decimal) -> str:
    if not terms.is_market:
        return ""
    fits = floor_to_step(largest_part(seen.levels, terms.side, most_bps), rules.step)
    return f"{written(fits)} {rules.base} would pass now" if fits else ""
