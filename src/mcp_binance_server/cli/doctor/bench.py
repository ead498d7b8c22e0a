"""What every check has to work with, and what it may find."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from mcp_binance_server.app import App, running_app
from mcp_binance_server.charts.chartimg.client import ChartImgClient
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.account import Account, KeyRights
from mcp_binance_server.domain.market import ClockCheck, Sourced
from mcp_binance_server.errors import AppError, SettingsError
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.endpoints import NETWORKS, Network, futures_at
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.settings import Settings, read_settings
from mcp_binance_server.trading.journal.records import Intent, Stopped
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.upstream import asked_about_keys

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


# A dozen questions are no burden, and when the minute is spent, it is for the exchange to say so.
UNBOUND = 1_000_000

WINDOWS = "win32"
TRADING = "MCP_BINANCE_TRADING"
OFF = "off"


@dataclass(frozen=True, slots=True)
class JournalFound:
    """What the journal of this machine says: stops, orders without a known end, and orders that stand."""

    stops: tuple[Stopped, ...] = ()
    unresolved: tuple[Intent, ...] = ()
    open: tuple[Intent, ...] = ()


@dataclass
class Bench:
    """An environment and, once the settings have been read, the parts; some answers are kept for later rungs."""

    environment: Mapping[str, str] = field(repr=False)
    clock: Clock
    stack: AsyncExitStack = field(repr=False)
    networks: Mapping[str, Network] = field(default_factory=lambda: NETWORKS, repr=False)
    reading: Sourced[ClockCheck] | None = None
    rights: KeyRights | None = None
    misfit: SettingsError | None = None
    """What is wrong with the settings for trading, where the others are right."""
    policy: Policy | None = None
    journal: JournalFound | None = None
    _app: App | None = field(default=None, repr=False)
    _settings: Settings | None = field(default=None, repr=False)
    _account: Account | AppError | None = field(default=None, repr=False)

    @property
    def mode(self) -> str:
        """How orders are placed, in the word of the settings, whether it is one or not."""
        return self.environment.get(TRADING, "").strip() or OFF

    def read(self) -> Settings:
        """Read the settings; what hinders trading alone is kept for its own rung.

        Raises:
            SettingsError: they cannot be used, whatever is said of trading.
        """
        try:
            return read_settings(self.environment)
        except SettingsError as error:
            if self.mode == OFF:
                raise
            settings = read_settings({**self.environment, TRADING: OFF})
            self.misfit = error
            return settings

    async def build(self, settings: Settings) -> None:
        """Build the parts; nothing is sent, and none of them can trade.

        Raises:
            SettingsError: they cannot be built from these settings.
        """
        self._settings = settings
        networks: Mapping[str, Network] = self.networks if self.is_at_home else {}
        own = networks.get(settings.network)
        if own is not None:
            own = futures_at(own, settings.futures_rest_url, settings.futures_stream_url)
        self._app = await self.stack.enter_async_context(
            running_app(
                settings.model_copy(update={"trading": OFF}),
                clock=self.clock,
                network=own,
                networks=asked_about_keys(settings, networks),
            )
        )
        self.caller.budget.learn_limit(UNBOUND)

    @property
    def app(self) -> App:
        assert self._app is not None, "a rung that needs the parts needs the configuration"  # noqa: S101
        return self._app

    @property
    def settings(self) -> Settings:
        assert self._settings is not None, "a rung that needs settings needs the configuration"  # noqa: S101
        return self._settings

    @property
    def is_built(self) -> bool:
        return self._app is not None

    @property
    def is_at_home(self) -> bool:
        """Whether the exchange is asked at its own addresses, not at others that were set."""
        return self.settings.rest_url is None and self.settings.stream_url is None

    @property
    def network(self) -> Network:
        return self.app.network

    @property
    def caller(self) -> ExchangeCaller:
        return self.app.account.caller

    @property
    def charts(self) -> ChartImgClient:
        return self.app.context.chart_facts.listings.client

    @property
    def principal(self) -> Principal | None:
        return self.app.account.principal

    async def account(self) -> Account | AppError:
        """Read the account once; the error is an answer too."""
        if self._account is None:
            try:
                self._account = (await self.app.account.account()).value
            except AppError as error:
                self._account = error
        return self._account

    async def home_of_key(self) -> str | None:
        """Ask the other networks whether they know the key; it is sent there with a signature that is none.

        A key that was meant for another address than Binance's is not sent to Binance.
        """
        others = self.caller.others
        return await others.home_of(self.app.account.require_key()) if others else None


Status = Literal["ok", "warning", "problem", "skipped", "off"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What was seen; for anything but good news also why that is likely, how to fix it, and one command or page.

    `off` means that nothing is wrong: what the rung is about is not in use. Without a word about it, it is not shown.
    """

    status: Status
    seen: str = ""
    why: str = ""
    fix: str = ""
    command: str = ""
    needs: str = ""
    is_alarm: bool = False


@dataclass(frozen=True, slots=True)
class Rung:
    """One check; it is tried only when those it needs have not failed, and is off when one of them is."""

    id: str
    title: str
    check: "Callable[[Bench], Awaitable[CheckResult]]"
    needs: tuple[str, ...] = ()


def good(seen: str) -> CheckResult:
    return CheckResult("ok", seen)


def off(seen: str = "") -> CheckResult:
    return CheckResult("off", seen)


def forget(names: Sequence[str], platform: str = sys.platform) -> str:
    """Return the command that takes variables out of the environment."""
    if platform == WINDOWS:
        return "; ".join(f"Remove-Item Env:{name}" for name in names)
    return f"unset {' '.join(names)}"


def export(name: str, value: str, platform: str = sys.platform) -> str:
    """Return the command that sets a variable."""
    return f'$env:{name}="{value}"' if platform == WINDOWS else f"export {name}={value}"


def knock(host: str, port: int, platform: str = sys.platform) -> str:
    """Return the command that tries a port."""
    return f"Test-NetConnection {host} -Port {port}" if platform == WINDOWS else f"nc -vz {host} {port}"


def set_clock(platform: str = sys.platform) -> str:
    """Return the command that sets the clock by the network."""
    usual = "sudo timedatectl set-ntp true"
    return {WINDOWS: "w32tm /resync", "darwin": "sudo sntp -sS time.apple.com"}.get(platform, usual)
