"""Listed contracts, each with its spot market and its funding terms."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from binance_simulator.market.listing import UNIT, Listing, Symbol, decimal_string
from binance_simulator.market.noise import draws
from binance_simulator.market.prices import DAY_MS, HOUR_MS

FUTURES_HOST = "futures.simulator.invalid"  # host name of this market for a client in the same process
ONBOARD_MS = 1_672_531_200_000  # 2023-01-01, as in the spot market
FOREVER_MS = 4_133_404_800_000  # 2100-12-25, the delivery date of perpetuals
SETTLED_MS = 1_735_689_600_000  # 2025-01-01, the end of the spot markets of settling contracts
FLOW = 3  # factor from spot volume to contract volume
TRADFI_MODEL = "LTCUSDT"  # the contracts have the tick and lot of this symbol
LARGEST_CONTRACT_CROWD = 900

MULTIPLIED = {"1000SHIBUSDT": "SHIBUSDT", "1000PEPEUSDT": "PEPEUSDT"}
PLAIN = (
    "BTCUSDT", "ETHUSDT", "BNBUSDT", "SOLUSDT", "XRPUSDT", "DOGEUSDT", "1000SATSUSDT", "1INCHUSDT", "WUSDT",
    "ADAUSDT", "LTCUSDT", "TRXUSDT", "LINKUSDT", "AVAXUSDT", "DOTUSDT", "XLMUSDT", "ATOMUSDT",
    "币安人生USDT", "BTCUSDC", "ETHUSDC",
)  # fmt: skip
TRADFI = ("TSLAUSDT", "NVDAUSDT", "XAUUSDT")
SETTLING = ("MATICUSDT", "LUNAUSDT")
DELIVERED = ("BTCUSDT", "ETHUSDT")

BASIS_POINT = UNIT // 10_000


@dataclass(frozen=True, slots=True)
class FundingPlan:
    """Funding terms. Rates and premiums are in units of 0.00000001.

    Funding is every `hours` hours, and was every `hours_before` hours until `changed_ms`. fundingInfo can omit a plan.
    """

    hours: int = 8
    cap: int = 2 * UNIT // 100
    told: bool = True
    changed_ms: int = 0
    hours_before: int = 8
    special_ms: int = 0
    lean: int = 0
    """Mean of the premium."""


@dataclass(frozen=True, slots=True)
class Contract:
    """One contract with the spot market of its index. Its units are multiples of 0.00000001."""

    name: str
    pair: str
    kind: str
    status: str
    base: str
    quote: str
    spot: Symbol
    multiplier: int
    tick: int
    lot: int
    delivery_ms: int
    onboard_ms: int = ONBOARD_MS
    plan: FundingPlan | None = None

    @property
    def trading(self) -> bool:
        return self.status == "TRADING"

    @property
    def perpetual(self) -> bool:
        return self.plan is not None

    def price(self, ticks: int) -> str:
        """Format a price given in ticks."""
        return decimal_string(ticks * self.tick)

    def quantity(self, lots: int) -> str:
        """Format a quantity given in lots. Trailing zeros that all quantities of the contract share are removed."""
        return decimal_string(lots * self.lot)[: -zeros(self.lot) or None].rstrip(".")

    def value(self, scaled: int) -> str:
        """Format an amount of the quote asset. The unit is spot ticks times spot lots times 0.00000001."""
        return decimal_string(scaled * self.spot.tick * self.spot.lot * FLOW // (UNIT * UNIT))

    def average(self, scaled: int, lots: int) -> str:
        """Format value / quantity, rounded down at the eighth decimal."""
        return decimal_string(scaled * self.spot.tick * self.multiplier // (UNIT * lots))


class ContractListing:
    """Contracts by name. Delivery contracts are listed and removed each quarter.

    `began_ms` is the start time of the exchange. Histories that tests need are shortly before it.
    """

    def __init__(self, spot: Listing, seed: int, began_ms: int) -> None:
        self._spot = spot
        self._seed = seed
        self._began_ms = began_ms
        self._crowd = 0
        self._kept: dict[int, Mapping[str, Contract]] = {}

    def set_crowd(self, count: int) -> None:
        """List the perpetuals of `count` additional symbols, even if they are not listed on spot.

        Raises:
            ValueError: the number is out of range.
        """
        if not 0 <= count <= LARGEST_CONTRACT_CROWD:
            raise ValueError(f"A crowd must have 0 to {LARGEST_CONTRACT_CROWD} contracts, not {count}.")
        self._crowd = count
        self._kept.clear()

    def contracts(self, now_ms: int) -> Mapping[str, Contract]:
        """Return the contracts listed at a time."""
        first, second = quarters(now_ms // HOUR_MS * HOUR_MS)
        found = self._kept.get(first)
        if found is None:
            built = [*self._perpetuals(), *self._deliveries(first, second), *self._members()]
            found = self._kept[first] = {each.name: each for each in built}
        return found

    def _perpetuals(self) -> list[Contract]:
        spot, plans = self._spot.symbols, _plans(self._began_ms)
        contracts = [contract_on(spot[name], name, plan=plans.get(name, FundingPlan())) for name in PLAIN]
        contracts += [
            contract_on(spot[of], name, multiplier=1000, plan=plans.get(name, FundingPlan()))
            for name, of in MULTIPLIED.items()
        ]
        for name in TRADFI:
            base = name.removesuffix("USDT")
            hidden = spot["PAXGUSDT"] if base == "XAU" else replace(spot[TRADFI_MODEL], name=name, base=base)
            plan = plans.get(name, FundingPlan())
            kind = "TRADIFI_PERPETUAL"
            contracts.append(replace(contract_on(hidden, name, plan=plan), pair=name, base=base, kind=kind))
        for name in SETTLING:
            contract = contract_on(spot[name], name, plan=FundingPlan(told=False))
            contracts.append(replace(contract, status="SETTLING", delivery_ms=SETTLED_MS))
        return contracts

    def _deliveries(self, first: int, second: int) -> list[Contract]:
        return [
            replace(
                contract_on(self._spot.symbols[pair], f"{pair}_{datetime.fromtimestamp(at // 1000, UTC):%y%m%d}"),
                kind=kind,
                delivery_ms=at,
                onboard_ms=at - 182 * DAY_MS,
            )
            for pair in DELIVERED
            for kind, at in (("CURRENT_QUARTER", first), ("NEXT_QUARTER", second))
        ]

    def _members(self) -> list[Contract]:
        members = self._spot.crowd_symbols(self._crowd)
        return [contract_on(symbol, symbol.name, plan=_drawn_plan(self._seed, symbol.name)) for symbol in members]


def contract_on(symbol: Symbol, name: str, *, multiplier: int = 1, plan: FundingPlan | None = None) -> Contract:
    """Return a contract on a spot pair. Its units make all amounts whole numbers."""
    prefix = "" if multiplier == 1 else str(multiplier)
    return Contract(
        name=name,
        pair=f"{prefix}{symbol.name}",
        kind="PERPETUAL",
        status="TRADING",
        base=f"{prefix}{symbol.base}",
        quote=symbol.quote,
        spot=symbol,
        multiplier=multiplier,
        # A contract on a thousand units of a cheap asset has a finer tick, in proportion to its price.
        tick=symbol.tick if multiplier == 1 else symbol.tick * multiplier // 100,
        lot=symbol.lot * FLOW // multiplier,
        delivery_ms=FOREVER_MS,
        plan=plan,
    )


def _plans(began_ms: int) -> Mapping[str, FundingPlan]:
    midnight = began_ms // DAY_MS * DAY_MS
    return {
        "DOGEUSDT": FundingPlan(hours=4),
        "1000PEPEUSDT": FundingPlan(hours=4, lean=4 * BASIS_POINT),
        "WUSDT": FundingPlan(hours=1, lean=-9 * BASIS_POINT),
        "1INCHUSDT": FundingPlan(hours=1),
        "AVAXUSDT": FundingPlan(hours=1, changed_ms=midnight - 10 * DAY_MS, lean=-12 * BASIS_POINT),
        "LTCUSDT": FundingPlan(told=False),
        "BTCUSDC": FundingPlan(told=False),
        "DOTUSDT": FundingPlan(cap=30 * BASIS_POINT, lean=60 * BASIS_POINT),
        "TSLAUSDT": FundingPlan(special_ms=midnight - 5 * DAY_MS + 13 * HOUR_MS),
        "TRXUSDT": FundingPlan(lean=-14 * BASIS_POINT),
    }


def _drawn_plan(seed: int, name: str) -> FundingPlan:
    hours, told, lean = draws(3, seed, "plan", name)
    return FundingPlan((8, 8, 4, 4, 1)[hours % 5], told=told % 8 > 0, lean=(lean % 17 - 8) * BASIS_POINT)


@lru_cache(maxsize=64)
def quarters(now_ms: int) -> tuple[int, int]:
    """Return the next two delivery times: 08:00 UTC on the last Friday of a quarter."""
    year = datetime.fromtimestamp(now_ms // 1000, UTC).year
    ends = [_last_friday(at, month) for at in (year, year + 1) for month in (3, 6, 9, 12)]
    coming = [end for end in ends if end > now_ms]
    return coming[0], coming[1]


def _last_friday(year: int, month: int) -> int:
    following = datetime(year + month // 12, month % 12 + 1, 1, 8, tzinfo=UTC)
    back = (following.weekday() - 4 - 1) % 7 + 1
    return int((following - timedelta(days=back)).timestamp()) * 1000


def zeros(units: int) -> int:
    """Count the trailing decimals that are zero in every multiple of the units."""
    count = 0
    while count < 8 and units % 10 == 0:
        units, count = units // 10, count + 1
    return count
