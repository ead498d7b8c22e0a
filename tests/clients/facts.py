"""The facts that a model must see of this server, whichever client stands between them."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clients.cell import Run
from clients.model import Step

CHART = {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "studies": [{"name": "Relative Strength Index"}]}
ORDER = {"symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quote_quantity": "50"}
TRADE = (Step("preview_order", ORDER), Step("place_order", {"preview_id": "$preview_id"}))
TICKER = Step("get_ticker", {"symbol": "BTCUSDT"})
SCRIPT = (
    TICKER,
    # As text, which every client passes on: LangChain keeps an argument named `config` for itself.
    Step("generate_chart_image", {"chart": json.dumps(CHART)}),
    Step("get_ticker", {"symbol": "NOPEUSDT"}),
    *TRADE,
)
LONGEST_NAME = 64
INSTRUCTIONS = "SIMULATED Binance spot data"
BASE64 = re.compile(r"[A-Za-z0-9+/]{2000}")
PRICE = re.compile(r"last.price\W+\d[\d,]*\.\d\d", re.IGNORECASE)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
LEGEND = re.compile(r"SIMULATED: O [\d,.]+ H [\d,.]+ L [\d,.]+ C ")


def _result(run: Run, place: int) -> str:
    """Return a tool's result as the model sees it; empty if the client did not come so far."""
    results = run.last.results[-len(SCRIPT) :]
    return results[place] if len(results) == len(SCRIPT) else ""


def _shows_tools(run: Run) -> bool:
    listed = [tool for each in run.messages("<") for tool in each.get("result", {}).get("tools", ())]
    audience = [each.get("_meta", {}).get("ui", {}).get("visibility", ["model"]) for each in listed]
    wanted = {tool["name"] for tool, seen_by in zip(listed, audience, strict=True) if "model" in seen_by}
    offered = [each.name for each in run.last.tools]
    is_whole = bool(wanted) and all(any(name.endswith(each) for name in offered) for each in wanted)
    return is_whole and max(map(len, offered)) <= LONGEST_NAME


def _shows_price(run: Run) -> bool:
    ticker = _result(run, 0)
    return bool(PRICE.search(ticker) and TIME.search(ticker)) and "simulated exchange" in ticker


def _shows_chart(run: Run) -> bool:
    return run.last.pictures > 0 or bool(LEGEND.search(_result(run, 1)))


def _shows_error(run: Run) -> bool:
    error = _result(run, 2)
    return "-32003" in error and "Use uppercase symbols without separators" in error


def _places_order(run: Run) -> bool:
    return "is FILLED" in _result(run, 4) and "PAPER" in _result(run, 3) and "PAPER" in _result(run, 4)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact in words, and the check of a run."""

    text: str
    holds: Callable[[Run], bool]


FACTS: Mapping[str, Fact] = {
    "tools": Fact("the model is offered every tool, under names of at most 64 characters", _shows_tools),
    "price": Fact("a price arrives with its time, and as simulated", _shows_price),
    "chart": Fact("a chart arrives as a picture or as its legend in words", _shows_chart),
    "picture": Fact("the picture itself arrives", lambda run: run.last.pictures > 0),
    "no base64": Fact(
        "no picture arrives as text, which would cost 15,000 tokens and more",
        lambda run: not BASE64.search(run.last.text),
    ),
    "error": Fact("a failed call arrives with its code and the suggestion", _shows_error),
    "order": Fact("`preview_order` and `place_order` work one after the other, marked as PAPER", _places_order),
    "instructions": Fact("the model reads the server's instructions", lambda run: INSTRUCTIONS in run.last.text),
}


def missing(run: Run) -> set[str]:
    """Return the facts that the model did not see."""
    return {name for name, fact in FACTS.items() if not (run.shown and fact.holds(run))}
