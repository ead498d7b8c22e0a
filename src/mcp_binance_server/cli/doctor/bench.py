"""Shared state of the doctor's checks, and the results they return."""

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


# Weight limit of the doctor's own dozen cheap requests. The exchange itself reports an exceeded limit.
UNBOUND = 1_000_000

WINDOWS = "win32"
TRADING = "MCP_BINANCE_TRADING"
OFF = "off"


@dataclass(frozen=True, slots=True)
class JournalFound:
    """Stops, unresolved orders and open orders in this machine's journal."""

    stops: tuple[Stopped, ...] = ()
    unresolved: tuple[Intent, ...] = ()
    open: tuple[Intent, ...] = ()


@dataclass
class Bench:
    """State that the checks share: the environment, the server's parts, and answers that several checks need."""

    environment: Mapping[str, str] = field(repr=False)
    clock: Clock
    stack: AsyncExitStack = field(repr=False)
    networks: Mapping[str, Network] = field(default_factory=lambda: NETWORKS, repr=False)
    reading: Sourced[ClockCheck] | None = None
    rights: KeyRights | None = None
    misfit: SettingsError | None = None
    """Error in the trading settings, if all other settings are valid."""
    policy: Policy | None = None
    journal: JournalFound | None = None
    _app: App | None = field(default=None, repr=False)
    _settings: Settings | None = field(default=None, repr=False)
    _account: Account | AppError | None = field(default=None, repr=False)

    @property
    def mode(self) -> str:
        """The trading mode in the environment, not validated. It is `off` if the variable is not set."""
        return self.environment.get(TRADING, "").strip() or OFF

    def read(self) -> Settings:
        """Read the settings. If only the trading settings are invalid, keep their error for the trading check.

        Raises:
            SettingsError: the settings are invalid even without trading.
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
        """Build the server's parts without sending a request. None of the parts can trade.

        Raises:
            SettingsError: the parts cannot be built from these settings.
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
        assert self._app is not None, "a check that needs the parts must need the configuration"  # noqa: S101
        return self._app

    @property
    def settings(self) -> Settings:
        assert self._settings is not None, "a check that needs settings must need the configuration"  # noqa: S101
        return self._settings

    @property
    def is_built(self) -> bool:
        return self._app is not None

    @property
    def is_at_home(self) -> bool:
        """Whether requests go to Binance's own addresses, and not to other configured addresses."""
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
        """Read the account. The first result, also an error, is cached."""
        if self._account is None:
            try:
                self._account = (await self.app.account.account()).value
            except AppError as error:
                self._account = error
        return self._account

    async def home_of_key(self) -> str | None:
        """Return the network that knows the key, or None.

        Other networks get the key with an invalid signature. A key for a custom address is never sent to Binance.
        """
        others = self.caller.others
        return await others.home_of(self.app.account.require_key()) if others else None


Status = Literal["ok", "warning", "problem", "skipped", "off"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of a check: the finding, its likely cause, the fix, and one command or page.

    A good result has only a finding. `off` means that the checked part is not in use. An `off` result without text is
    hidden.
    """

    status: Status
    seen: str = ""
    why: str = ""
    fix: str = ""
    command: str = ""
    needs: str = ""
    is_alarm: bool = False


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One check. It is skipped if a check in `needs` has failed, and off if an essential check is off."""

    id: str
    title: str
    check: "Callable[[Bench], Awaitable[CheckResult]]"
    needs: tuple[str, ...] = ()


def good(seen: str) -> CheckResult:
    return CheckResult("ok", seen)


def off(seen: str = "") -> CheckResult:
    return CheckResult("off", seen)


def forget(names: Sequence[str], platform: str = sys.platform) -> str:
    """Return the command that unsets environment variables."""
    if platform == WINDOWS:
        return "; ".join(f"Remove-Item Env:{name}" for name in names)
    return f"unset {' '.join(names)}"


def export(name: str, value: str, platform: str = sys.platform) -> str:
    """Return the command that sets an environment variable."""
    return f'$env:{name}="{value}"' if platform == WINDOWS else f"export {name}={value}"


def knock(host: str, port: int, platform: str = sys.platform) -> str:
    """Return the command that tests a TCP port."""
    return f"Test-NetConnection {host} -Port {port}" if platform == WINDOWS else f"nc -vz {host} {port}"


def set_clock(platform: str = sys.platform) -> str:
    """Return the command that enables clock synchronisation by NTP."""
    usual = "sudo timedatectl set-ntp true"
    return {WINDOWS: "w32tm /resync", "darwin": "sudo sntp -sS time.apple.com"}.get(platform, usual)
