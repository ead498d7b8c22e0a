"""What orders need of the exchange: a key that may trade, and a journal that agrees with what stands there."""

from mcp_binance_server.cli.doctor.bench import Bench, CheckResult, good, off
from mcp_binance_server.cli.doctor.trading import PAPER
from mcp_binance_server.domain.account import Account
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.installation import own_command

# How ids of orders begin that were placed by this program.
PREFIXES = {"live": ("mbl-",), "practice": ("mbt-", "mbd-")}


async def rights(bench: Bench) -> CheckResult:
    if bench.mode == PAPER:
        return off()
    answer = await bench.account()
    if isinstance(answer, Account) and not answer.can_trade:
        return CheckResult(
            "problem",
            "this account may not trade",
            "Binance has not opened it for trading, or has closed it",
            "Look into the account: identity, region, or a notice of Binance",
            bench.network.help_url,
        )
    if bench.rights is None:
        return good("the account may trade; what the key may do is not told here")
    if not bench.rights.spot_trading:
        return CheckResult(
            "problem",
            "the key may not trade",
            "'Enable Spot & Margin Trading' is not ticked; the server would not start",
            "Edit the key and tick it, and nothing else than it and reading",
            bench.network.help_url,
        )
    return good("the key may trade on spot")


async def reconciliation(bench: Bench) -> CheckResult:
    if bench.mode == PAPER or bench.journal is None:
        return off()
    standing = (await bench.app.account.open_orders(None)).value
    own = [each for each in standing if each.client_order_id.startswith(PREFIXES.get(bench.mode, ()))]
    known = {each.client_order_id for each in (*bench.journal.open, *bench.journal.unresolved)}
    if strangers := [each for each in own if each.client_order_id not in known]:
        return _unknown_here(strangers)
    return good(f"{len(own)} of ours at the exchange, all in the journal" if own else "none of ours at the exchange")


def _unknown_here(strangers: list[Order]) -> CheckResult:
    first, more = strangers[0], f" ({len(strangers) - 1} more)" if len(strangers) > 1 else ""
    return CheckResult(
        "warning",
        f"order {first.client_order_id} stands at the exchange and is not in this journal{more}",
        "Another machine placed it, or the journal was lost or is another",
        "A server that starts takes it over; or cancel it",
        f"{own_command()} cancel {first.client_order_id}",
    )
