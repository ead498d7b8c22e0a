"""Checks of trading at the exchange: permission, order events, and agreement with the journal."""

from dataclasses import dataclass, field, replace

import anyio

from mcp_binance_server.cli.doctor.bench import Bench, CheckResult, export, good, off
from mcp_binance_server.cli.doctor.proxy import proxy_problem
from mcp_binance_server.cli.doctor.trading import LIVE, PAPER
from mcp_binance_server.domain.account import Account
from mcp_binance_server.domain.order_requests import Fate
from mcp_binance_server.domain.orders import Order, Report
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import InvalidCredentials
from mcp_binance_server.exchange.dialing import NetworkDialer, Pacer, StreamConnection
from mcp_binance_server.exchange.endpoints import EXCHANGE_INFO, host_of
from mcp_binance_server.exchange.spot.user_stream import UserStream
from mcp_binance_server.exchange.spot.wire import ExchangeInfoWire
from mcp_binance_server.installation import own_command
from mcp_binance_server.proxies.environment import ProxyFailure
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.judgement.key_rights import judge_rights
from mcp_binance_server.trading_assembly.trial import small_order, try_out

USUAL, LEVELS = Symbol("BTCUSDT"), 5
SUBSCRIBED_SECS = 8.0
# Prefix of our client order IDs for each trading mode.
PREFIXES = {"live": ("mbl-",), "practice": ("mbt-", "mbd-")}


@dataclass(eq=False)
class _Subscription:
    """Listener that cancels its scope when the subscription is confirmed."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    stands: bool = False

    def on_subscribed(self) -> None:
        self.stands = True
        self.scope.cancel()

    def on_report(self, report: Report) -> None: ...

    def on_missed(self) -> None: ...

    def on_lost(self) -> None: ...


@dataclass
class _Noting:
    """Dialer that keeps a proxy's answer, because the stream only logs it."""

    network: NetworkDialer
    proxy_failure: ProxyFailure | None = None

    async def connect(self, url: str) -> StreamConnection:
        try:
            return await self.network.connect(url)
        except ProxyFailure as failure:
            self.proxy_failure = failure
            raise


@dataclass
class _OneTry(Pacer):
    """Pacer that allows one attempt, so that the first failure is shown immediately."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def wait(self, failures: int) -> None:
        if failures:
            self.scope.cancel()
        await super().wait(failures)


async def rights(bench: Bench) -> CheckResult:
    if bench.mode == PAPER:
        return off()
    answer = await bench.account()
    if isinstance(answer, Account) and not answer.can_trade:
        return CheckResult(
            "problem",
            "this account may not trade",
            "Binance has not enabled it for trading, or has disabled it",
            "Check the account at Binance: identity, region, notices",
            bench.network.help_url,
        )
    if bench.mode != LIVE:
        return good(f"the account may trade; {bench.network.name} does not report the key's permissions")
    return _judged(bench)


async def user_stream(bench: Bench) -> CheckResult:
    if bench.mode == PAPER:
        return off()
    url = bench.network.ws_api_url
    if url is None:
        return off("none: BINANCE_REST_URL is set, BINANCE_WS_API_URL is not; orders are polled")
    host, heard, started_ms = host_of(url), _Subscription(), bench.clock.monotonic_ms()
    pacer = _OneTry(bench.clock, scope=heard.scope)
    dialer = _Noting(NetworkDialer(bench.settings.proxies))
    stream = UserStream(url, dialer, pacer, bench.caller, bench.app.account.require_key())
    try:
        with anyio.move_on_after(SUBSCRIBED_SECS), heard.scope:
            await stream.run(heard)
    except InvalidCredentials as error:
        return CheckResult(
            "problem",
            f"{host} refuses the key for order events",
            error.explanation or "The key's IP access list lacks this machine, or the key was deleted",
            "Edit the key, or make another; until then orders are polled every few seconds",
            bench.network.help_url,
        )
    if heard.stands:
        return good(f"{host} sends order events, subscribed in {bench.clock.monotonic_ms() - started_ms:.0f} ms")
    if dialer.proxy_failure is not None:
        return replace(proxy_problem(host, dialer.proxy_failure), status="warning")
    return CheckResult(
        "warning",
        f"{host} accepts no subscription to order events",
        "A firewall or proxy blocks WebSockets; or BINANCE_WS_API_URL is wrong",
        "Allow WebSockets to this host; until then orders are polled every few seconds",
        export("BINANCE_WS_API_URL", "ADDRESS"),
    )


async def reconciliation(bench: Bench) -> CheckResult:
    if bench.mode == PAPER or bench.journal is None:
        return off()
    standing = (await bench.app.account.open_orders()).value
    own = [each for each in standing if each.client_order_id.startswith(PREFIXES[bench.mode])]
    shown = {each.client_order_id for each in own}
    here = [each for each in bench.journal.open if each.terms.mode == bench.mode and each.state == "ACKED"]
    known = {each.client_order_id for each in (*bench.journal.open, *bench.journal.unresolved)}
    if strangers := [each for each in own if each.client_order_id not in known]:
        return _unknown_here(strangers)
    if over := [each for each in here if each.client_order_id not in shown]:
        return _unknown_there(over)
    return good(
        f"{len(own)} placed by this server, in the journal and at the exchange"
        if own
        else "none placed by this server, in the journal or at the exchange"
    )


async def trial(bench: Bench) -> CheckResult:
    if bench.mode == PAPER:
        return off()
    listed = None if bench.policy is None else bench.policy.limits.symbols
    symbol = Symbol(min(listed)) if listed else USUAL
    info = await bench.caller.read(EXCHANGE_INFO, {"symbol": symbol}, ExchangeInfoWire)
    rules = info.value.to_domain(otherwise=0).find(symbol)
    book = await bench.app.market.client.snapshot(symbol, LEVELS)
    if rules is None or not book.bids:
        return off(f"not tested: {symbol} has no market now")
    outcome = await try_out(bench.caller, bench.app.account.require_key(), small_order(rules, book.bids[0].price))
    if outcome.fate is Fate.ACCEPTED:
        return good(f"Binance accepts a test order for {symbol}; nothing was placed")
    return CheckResult(
        "problem",
        f"Binance refuses a test order for {symbol}: {outcome.reason}",
        "A small test order was sent: Binance checks it but does not execute it",
        "Follow the message; if the key is refused, check its right to trade and its IP list",
        bench.network.help_url,
    )


def _judged(bench: Bench) -> CheckResult:
    if bench.rights is None:
        return _refused(bench, "Binance does not report the key's permissions", "Try again, or make another key")
    verdict = judge_rights(bench.rights)
    if verdict.refusals:
        return _refused(bench, verdict.refusals[0], "Edit the key; it needs only reading and spot trading")
    # A key without an IP access list has its own check.
    if beyond := [each for each in verdict.warnings if "ticked" in each]:
        return CheckResult(
            "warning",
            beyond[0],
            "A stolen key can do everything that is ticked; the server does not trade margin, futures or options",
            "Edit the key; it needs only reading and spot trading",
            bench.network.help_url,
        )
    return good("the key may read and trade spot, and nothing else")


def _refused(bench: Bench, seen: str, fix: str) -> CheckResult:
    return CheckResult(
        "problem", seen, "The server does not start: live needs a key limited to reading and spot trading", fix,
        bench.network.help_url,
    )  # fmt: skip


def _unknown_here(strangers: list[Order]) -> CheckResult:
    first, more = strangers[0], f" ({len(strangers) - 1} more)" if len(strangers) > 1 else ""
    return CheckResult(
        "warning",
        f"order {first.client_order_id} is open at the exchange, but not in this journal{more}",
        "Another machine placed the order, or this is another journal, or the journal was lost",
        "Check whether it is your order. The server takes it over at its next start; you can cancel it at Binance",
        f"{own_command()} journal",
    )


def _unknown_there(over: list[Intent]) -> CheckResult:
    first, more = over[0], f" ({len(over) - 1} more)" if len(over) > 1 else ""
    return CheckResult(
        "warning",
        f"order {first.client_order_id} is open in the journal, but not at the exchange{more}",
        "It was filled or cancelled while no server ran",
        "Start a server with these settings, which queries the outcome",
        f"{own_command()} journal",
    )
