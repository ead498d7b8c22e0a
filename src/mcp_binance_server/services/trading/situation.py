"""Inputs of the guards: limits, recent orders, the stop, the position, and today's loss."""

from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

from mcp_binance_server.domain.account import Commission
from mcp_binance_server.domain.account_reader import AccountReader
from mcp_binance_server.domain.money import EXACT_DIGITS, Quantity
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.trading.drafting import Drafter
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.journal.limits import PositionRoom
from mcp_binance_server.trading.journal.reading import JournalReader, OrderPast
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.guards import BROUGHT, Denied, Situation, first_denial
from mcp_binance_server.trading.judgement.intent import Touch
from mcp_binance_server.trading.judgement.policy import Way
from mcp_binance_server.trading.judgement.preview import USUAL, FillWalk
from mcp_binance_server.trading.judgement.terms import Terms

NONE = Decimal(0)
LEVELS = 100


@dataclass(frozen=True, slots=True)
class Seen:
    """A book as one order meets it: its best prices, the immediate fill, and its time."""

    touch: Touch
    fill: FillWalk | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class Around:
    """Inputs of the guards, without those from the journal."""

    found: Situation
    room: PositionRoom | None
    lost: int | None
    """Loss of the day; None without a limit for it, or if the caller may not trade on the account."""

    def with_past(self, past: OrderPast) -> Situation:
        """Return the complete inputs, including those from the journal."""
        stopped = "" if past.stopped is None else past.stopped.why
        return replace(self.found, stopped=stopped, used=past.used, open_buys=past.open_buys, recent=past.recent)

    def denied(self, past: OrderPast) -> Denied | None:
        """Return the first denial by a guard, with the inputs from the journal."""
        return first_denial(self.with_past(past))


@dataclass(frozen=True, slots=True)
class Surveyor:
    """Reader of the journal, the account and the market for the guards."""

    drafter: Drafter
    desk: Desk
    reader: JournalReader
    market: SpotClient
    directory: Directory
    time: ServerTime

    async def situation(self, terms: Terms, seen: Seen, asset: str, way: Way, account: AccountReader) -> Situation:
        """Return all inputs that the guards need to judge these terms."""
        around = await self.around(terms, seen, asset, way, account)
        policy, now_ms = self.drafter.policy, around.found.now_ms
        past = await self.desk.ledger.past(terms, charges(terms, policy, way), now_ms, around.room)
        # Do this after the read above, because the loss of the day can itself stop trading.
        await self.stop_at(around.lost, terms.account)
        return around.with_past(past)

    async def around(self, terms: Terms, seen: Seen, asset: str, way: Way, account: AccountReader) -> "Around":
        """Return the inputs of the guards, without those from the journal.

        The journal is read at the moment of a claim.
        """
        policy, now_ms = self.drafter.policy, self.time.now_ms()
        is_own = terms.account != BROUGHT
        room = await self._room(terms, asset, seen, account) if is_own else None
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
            held=0 if room is None else room.held,
            lost_today=lost or 0,
        )
        return Around(found, room, lost)

    async def _room(self, terms: Terms, asset: str, seen: Seen, account: AccountReader) -> PositionRoom | None:
        """Return the position limit of an asset, with the present value. Return None for a sale and without a limit."""
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
        """Return the loss of today's orders so far, in hundredths. Return None without a limit for it.

        A loss that reaches the limit stops the account.
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
        """Return the loss without stopping the account.

        The loss is the price of closing the day's positions now. A net purchase is valued at the bid, a net sale at the
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
