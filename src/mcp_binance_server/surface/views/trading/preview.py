"""Preview of an order that can be placed: its worst cost, its confirmation, its expiry."""

from decimal import Decimal

from mcp_binance_server.services.trading.answers import TradablePreview
from mcp_binance_server.surface.views.markdown import instant, money, next_step, plain
from mcp_binance_server.surface.views.orders.preview import (
    BNB_DISCOUNT,
    SIMULATED_MARKET,
    preview_notes,
    preview_page,
    short,
)
from mcp_binance_server.surface.views.trading.terms import (
    AFTERWARDS,
    CONFIRMATION,
    averaged,
    exit_notes,
    mode_word,
    money_notes,
    order_words,
    plan_steps,
    priced,
    unformatted,
)
from mcp_binance_server.trading.errors import COUNTS, limit_reached, try_again
from mcp_binance_server.trading.judgement.guards import Denied
from mcp_binance_server.trading.judgement.policy import cents_text
from mcp_binance_server.trading.judgement.self_trade import self_trade_mode
from mcp_binance_server.words import word

# Decimals of a gain in multiples of the loss.
R_PLACES = 2
HEADING = "# Preview, nothing sent: "
EXIT = "it does not raise your largest loss, so limits on the number and the amount of orders do not refuse it"


def preview_summary(shown: TradablePreview) -> str:
    """Return one line that says whether the previewed order can be placed."""
    mode = mode_word(shown.terms.mode, shown.tried.venue)
    order = order_words(shown.terms, shown.tried.preview.rules.base)
    if shown.kept is None:
        return f"{mode}: preview, nothing sent. It cannot be placed: {order}"
    return f"{mode}: preview, nothing sent. It can be placed: {order}"


def preview_step(shown: TradablePreview) -> str:
    """Return the call that places the order. If the order cannot be placed, return the next step."""
    if shown.kept is None:
        stands = next((each.client_order_id for each in shown.denied if each.client_order_id), None)
        if stands is not None:
            return f"{next_step('get_order', symbol=shown.terms.symbol, client_order_id=stands)} shows the other order"
        waits = [each.retry_after_secs for each in shown.denied if each.retry_after_secs is not None]
        if waits and len(waits) == len(shown.denied):
            return f"report the refusal, and preview again in {max(waits)} seconds; exits are limited separately"
        return "explain the refusal to the user; only the operator can change a limit"
    call = next_step("place_order", preview_id=shown.kept.preview_id)
    return f"{call}, if the user wants exactly this; {AFTERWARDS[shown.way]}"


def denied_words(denied: Denied) -> str:
    """Return the check that refuses an order, with the refused and the allowed value.

    The values are escaped, because they may come from outside.
    """
    if denied.guard in COUNTS:
        return f"{denied.guard}: {limit_reached(denied.guard, denied.limit)}{try_again(denied.retry_after_secs)}"
    left = "" if denied.left is None else f"; {denied.left}" if denied.guard == "slippage" else f", {denied.left} left"
    about = "" if denied.client_order_id is None else f" ({denied.client_order_id})"
    allowed = "resume with" if denied.guard == "stop" else "allowed"
    again = try_again(denied.retry_after_secs)
    return f"{denied.guard}: {word(denied.received)}; {allowed}: {word(denied.limit)}{left}{again}{about}"


def tradable_page(shown: TradablePreview, summary: str) -> str:
    """Render the preview of an order that can be placed."""
    heading, *page = preview_page(shown.tried).split("\n")
    terms, rules = shown.terms, shown.tried.preview.rules
    left = ", ".join(f"{name} {amount}" for name, amount in shown.limits_left.items())
    steps = plan_steps(terms, rules.base)
    facts = [line for line in page if line.startswith("**")]
    lines = [
        summary,
        "",
        f"**Order**: {_order(shown, heading.removeprefix(HEADING))}",
        *([] if not steps else ["**Steps**:", *(f"{number}. {each}" for number, each in enumerate(steps, 1))]),
        *facts,
        *result_lines(shown),
        *([f"**Worst price**: {priced(terms.price, rules.tick)} {plain(rules.quote)}"] if terms.is_market else []),
        _counts(shown),
        *([f"**Limits left**: {left}"] if left else []),
        *(f"**Refused by**: {unformatted(denied_words(each))}" for each in shown.denied),
        *([] if shown.kept is None else _placeable(shown, shown.kept.preview_id)),
        f"**Next**: {preview_step(shown)}",
        "",
        *(f"*{each}*" for each in tradable_notes(shown)),
        page[-1],
    ]
    return "\n".join(lines)


def result_lines(shown: TradablePreview) -> list[str]:
    """Return the loss at the stop, the gain at the target and the break-even price, with the fees."""
    found, rules = shown.result, shown.tried.preview.rules
    if found is None:
        return []

    def worth(value: Decimal) -> str:
        return money(abs(value), rules.quote, rules.tick)

    cost = f"{averaged(found.cost, rules)} {plain(rules.quote)}"
    source = {"entry": "the entry with its fee", "average cost": "the average cost with its fee"}
    basis = source.get(found.source, f"the best bid; no trade on {plain(rules.symbol)} says the cost")
    lines: list[str] = []
    if found.loss is not None:
        worst = "" if found.worst_loss is None else f"; {worth(found.worst_loss)} if bought at the worst price"
        name = "Loss" if found.loss > 0 else "Gain"
        lines.append(f"**{name} at the stop**: {worth(found.loss)} if sold at its limit price{worst}")
    if found.gain is not None:
        name = "Gain" if found.gain > 0 else "Loss"
        ratio = "" if found.ratio is None else f", {short(found.ratio, R_PLACES)}R (R is the loss at the stop)"
        lines.append(f"**{name} at the target**: {worth(found.gain)}{ratio}")
    if found.break_even is not None:
        lines.append(f"**Break-even**: {priced(found.break_even, rules.tick)} {plain(rules.quote)}")
    return [*lines, f"**From price**: {cost}, {basis}"]


def _counts(shown: TradablePreview) -> str:
    if shown.purpose != "entry":
        return f"**Exit**: {EXIT}"
    return f"**Counts towards your limits**: {cents_text(shown.terms.taken)} {plain(shown.counting_asset)}"


def tradable_notes(shown: TradablePreview) -> list[str]:
    """Return notes on how the numbers were computed, and on orders that could match each other.

    A paper account has real prices, no real money, and no fee discount.
    """
    on_paper = (SIMULATED_MARKET, BNB_DISCOUNT) if shown.terms.mode == "paper" else ()
    told = [each for each in preview_notes(shown.tried) if each not in on_paper]
    told += exit_notes(shown.terms)
    if shown.terms.mode in ("practice", "live"):
        told.append(self_trade_mode(shown.tried.preview.rules).told)
    return [*told, *money_notes(shown.terms.mode, shown.tried.venue)]


def _order(shown: TradablePreview, tried: str) -> str:
    """Return the previewed order. If more orders are sent with it, return all terms."""
    terms = shown.terms
    is_more = terms.exits is not None or terms.replaces is not None or terms.releases != ()
    return order_words(terms, shown.tried.preview.rules.base) if is_more else tried


def _placeable(shown: TradablePreview, preview_id: str) -> list[str]:
    return [
        f"**Confirmation**: {CONFIRMATION[shown.way]}",
        f"**Preview ID**: {preview_id}",
        f"**Expires**: {instant(shown.terms.expires_ms)}",
    ]
