"""What the whole market was at any moment, and whether an answer about it is of one moment, and of the one it names."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from binance_simulator.futures.listing import Contract
from support.chaos.past import TOLERANCE_MS, GivenAnswer, OlderThanSaid, Past, WrongAnswer, moment

PERPETUAL = "SOLUSDT"
# A board is kept for ten seconds; where none can be had within five more, the old one is shown, and says so.
SILENT_AGE_MS = 20_000
GRID_MS, SECOND_MS = 20, 1_000
# Two trades can lie closer to each other than two looks at them.
NEAR = (0, -GRID_MS, GRID_MS)
BPS = 10_000
# Shown with two digits.
ROUNDED = Decimal("0.0051")


@dataclass(frozen=True, slots=True)
class WholeMarketPast:
    """Checks what is said of all pairs, and of a perpetual."""

    past: Past

    def check_movers(self, market: str, heard: GivenAnswer) -> None:
        """Look at every price of a screen: there was one moment at which all of them were the last ones."""
        rows = self._rows(heard)
        price = self._spot_price if market == "spot" else self._perpetual_price
        shown = {name: Decimal(row["price"]) for name, row in rows.items()}
        if not shown or not any(self._fits(shown, price, at_ms) for at_ms in self._moments(heard, GRID_MS)):
            raise WrongAnswer(f"{market}: at no moment since {heard.structure['as_of']} prices were {shown}")
        if market == "perpetual":
            self._check_marks({name: row["values"]["mark_vs_index_bps"] for name, row in rows.items()}, heard)
        age_ms = heard.asked_ms - self.past.machine_time(moment(heard.structure["as_of"]))
        if age_ms > SILENT_AGE_MS and " old" not in heard.text.partition("\n")[0]:
            raise OlderThanSaid(f"{market}: the board is {age_ms} ms old and does not say so")

    def check_derivatives(self, heard: GivenAnswer) -> None:
        """Look at mark and index, which are of the second that the answer names, and at the two sides of the basis."""
        said, basis = heard.structure, heard.structure["basis"]
        at_ms = self.past.said_moment(said["as_of"], heard)
        if (shown := basis["mark_vs_index_bps"]) is not None:
            true = self._basis_bps(PERPETUAL, at_ms)
            if abs(Decimal(str(shown)) - true) > ROUNDED:
                raise WrongAnswer(f"{PERPETUAL}: mark against index was {true} bps at {said['as_of']}, not {shown}")
        if basis["perp_vs_spot_bps"] is not None and basis["apart_ms"] > SECOND_MS:
            raise WrongAnswer(f"{PERPETUAL}: a basis of two moments, {basis['apart_ms']} ms apart")
        if "sample" not in heard.text:
            raise WrongAnswer(f"{PERPETUAL}: liquidations without the word sample")

    def _rows(self, heard: GivenAnswer) -> dict[str, Mapping[str, Any]]:
        said = heard.structure
        return {row["symbol"]: row for row in (*said["rows"], *said.get("losers", ()))}

    def _moments(self, heard: GivenAnswer, step_ms: int) -> Iterator[int]:
        """Give the moments at which what was asked for then can have been said."""
        as_of_ms = self.past.said_moment(heard.structure["as_of"], heard)
        until_ms = min(self.past.at(heard.heard_ms) + TOLERANCE_MS, as_of_ms + 10 * SECOND_MS)
        yield from range(as_of_ms, until_ms, step_ms)
        yield from range(as_of_ms - TOLERANCE_MS, as_of_ms, step_ms)

    def _fits(self, shown: Mapping[str, Decimal], price: Callable[[str, int], Decimal], at_ms: int) -> bool:
        return all(any(price(name, at_ms + by) == value for by in NEAR) for name, value in shown.items())

    def _spot_price(self, name: str, at_ms: int) -> Decimal:
        listed, market = self.past.exchange.listing.symbols[name], self.past.exchange.stage.market
        last = market.last(listed, at_ms)
        return Decimal(0) if last is None else Decimal(listed.price(last.price))

    def _perpetual_price(self, name: str, at_ms: int) -> Decimal:
        contract, market = self._contract(name, at_ms), self.past.exchange.futures.market
        history = market.spot.history(contract.spot)
        last = history.last(history.until(at_ms))
        return (
            Decimal(0)
            if last is None
            else Decimal(contract.price(market.tape(contract).scale(last.time_ms).price(last.price)))
        )

    def _check_marks(self, shown: Mapping[str, str | None], heard: GivenAnswer) -> None:
        told = {name: Decimal(value) for name, value in shown.items() if value is not None}
        seconds = dict.fromkeys(at_ms // SECOND_MS * SECOND_MS for at_ms in self._moments(heard, GRID_MS))

        def fits(second_ms: int, name: str, value: Decimal) -> bool:
            return abs(self._basis_bps(name, second_ms) - value) <= ROUNDED

        if not any(all(map(partial(fits, second), told, told.values())) for second in seconds):
            raise WrongAnswer(f"at no second since {heard.structure['as_of']} marks lay {told} bps from the index")

    def _basis_bps(self, name: str, at_ms: int) -> Decimal:
        mark = self.past.exchange.futures.market.mark(self._contract(name, at_ms), at_ms)
        return BPS * (Decimal(mark.mark) / Decimal(mark.index) - 1)

    def _contract(self, name: str, at_ms: int) -> Contract:
        return self.past.exchange.futures.contracts(at_ms)[name]
