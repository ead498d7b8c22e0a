"""Conversion of a previewed order to the terms that a person agrees to."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from secrets import token_hex

from mcp_binance_server.domain.money import BPS_OF_PERCENT, EXACT_DIGITS, Price, Quantity
from mcp_binance_server.domain.order_requests import TermsKind, TimeInForce
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.trading.counting import counted_in
from mcp_binance_server.trading.errors import OrderDenied
from mcp_binance_server.trading.judgement.exits import Exits
from mcp_binance_server.trading.judgement.guards import worst_price
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.judgement.preview import Preview, PreviewedOrder
from mcp_binance_server.trading.judgement.released import Released
from mcp_binance_server.trading.judgement.sizing import on_grid
from mcp_binance_server.trading.judgement.terms import Terms, TradingMode
from mcp_binance_server.trading.reconciling import OrderWorth

NONE = Decimal(0)


@dataclass(frozen=True, slots=True)
class OrderPlan:
    """Time in force of an order, and the orders that are sent with it, or that it replaces or releases.

    A pair has its own `kind`.
    """

    time_in_force: TimeInForce
    kind: TermsKind | None = None
    exits: Exits | None = None
    replaces: str | None = None
    amends: bool = False
    releases: tuple[Released, ...] = ()


@dataclass(frozen=True, slots=True)
class Drafter:
    """Converter of orders to terms, for one mode, network and policy.

    Amounts in other quote assets are valued at current prices.
    """

    mode: TradingMode
    network: str
    policy: Policy
    market: SpotClient
    now_ms: Callable[[], int]
    """Exchange time in ms."""

    async def terms(self, tried: PreviewedOrder, plan: OrderPlan, account: str) -> Terms:
        """Return the terms that would be sent, with their charge against limits.

        Raises:
            OrderDenied: its value in the counting asset is unknown.
        """
        shown = tried.preview
        order, rules = shown.order, shown.rules
        quantity = order.quantity or (shown.fill.base if shown.fill else Quantity(NONE))
        price = order.price or self.worst(shown)
        with localcontext(prec=EXACT_DIGITS):
            # A sale is valued at the current bid if the bid is above the sale's own limit.
            counts_at = max(price, shown.touch.bid or price) if order.side == "SELL" else price
            counted = await self.counted(rules.quote, Quantity(quantity * counts_at))
        return Terms(
            account=account,
            mode=self.mode,
            network=self.network,
            symbol=rules.symbol,
            side=order.side,
            kind=plan.kind or order.kind,
            time_in_force="IOC" if order.kind == "MARKET" else plan.time_in_force,
            quantity=quantity,
            price=price,
            stop_price=plan.exits.stop if plan.kind == "OCO" and plan.exits is not None else order.stop_price,
            counted=counted,
            policy=self.policy.digest,
            expires_ms=self.now_ms() + self.policy.confirm.expires_secs * 1000,
            nonce=token_hex(8),
            exits=plan.exits,
            replaces=plan.replaces,
            amends=plan.amends,
            trailing_bps=None if order.trailing is None else int(order.trailing * BPS_OF_PERCENT),
            releases=plan.releases,
        )

    async def counted(self, quote: str, amount: Quantity) -> int:
        """Convert an amount of a quote asset to hundredths of the counting asset, rounded up.

        Raises: OrderDenied: a price for the conversion is missing.
        """
        counting = self.policy.counting_asset
        prices = {} if quote == counting else (await self.market.prices()).value
        counted = counted_in(quote, counting, amount, prices)
        if counted is None:
            raise OrderDenied(
                guard="value", received=f"an order in {quote}", limit=f"assets with a price in {counting}"
            )
        return counted

    async def worth(self, order: Order, rules: SymbolRules) -> OrderWorth:
        """Return the charge against limits of an order at the exchange.

        Raises:
            OrderDenied: its value in the counting asset is unknown.
        """
        with localcontext(prec=EXACT_DIGITS):
            value = Quantity(order.quantity * order.price)
        return OrderWorth(rules.base, await self.counted(rules.quote, value))

    def worst(self, shown: Preview) -> Price:
        """Return the worst fill price of a market order, or zero if the book lacks that side."""
        middle = shown.touch.mid
        if middle is None or shown.fill is None:
            return Price(NONE)  # the guard `book` denies the order
        with localcontext(prec=EXACT_DIGITS):
            return on_grid(
                shown.order.side, worst_price(self.policy, shown.order, shown.fill, middle), shown.rules.tick
            )
