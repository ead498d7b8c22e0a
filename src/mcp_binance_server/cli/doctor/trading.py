"""Checks of the trading settings: the mode, the limits file, and the approver."""

import re
import shlex
import shutil
import sys
from pathlib import Path

from mcp_binance_server.cli.doctor.bench import TRADING, Bench, CheckResult, export, good, off
from mcp_binance_server.cli.setup.clients import this_machine
from mcp_binance_server.cli.setup.plan import our_entries
from mcp_binance_server.errors import SettingsError, echo
from mcp_binance_server.exchange.endpoints import host_of
from mcp_binance_server.installation import own_command
from mcp_binance_server.startup_checks import no_live_market, streams_markets
from mcp_binance_server.trading.approvals import APPROVER_FILE, fingerprint, is_sealed, public_key_hint
from mcp_binance_server.trading.errors import BINANCE_APP
from mcp_binance_server.trading.judgement.policy import CLIENT_PER_ORDER, KeyRules, Policy, cents_text
from mcp_binance_server.trading_checks import checked_rules, require_agreement

LIVE, PRACTICE, PAPER = "live", "practice", "paper"
_CHMOD = re.compile(r"(chmod g?o-w) (.+)$")


async def settings(bench: Bench) -> CheckResult:
    if bench.misfit is not None:
        return _misfit(bench.misfit)
    host, name = host_of(bench.network.rest_url), bench.network.name
    try:
        require_agreement(bench.settings, bench.network, bench.principal)
    except SettingsError as error:
        return _misfit(error)
    if bench.mode == PAPER and not streams_markets(bench.settings, bench.network):
        return _misfit(no_live_market())
    if bench.mode == PAPER:
        return good("PAPER: play money, matched here; no order is sent")
    named = "" if bench.principal is None else f"; the id of the key is {bench.principal.key_id}"
    practice = f"PRACTICE ({name}): play money, orders go to {host}"
    return good(f"{practice if bench.mode == PRACTICE else f'LIVE ({host}): ORDERS SPEND MONEY'}{named}")


async def policy(bench: Bench) -> CheckResult:
    path = bench.settings.trading_policy
    try:
        bench.policy = found = checked_rules(bench.settings, bench.network, bench.principal)
    except SettingsError as error:
        return _unfit(error)
    if path is None:
        return good("no trading.toml: counts and prices are limited, amounts are not")
    keys = "".join(f"; {_key_in_words(name, own)}" for name, own in found.keys.items())
    return good(f"{path}: {_in_words(found)}{keys}")


async def approver(bench: Bench) -> CheckResult:
    assert bench.policy is not None, "this check needs the limits"  # noqa: S101
    confirm, folder = bench.policy.confirm, bench.settings.trading_dir
    if bench.mode != LIVE and confirm.ask == "default":
        return off("none needed: play money needs no approval")
    if confirm.approver is None:
        return _nobody(bench.policy)
    return _looked_at((folder or Path()) / APPROVER_FILE, confirm.approver)


def _looked_at(path: Path, named: str) -> CheckResult:
    try:
        sealed, is_open = path.read_bytes(), _others_can_read(path)
    except OSError as error:
        return _no_approver(f"{path}: {error.strerror or 'it cannot be read'}")
    if not is_sealed(sealed):
        return _no_approver(f"{path} is not a key with a passphrase")
    name = fingerprint(named)
    if (told := public_key_hint(sealed)) is not None and told != named:
        return _no_approver(f"{path} has the fingerprint {fingerprint(told)}, trading.toml names {name}")
    if is_open:
        return CheckResult(
            "warning",
            f"other users can read {path}",
            "A copy of the file allows any number of guesses at the passphrase",
            "Make it readable by you only",
            f"chmod 600 {shlex.quote(str(path))}",
        )
    return good(f"{path}, with a passphrase; its fingerprint is {name}")


async def separation(bench: Bench) -> CheckResult:
    if bench.mode != LIVE:
        return off()
    entries, _ = our_entries(this_machine(bench.environment, shutil.which))
    starters = ", ".join(dict.fromkeys(each.client.title for each in entries if not each.is_disabled))
    if not starters:
        return good("no MCP client of this user starts the server")
    return CheckResult(
        "warning",
        f"{starters} {'start' if ',' in starters else 'starts'} the server as this user",
        "All programs of this user, including an assistant's shell, can read the key and change the limits and the "
        "journal",
        "Run the server as another user, or in a container, over HTTP with a token of scope trade",
        f"{own_command()} token new --help",
    )


async def asking(bench: Bench) -> CheckResult:
    assert bench.policy is not None, "this check needs the limits"  # noqa: S101
    confirm = bench.policy.confirm
    if bench.mode != LIVE and confirm.ask == "default":
        return off()
    ceiling = CLIENT_PER_ORDER if confirm.client_per_order is None and bench.mode == LIVE else confirm.client_per_order
    upto = "" if ceiling is None else f" up to {cents_text(ceiling)} {bench.policy.counting_asset}"
    asked = f"by a form in the client{upto}"
    if confirm.approver is not None:
        return good(f"{asked}; orders from a client that shows no forms wait for `approve`")
    return CheckResult(
        "warning",
        f"{asked}, and in no other way: there is no approver",
        "A client that shows no forms can neither buy, nor sell, nor place a stop: every order is refused",
        f"Create an approver's key, or use a client that shows forms. {BINANCE_APP}",
        f"{own_command()} approve --new",
    )


def _misfit(error: SettingsError) -> CheckResult:
    return CheckResult(
        "problem",
        "; ".join(error.problems),
        "The server does not start with this",
        "Correct the trading settings, in this environment or in your MCP client's",
        export(TRADING, "off"),
    )


def _unfit(error: SettingsError) -> CheckResult:
    told = "; ".join(error.problems)
    changed = _CHMOD.search(told)
    return CheckResult(
        "problem",
        told,
        "The server does not start with this",
        "Correct the named line; docs/how-to/limits.md has every line",
        "" if changed is None else f"{changed[1]} {shlex.quote(changed[2])}",
    )


def _nobody(found: Policy) -> CheckResult:
    ceiling = found.confirm.client_per_order
    limit = cents_text(CLIENT_PER_ORDER if ceiling is None else ceiling)
    return CheckResult(
        "warning",
        f"none: orders above {limit} {found.counting_asset}, too large for a form, are refused",
        "Such an order, or one from a client that shows no forms, needs your signature",
        "Create an approver's key, and put the printed line under [confirm] in trading.toml",
        f"{own_command()} approve --new",
    )


def _no_approver(seen: str) -> CheckResult:
    return CheckResult(
        "problem",
        seen,
        "trading.toml names an approver; without a valid key, approve and resume do not work",
        "Restore the file, or create a new key and put its line in the place of the old one",
        f"{own_command()} approve --new",
    )


def _in_words(found: Policy) -> str:
    limits, asset = found.limits, found.counting_asset
    amounts = (("an order", limits.per_order), ("a day", limits.per_day))
    told = [f"{cents_text(most)} {asset} {what}" for what, most in amounts if most is not None]
    pairs = "every pair" if limits.symbols is None else ", ".join(sorted(limits.symbols))
    return f"{', '.join(told) or 'no amount is limited'}; {pairs}"


def _key_in_words(name: str, own: KeyRules) -> str:
    lines = [
        f"approver {fingerprint(own.confirm.approver or text)}" if line == "approver" else f"{line} {echo(text)}"
        for line, text in own.own.items()
    ]
    return f"key {echo(name)}, {own.mode}: {', '.join(lines) or 'the common lines'}"


def _others_can_read(path: Path) -> bool:
    return sys.platform != "win32" and bool(path.stat().st_mode & 0o077)
