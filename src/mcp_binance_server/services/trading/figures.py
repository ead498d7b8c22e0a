"""What became of orders, previews and questions since the start, counted under names of which there are few."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from mcp_binance_server.services.trading.answers import OrderOutcomeName, outcome_of
from mcp_binance_server.trading.journal.records import IntentState
from mcp_binance_server.trading.judgement.guards import Denied


@dataclass(eq=False, slots=True)
class TradingFigures:
    """Counts of this process, for who watches it."""

    outcomes: Counter[OrderOutcomeName] = field(default_factory=Counter["OrderOutcomeName"])
    """Of orders, as they were first answered."""
    denials: Counter[str] = field(default_factory=Counter[str])
    """Of previews and orders, by the guard."""
    answers: Counter[str] = field(default_factory=Counter[str])
    """Of users who were asked."""

    def count_order(self, state: IntentState) -> None:
        self.outcomes[outcome_of(state)] += 1

    def count_denials(self, denied: Iterable[Denied]) -> None:
        for each in denied:
            # A limit of one asset or symbol is named with it: how many of those there are nobody knows.
            self.denials[each.guard.partition(":")[0]] += 1
