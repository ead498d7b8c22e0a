"""Loss and gain of an order's exits, and the quantity whose loss at the stop is an amount of money. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext
from typing import Literal

from mcp_binance_server.domain.money import EXACT_DIGITS, Price, Quantity, floor_to_step
from mcp_binance_server.domain.order_requests import Side
from mcp_binance_server.domain.symbols import ANY_PRICE
from mcp_binance_server.trading.judgement.guards import PERCENT
from mcp_binance_server.trading.judgement.intent import DIGITS
from mcp_binance_server.trading.judgement.policy import TradingLimits
from mcp_binance_server.trading.judgement.preview import BPS

# Distance of a stop's limit, in multiples of a market order's allowed slippage. A price can jump over a stop.
STOP_SLIPS = 4
CostSource = Literal["entry", "average cost", "best bid"]


def on_grid(side: Side, price: Price, tick: Price) -> Price:
    """Round a price to the tick, in favour of the user: down for a buyer, up for a seller."""
    below = Price(floor_to_step(Quantity(price), Quantity(tick)))
    return below if side == "BUY" or below == price else Price(below + tick)


def stop_limit(limits: TradingLimits, stop: Price, tick: Price, least: Price = ANY_PRICE) -> Price:
    """Return the limit price of a stop that sells: the lowest price that is accepted after the trigger."""
    with localcontext(prec=EXACT_DIGITS):
        away = min(limits.slippage_bps * STOP_SLIPS / BPS, limits.collar_percent / PERCENT)
        return on_grid("SELL", max(least, Price(stop * (1 - away))), tick)


@dataclass(frozen=True, slots=True)
class ExitPrices:
    """Prices at which a position is sold: the target, and the limit of the stop."""

    target: Price | None = None
    stop_limit: Price | None = None


@dataclass(frozen=True, slots=True)
class ExitResult:
    """Results of a position's exits in the quote asset, after fees.

    `cost` is the price of a unit that they are measured from. A negative loss is a gain. `worst_loss` is the loss if a
    market entry fills at its worst price.
    """

    source: CostSource
    cost: Price
    quantity: Quantity
    loss: Decimal | None
    gain: Decimal | None
    break_even: Price | None
    worst_loss: Decimal | None = None

    @property
    def ratio(self) -> Decimal | None:
        """Gain at the target as a multiple of the loss at the stop (R)."""
        if self.loss is None or self.gain is None or self.loss <= 0:
            return None
        return self.gain / self.loss


def loss_at(entry: Decimal, limit: Decimal, quantity: Decimal, fee: Decimal) -> Decimal:
    """Return the loss of coins that are bought at one price and sold at another, with the fee of both trades.

    The buyer's fee is taken from the coins, the seller's from the proceeds.
    """
    kept = 1 - fee
    return quantity * (entry - limit * kept * kept)


def entry_result(  # noqa: PLR0917 - an entry and its exits
    entry: Price, worst: Price, quantity: Quantity, exits: ExitPrices, fee: Decimal, tick: Price
) -> ExitResult:
    """Return the results of a buy with exits."""
    with localcontext(prec=DIGITS):
        limit, target = exits.stop_limit, exits.target
        even = entry / ((1 - fee) * (1 - fee))
        return ExitResult(
            "entry",
            entry,
            quantity,
            None if limit is None else loss_at(entry, limit, quantity, fee),
            None if target is None else -loss_at(entry, target, quantity, fee),
            on_grid("SELL", Price(even), tick),
            None if limit is None or worst <= entry else loss_at(worst, limit, quantity, fee),
        )


def holding_result(  # noqa: PLR0917 - a holding and its exits
    source: CostSource, cost: Price, quantity: Quantity, exits: ExitPrices, fee: Decimal, tick: Price
) -> ExitResult:
    """Return the results of exits of coins that are held. The cost of a unit includes the fee of its purchase."""
    with localcontext(prec=DIGITS):
        limit, target, kept = exits.stop_limit, exits.target, 1 - fee
        return ExitResult(
            source,
            cost,
            quantity,
            None if limit is None else quantity * (cost - limit * kept),
            None if target is None else quantity * (target * kept - cost),
            break_even_of(cost, fee, tick) if source == "average cost" else None,
        )


def break_even_of(cost: Decimal, fee: Decimal, tick: Price) -> Price:
    """Return the lowest price whose proceeds, after the fee of the sale, cover the cost of a unit."""
    with localcontext(prec=DIGITS):
        even = cost / (1 - fee)
        return on_grid("SELL", Price(even), tick) if tick else Price(even)


def largest_within(step: Quantity, most: Quantity, passes: Callable[[Quantity], bool]) -> Quantity:
    """Return the largest quantity on the step that passes, at most `most`; zero if one step does not pass.

    A quantity that is one step larger does not pass.
    """
    with localcontext(prec=DIGITS):
        low, high = 0, int((most / step).to_integral_value(ROUND_FLOOR)) + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if passes(Quantity(middle * step)) else (low, middle)
        return Quantity(low * step)


def away_from(base: Decimal, percent: Decimal) -> Decimal:
    """Return a price that is a percentage away from another."""
    with localcontext(prec=DIGITS):
        return base * (1 + percent / PERCENT)
