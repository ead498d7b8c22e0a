"""Definition of an endpoint, and the endpoint of the key's permissions."""

from collections.abc import Callable
from dataclasses import dataclass, field

from binance_simulator import refusals
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.market.listing import Symbol
from binance_simulator.market.portfolio import Portfolio
from binance_simulator.market.synthetic import Market
from binance_simulator.rest.signing import SIGNING, Params, legal_symbol

STATUSES = ("TRADING", "HALT", "BREAK")

CREATED_MS = 1_623_840_271_000


@dataclass(frozen=True, slots=True)
class Call:
    """One request, at a fixed time of the exchange."""

    exchange: SimulatedExchange
    params: Params
    now_ms: int
    key: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """Headers for the answer; a handler can add to them."""

    @property
    def portfolio(self) -> Portfolio:
        """The caller's portfolio. Only signed requests have one."""
        return self.exchange.portfolio(self.key)

    @property
    def market(self) -> Market:
        return self.exchange.stage.market

    def symbol(self) -> Symbol:
        """Read the mandatory symbol and return it."""
        return self.find(self.params.symbol_name())

    def find(self, name: str) -> Symbol:
        """Return the listed symbol.

        Raises:
            Refusal: the symbol is unknown.
        """
        symbol = self.exchange.listing.symbols.get(name)
        if symbol is None:
            raise refusals.bad_symbol()
        return symbol

    def optional_symbol(self) -> Symbol | None:
        """Read the optional symbol."""
        value = self.params.text("symbol")
        return None if value is None else self.find(legal_symbol("symbol", value))

    def symbols(self) -> tuple[list[Symbol], bool]:
        """Read symbol, symbols and symbolStatus. Also return whether the request is for a single symbol."""
        one, names, status = self.optional_symbol(), self.params.symbol_names(), self.status()
        if one is not None and names is not None:
            raise refusals.bad_combination()
        if one is not None:
            if status is not None and one.status != status:
                raise refusals.status_mismatch()
            return [one], True
        listed = self.exchange.listing.symbols
        chosen = [self.find(name) for name in (listed if names is None else names)]
        return [symbol for symbol in chosen if status in {None, symbol.status}], False

    def status(self) -> str | None:
        """Read the optional symbolStatus."""
        status = self.params.text("symbolStatus")
        if status is not None and status not in STATUSES:
            raise refusals.bad_status()
        return status

    def span(self) -> tuple[int | None, int | None]:
        """Read startTime and endTime."""
        return self.params.whole("startTime"), self.params.whole("endTime")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint. Its `weight` can depend on the parameters."""

    path: str
    names: tuple[str, ...]
    weight: Callable[[Params], int]
    answer: Callable[[Call], object]
    signed: bool = False
    method: str = "GET"
    costs: Callable[[object], bool] = lambda _: False
    """Whether a successful write with this body still costs its weight; since 2026-04-02 most do not."""

    @property
    def writes(self) -> bool:
        return self.method != "GET"


def flat(weight: int) -> Callable[[Params], int]:
    """Return a weight that does not depend on the parameters."""
    return lambda _: weight


def listed_symbols(params: Params) -> int | None:
    """Return the number of requested symbols, or None for all. An unreadable list counts as one."""
    if params.peek("symbols") is not None:
        return max(1, (params.peek("symbols") or "").count(",") + 1)
    return None if params.peek("symbol") is None else 1


def restrictions(call: Call) -> object:
    """Answer apiRestrictions."""
    rights = call.exchange.rights
    return {
        "ipRestrict": rights.ip_restricted,
        "createTime": CREATED_MS,
        "enableReading": rights.reading,
        "enableWithdrawals": rights.withdrawals,
        "enableInternalTransfer": rights.internal_transfer,
        "enableMargin": rights.margin,
        "enableFutures": rights.futures,
        "permitsUniversalTransfer": rights.universal_transfer,
        "enableVanillaOptions": rights.vanilla_options,
        "enableFixApiTrade": rights.fix_api_trade,
        "enableFixReadOnly": rights.fix_read_only,
        "enableSpotAndMarginTrading": rights.trading,
        "enablePortfolioMarginTrading": rights.portfolio_margin,
    }


RIGHTS = (Endpoint("/sapi/v1/account/apiRestrictions", SIGNING, flat(1), restrictions, signed=True),)
