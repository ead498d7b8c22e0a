"""Preview of an order against the live book and the account's balances; this module cannot send an order."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from mcp_binance_server.domain.account import Account, Balance
from mcp_binance_server.domain.account_reader import AccountReader, ReaderByVisitor
from mcp_binance_server.domain.market import BookSnapshot, Sourced
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.reference_price import NO_REFERENCE, ReferencePrice
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.errors import ExchangeUnavailable, InvalidArguments, InvalidSymbol
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.errors import OrderRuleBroken
from mcp_binance_server.services.gathering import gather
from mcp_binance_server.trading.judgement.filters import STOP_PRICE, Broken, FilterVerdict, check, closed, unchecked
from mcp_binance_server.trading.judgement.intent import LIMIT_MAKER, Argument, OrderIntent, Touch
from mcp_binance_server.trading.judgement.preview import NOTHING, USUAL, PreviewedOrder, ReadAmount, preview, written

# Levels per side, as many as the cheapest depth call returns.
LEVELS = 100
REASONS = {LIMIT_MAKER: "it would immediately match and take", STOP_PRICE: "it would trigger immediately"}


@dataclass(frozen=True, slots=True)
class MarketLook:
    """Market that a preview is computed from, and the account if it was read for the amounts of the order."""

    rules: SymbolRules
    depth: Sourced[BookSnapshot]
    reference: ReferencePrice | None
    account: Account | None = None

    @property
    def touch(self) -> Touch:
        return Touch.of(self.depth.value, (self.reference or NO_REFERENCE).price)


@dataclass(frozen=True, slots=True)
class PreviewService:
    """Order previews from the rules, the book and, with a key, the account."""

    client: SpotClient
    directory: Directory
    account: AccountReader

    async def look(self, rules: SymbolRules) -> MarketLook:
        """Read the order book of a symbol, and its reference price.

        Raises:
            ExchangeUnavailable: the order book is crossed.
        """
        depth, told = await gather(
            lambda: self._depth(rules.symbol), lambda: self.client.ranged_reference(rules.symbol)
        )
        look = MarketLook(rules, depth.required(), told.value)
        if look.touch.is_crossed:
            raise ExchangeUnavailable(reason="it sent a crossed order book")
        return look

    async def preview(
        self,
        text: str,
        intent: OrderIntent,
        released: Mapping[str, Quantity] = MappingProxyType({}),
        look: MarketLook | None = None,
        amounts: tuple[ReadAmount, ...] = (),
    ) -> PreviewedOrder:
        """Preview an order on a symbol in the caller's spelling.

        `released` has the funds that the replaced order frees. `look` is the market that its `amounts` were read
        from.

        Raises:
            InvalidArguments: an amount is missing, zero or not allowed for this type; raised before any request.
            OrderRuleBroken: the exchange would refuse the order; most rules are checked before the account is read.
            InsufficientBalance: the order needs more than the account's free balance.
        """
        require_amounts(intent)
        rules = await self.directory.find(text)
        require_open(rules, intent)
        look = look or await self.look(rules)
        book, reference, touch = look.depth, look.reference or NO_REFERENCE, look.touch
        verdict = kept_to(rules, intent, check(rules, intent, touch))
        account = _with_free(look.account or await self._account(), released)
        if account is not None:
            kept_to(rules, intent, check(rules, intent, touch, _held(account, rules.base)))
        return PreviewedOrder(
            preview(rules, verdict.order, book.value, account, reference),
            verdict.changes,
            unchecked(
                rules,
                intent,
                touch,
                has_account=account is not None,
                on_paper=isinstance(self.account, ReaderByVisitor),
            ),
            balances_checked=account is not None,
            may_trade=account is None or account.can_trade,
            venue=self.account.venue(book.host),
            as_of_ms=book.at_ms,
            reference=look.reference,
            commission=(account.commission if account else None) or USUAL,
            amounts=amounts,
            freed=frozenset(released),
        )

    async def touch(self, symbol: Symbol) -> Touch:
        """Return the best prices now, from the same book as a preview of this moment."""
        return Touch.of((await self._depth(symbol)).value)

    async def _depth(self, symbol: Symbol) -> Sourced[BookSnapshot]:
        try:
            return await self.client.depth(symbol, LEVELS)
        except InvalidSymbol:
            await self.directory.doubt()
            raise

    async def _account(self) -> Account | None:
        return (await self.account.account()).value if self.account.has_key else None


def _with_free(account: Account | None, released: Mapping[str, Quantity]) -> Account | None:
    if account is None or not released:
        return account

    def freed(held: Balance) -> Balance:
        more = min(held.locked, released.get(held.asset, held.locked * 0))
        return Balance(held.asset, Quantity(held.free + more), Quantity(held.locked - more))

    return replace(account, balances=tuple(map(freed, account.balances)))


def require_amounts(intent: OrderIntent) -> None:
    """Check that an order has the amounts of its type.

    Raises:
        InvalidArguments: an amount is missing, zero or not allowed for this type.
    """
    refuse(intent.problems())


def refuse(problems: Mapping[Argument, str] | Mapping[str, str]) -> None:
    """Refuse arguments of preview_order, each with its problem.

    Raises:
        InvalidArguments: there is a problem.
    """
    if problems:
        listed = "; ".join(f"{argument}: {problem}" for argument, problem in problems.items())
        raise InvalidArguments(
            summary=f"Invalid arguments for preview_order: {listed}",
            errors=tuple({"argument": argument, "problem": problem} for argument, problem in problems.items()),
        )


def require_open(rules: SymbolRules, intent: OrderIntent) -> None:
    """Check that a symbol takes orders of this type.

    Raises:
        OrderRuleBroken: it does not trade, or not in this way.
    """
    if (shut := closed(rules, intent)) is not None:
        raise OrderRuleBroken(rule=shut.rule, received=shut.received, limit=shut.limit)


def kept_to(rules: SymbolRules, asked: OrderIntent, verdict: FilterVerdict) -> FilterVerdict:
    """Return the verdict if the order keeps to the rules.

    Raises:
        OrderRuleBroken: the order breaks a rule.
    """
    if not verdict.broken:
        return verdict
    first, *others = verdict.broken
    received, limit = _told(rules, first)
    nearest = verdict.nearest
    raise OrderRuleBroken(
        rule=first.rule,
        received=received,
        limit=limit,
        reason=REASONS.get(first.rule),
        nearest=None if nearest is None else _asked(nearest),
        nearest_note="rounded up: more than requested" if nearest is not None and _grew(asked, nearest) else None,
        also_broken=tuple("{}: {}, allowed is {}".format(each.rule, *_told(rules, each)) for each in others),
    )


def _asked(order: OrderIntent) -> dict[str, str]:
    """Return the amounts as arguments. The prices of a trailing stop are none: they come from the market."""
    computed = () if order.trailing is None else ("price", "stop_price")
    return {name: written(amount) for name, amount in order.amounts.items() if name not in computed}


def _told(rules: SymbolRules, broken: Broken) -> tuple[str, str]:
    is_value = broken.rule == rules.notional_rule
    unit = f" {rules.quote}" if is_value else ""
    received = f"{'value' if is_value else broken.argument} {written(broken.received)}{unit}"
    return received, f"{broken.side} {written(broken.limit)}{unit}"


def _grew(asked: OrderIntent, nearest: OrderIntent) -> bool:
    before = asked.amounts
    return any(nearest.amounts[name] > before[name] for name in ("quantity", "quote_quantity") if name in before)


def _held(account: Account, asset: str) -> Quantity:
    return next((each.total for each in account.balances if each.asset == asset), Quantity(NOTHING))
