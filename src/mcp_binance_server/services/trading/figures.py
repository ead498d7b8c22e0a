"""Counters of orders, previews and confirmations since the start, with few labels."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from mcp_binance_server.services.trading.answers import OrderOutcomeName, outcome_of
from mcp_binance_server.trading.journal.records import IntentState
from mcp_binance_server.trading.judgement.guards import Denied


@dataclass(eq=False, slots=True)
class TradingFigures:
    """Counters of this process for monitoring."""

    outcomes: Counter[OrderOutcomeName] = field(default_factory=Counter["OrderOutcomeName"])
    """Orders by their first outcome."""
    denials: Counter[str] = field(default_factory=Counter[str])
    """Denied previews and orders, by guard."""
    answers: Counter[str] = field(default_factory=Counter[str])
    """Users' answers to questions."""

    def count_order(self, state: IntentState) -> None:
        self.outcomes[outcome_of(state)] += 1

    def count_denials(self, denied: Iterable[Denied]) -> None:
        for each in denied:
            # Cut off the asset or symbol in a limit's name, because it would make too many labels.
            self.denials[each.guard.partition(":")[0]] += 1
