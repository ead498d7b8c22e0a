"""Files to mutate, and the tests that must detect the mutants."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "mcp_binance_server"
CALLER_OF_SCRIPTS = PACKAGE / "state" / "redis" / "claims.py"

JUDGED = (
    *(
        f"tests/trading/test_{each}.py"
        for each in (
            "guards", "exits", "filters", "policy", "terms", "preview", "self_trade", "stop", "key_rights", "key_rules",
            "lists", "desk", "asking", "settling",
        )
    ),
    "tests/trading/journal/test_ledger.py",
    "tests/surface/trading/test_guards.py",
)  # fmt: skip
KEPT = tuple(
    f"tests/trading/{each}.py"
    for each in (
        "journal/test_store", "journal/test_ledger", "journal/test_agreements",
        "journal/test_stops", "test_settling", "test_stop", "test_lists", "test_desk", "test_reconciling",
    )
)  # fmt: skip
CLAIMED = ("tests/state/test_claims_contract.py",)
BOOKED = tuple(
    f"tests/feeds/test_{each}.py" for each in ("book", "book_readings", "book_properties", "recorded_book", "feed")
)
BUDGETED = tuple(f"tests/wire/test_{each}.py" for each in ("budget_rules", "budget", "shared_budget"))
CONFIRMED = (
    *(f"tests/surface/test_confirm{each}.py" for each in ("", "_forms", "_pages", "_rounds")),
    *(f"tests/surface/trading/test_{each}.py" for each in ("confirmed_orders", "shown_pages")),
)
JUDGEMENT = (
    "guards", "filters", "charges", "intent", "exits", "key_rights", "policy", "policy_lines", "preview", "self_trade",
    "stop", "terms",
)  # fmt: skip
CLAIM_SCRIPTS = (
    "claims", "reserve", "depart", "tell", "recount", "account_book", "stop_account", "resume_account",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Target:
    """Files of one subject with their tests, and the required percentage of killed mutants."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    least: int = 90

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(PACKAGE / each for each in self.files)

    @property
    def watched(self) -> tuple[Path, ...]:
        """Python files that are traced to find the tests of a mutant.

        All Lua scripts are run by one Python module.
        """
        found = tuple(each for each in self.paths if each.suffix == ".py")
        return found or (CALLER_OF_SCRIPTS,)


TARGETS = (
    Target("judgement", tuple(f"trading/judgement/{each}.py" for each in JUDGEMENT), JUDGED, least=100),
    Target("journal", ("trading/journal/limits.py", "trading/journal/intents.py"), KEPT, least=100),
    Target("fates", ("exchange/spot/order_fates.py",), ("tests/wire/orders/test_order_fates.py",), least=100),
    Target("signing", ("exchange/signing.py",), ("tests/wire/test_signing.py",)),
    Target("budget", ("exchange/budget.py",), BUDGETED),
    Target("book", ("feeds/book.py",), BOOKED),
    Target("confirm", ("surface/confirm.py",), CONFIRMED),
    Target("claims", ("state/claims.py", "state/redis/claims.py"), CLAIMED),
    Target("scripts", tuple(f"state/redis/lua/{each}.lua" for each in CLAIM_SCRIPTS), CLAIMED),
)
