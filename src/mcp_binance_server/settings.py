"""Settings, parsed from the environment into one frozen object. No other module reads the environment."""

import difflib
import os
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Literal, Self, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
    model_validator,
)

from mcp_binance_server.errors import SettingsError
from mcp_binance_server.key_file import with_keys
from mcp_binance_server.own_folders import own_file, state_folder
from mcp_binance_server.proxies.environment import PROXY_VARIABLES, OutgoingProxies, ProxySetting, read_proxies
from mcp_binance_server.setting_types import (
    Address,
    ChartPlan,
    StateAddress,
    StateFolder,
    StreamAddress,
    Symbols,
    Toolset,
    Toolsets,
    TradingFolder,
    Trimmed,
    Words,
)

PREFIX = "MCP_BINANCE_"
PREFIXES = (PREFIX, "BINANCE_")
ANALYTICS_PREFIX = f"{PREFIX}ANALYTICS_"
ANALYTICS = f"{ANALYTICS_PREFIX}*"
ESSENTIAL = "essential"
SECRET_ALIAS = "BINANCE_API_SECRET"  # noqa: S105 - the name of a variable, not a secret
# Names without the prefix, which other programs use for the same settings.
ELSEWHERE = {
    "TESTNET": "BINANCE_NETWORK=testnet",
    "DEMO": "BINANCE_NETWORK=demo",
    "ENV": "BINANCE_NETWORK",
    "KEY": "BINANCE_API_KEY",
    "SECRET": "BINANCE_SECRET_KEY",
    "API_URL": "BINANCE_REST_URL",
    "BASE_URL": "BINANCE_REST_URL",
    "WS_URL": "BINANCE_STREAM_URL",
    "REDIS_URL": "MCP_BINANCE_STATE_URL",
    "DEBUG": "MCP_BINANCE_LOG_LEVEL=DEBUG",
}
# Kubernetes sets such variables for each service of a namespace, and a service can have the name mcp-binance.
_LINK = re.compile(r"_SERVICE_(HOST|PORT(_\w+)?)=|_PORT(_\d+_(TCP|UDP)(_\w+)?)?=(tcp|udp)://|_PORT_\d+_(TCP|UDP)_\w+=")


class Settings(BaseModel):
    """Settings of a process.

    Each field is set by the environment variable in its alias, or by a group of variables with its prefix.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    network: Literal["mainnet", "testnet", "demo"] = Field(
        "mainnet", alias="BINANCE_NETWORK", description="Binance network of all market and account data"
    )
    api_key: SecretStr | None = Field(None, alias="BINANCE_API_KEY", description="API key; not needed for public data")
    secret_key: SecretStr | None = Field(
        None, alias="BINANCE_SECRET_KEY", description=f"HMAC secret of the key ({SECRET_ALIAS} is accepted too)"
    )
    private_key_file: Path | None = Field(
        None, alias="BINANCE_PRIVATE_KEY_FILE", description="PEM file of an Ed25519 (recommended) or RSA key"
    )
    key_file: Path | None = Field(
        None,
        alias="MCP_BINANCE_KEY_FILE",
        description="File with the keys as NAME=VALUE lines, readable by its owner only; the environment overrides it",
    )
    rest_url: Address | None = Field(
        None, alias="BINANCE_REST_URL", description="Address of the REST API; unset: the network's own"
    )
    stream_url: StreamAddress | None = Field(
        None,
        alias="BINANCE_STREAM_URL",
        description="Address of the market streams; no default if BINANCE_REST_URL is set",
    )
    futures_rest_url: Address | None = Field(
        None,
        alias="BINANCE_FUTURES_REST_URL",
        description="Address of the futures REST API, for public data only; no default if BINANCE_REST_URL is set",
    )
    futures_stream_url: StreamAddress | None = Field(
        None,
        alias="BINANCE_FUTURES_STREAM_URL",
        description="Address of the futures streams; no default if BINANCE_REST_URL is set",
    )
    ws_api_url: StreamAddress | None = Field(
        None,
        alias="BINANCE_WS_API_URL",
        description="Address of the WebSocket API, for updates of orders; no default if BINANCE_REST_URL is set",
    )
    board_fresh_secs: int = Field(
        10, ge=2, le=300, alias="MCP_BINANCE_BOARD_FRESH_SECS",
        description="Lifetime of the cached table of a market's pairs, in seconds; all callers share the table",
    )  # fmt: skip
    scan_percent: int = Field(
        20, ge=1, le=50, alias="MCP_BINANCE_SCAN_PERCENT",
        description="Share of each host's request weight per minute that market screens may use, in percent",
    )  # fmt: skip
    liquidations: Literal["asked", "always", "off"] = Field(
        "asked",
        alias="MCP_BINANCE_LIQUIDATIONS",
        description="Stream of futures liquidations: open for 30 minutes after a question, always open, or off",
    )
    orderbook_analytics: bool = Field(
        default=True,
        alias="MCP_BINANCE_ORDERBOOK_ANALYTICS",
        description="Live order books: their streams and analyses, on or off",
    )
    feed_symbols: int = Field(
        20, ge=1, le=1000, alias="MCP_BINANCE_FEED_SYMBOLS", description="Number of symbols streamed at the same time"
    )
    feed_linger_secs: int = Field(
        300, ge=1, le=86_400, alias="MCP_BINANCE_FEED_LINGER_SECS",
        description="Time that a stream stays open after its last use, in seconds",
    )  # fmt: skip
    learn_symbols: Symbols = Field(
        (),
        alias="MCP_BINANCE_LEARN_SYMBOLS",
        description="Comma-separated symbols streamed from the start; past data is then ready for the first question",
    )
    analytics: Mapping[str, str] = Field(
        default_factory=dict[str, str],
        alias=ANALYTICS,
        description="Thresholds of the analyses; each has its own variable and its own bounds",
    )
    chart_key: SecretStr | None = Field(
        None, alias="CHART_IMG_API_KEY", description="Key of chart-img.com; not needed for charts of Binance pairs"
    )
    chart_plan: ChartPlan | None = Field(
        None, alias="CHART_IMG_PLAN", description="Plan of the chart-img.com key; unset: learned from the first refusal"
    )
    chart_rps: PositiveFloat | None = Field(
        None,
        alias="CHART_IMG_RPS",
        description="Requests per second to chart-img.com, above 0; unset: the plan's limit",
    )
    chart_daily_limit: PositiveInt | None = Field(
        None,
        alias="CHART_IMG_DAILY_LIMIT",
        description="Images per day from chart-img.com, at least 1; unset: the plan's limit",
    )
    chart_url: Address = Field(
        "https://api.chart-img.com", alias="CHART_IMG_URL", description="Address of the chart service"
    )
    chart_docs_url: Address = Field(
        "https://doc.chart-img.com",
        alias="CHART_IMG_DOCS_URL",
        description="Address of the documentation of the chart service",
    )
    chart_app: bool = Field(
        default=True,
        alias="MCP_BINANCE_CHART_APP",
        description="Live chart for clients that show pages in the chat (MCP Apps); off: images only",
    )
    chart_images: Literal["block", "link"] = Field(
        "block",
        alias="MCP_BINANCE_CHART_IMAGES",
        description="Form of charts in answers: block (the picture) or link (only its address, in the text, for "
        "clients that pass pictures to the model as text)",
    )
    state_url: StateAddress = Field(
        SecretStr("memory://"),
        alias="MCP_BINANCE_STATE_URL",
        description="Address of the Redis or Valkey server through which processes share budget, sessions and "
        "answers: redis://, rediss:// or unix://",
    )
    state_dir: StateFolder = Field(
        None,
        alias="MCP_BINANCE_STATE_DIR",
        description="Folder for the past values that analyses compare with, kept across restarts; off: memory only",
    )
    trading: Literal["off", "paper", "practice", "live"] = Field(
        "off",
        alias="MCP_BINANCE_TRADING",
        description="Mode of trading: off (no orders), paper (play money, no key), practice (Binance's testnet or "
        "demo) or live (real money)",
    )
    trading_policy: Path | None = Field(
        None,
        alias="MCP_BINANCE_TRADING_POLICY",
        description="TOML file with your limits for orders and your approvers; unset: trading.toml next to the keys",
    )
    trading_dir: TradingFolder | None = Field(
        None,
        alias="MCP_BINANCE_TRADING_DIR",
        description="Folder of the journal of orders, on a local disk; unset: trading in the state folder",
    )
    round_key_file: Path | None = Field(
        None,
        alias="MCP_BINANCE_ROUND_KEY_FILE",
        description="File of at least 32 random bytes, readable by its owner only; processes with the same file and "
        "state can place each other's previews and finish each other's confirmations",
    )
    order_recv_window_ms: int = Field(
        2_000, ge=100, le=60_000, alias="MCP_BINANCE_ORDER_RECV_WINDOW_MS",
        description="Longest delay of an order on its way to Binance, in milliseconds; Binance refuses an order that "
        "arrives later",
    )  # fmt: skip
    approval_page: Literal["browser", "client", "off"] = Field(
        "browser",
        alias="MCP_BINANCE_APPROVAL_PAGE",
        description="Program that opens the page for your passphrase, if an order needs it: your client or else a "
        "browser on this machine; your client only; or none",
    )
    paper_latency_ms: int = Field(
        150, ge=0, le=60_000, alias="MCP_BINANCE_PAPER_LATENCY_MS",
        description="Simulated delay of a paper order on its way to the market, in milliseconds",
    )  # fmt: skip
    egress_id: Trimmed = Field(
        "local",
        alias="MCP_BINANCE_EGRESS_IP_ID",
        description="Name of the outgoing IP address; processes with the same name share one request-weight budget",
    )
    toolsets: Toolsets = Field(
        get_args(Toolset),
        alias="MCP_BINANCE_TOOLSETS",
        description="Comma-separated groups of tools, resources and prompts to offer; other groups are left out. "
        "essential: a dozen tools, with find_tool and call_tool for the rest",
    )
    guide_config: Path | None = Field(
        None,
        alias="MCP_BINANCE_GUIDE_CONFIG",
        description="YAML file with your own guide folders, categories and collections",
    )
    https_proxy: ProxySetting | None = Field(
        None, alias="HTTPS_PROXY", description="Proxy for https:// and wss:// addresses: Binance, chart-img.com"
    )
    http_proxy: ProxySetting | None = Field(
        None, alias="HTTP_PROXY", description="Proxy for http:// and ws:// addresses"
    )
    all_proxy: ProxySetting | None = Field(
        None, alias="ALL_PROXY", description="Proxy for addresses without another one"
    )
    no_proxy: str = Field("", alias="NO_PROXY", description="Hosts, addresses and networks reached directly")
    session_cap: PositiveInt = Field(
        50, alias="MCP_BINANCE_SESSION_CAP", description="Number of HTTP sessions open at the same time, at least 1"
    )
    session_idle_secs: PositiveInt = Field(
        30,
        alias="MCP_BINANCE_SESSION_IDLE_SECS",
        description="Idle time before an HTTP session ends, in seconds, at least 1",
    )
    allowed_hosts: Words = Field(
        (),
        alias="MCP_BINANCE_ALLOWED_HOSTS",
        description="Comma-separated host names of this server for HTTP; the machine's own names are always allowed",
    )
    allowed_origins: Words = Field(
        (),
        alias="MCP_BINANCE_ALLOWED_ORIGINS",
        description="Comma-separated origins of web pages allowed to call over HTTP, such as https://example.com",
    )
    trusted_proxies: Words = Field(
        (),
        alias="MCP_BINANCE_TRUSTED_PROXIES",
        description="Comma-separated addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted",
    )
    token_file: Path | None = Field(
        None, alias="MCP_BINANCE_TOKEN_FILE", description="File of hashed bearer tokens; see mcp-binance-server token"
    )
    oauth_issuer: Address | None = Field(
        None, alias="MCP_BINANCE_OAUTH_ISSUER", description="Authorization server whose access tokens are accepted"
    )
    oauth_jwks_url: Address | None = Field(
        None,
        alias="MCP_BINANCE_OAUTH_JWKS_URL",
        description="Address of the authorization server's keys; unset: from its metadata",
    )
    public_url: Address | None = Field(
        None,
        alias="MCP_BINANCE_PUBLIC_URL",
        description="Public address of /mcp for clients, the required audience of access tokens",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "WARNING", alias="MCP_BINANCE_LOG_LEVEL", description="Lowest level logged on standard error"
    )
    log_format: Literal["text", "json"] = Field(
        "text",
        alias="MCP_BINANCE_LOG_FORMAT",
        description="Format of the log: lines of text, or one JSON object per line",
    )
    otlp_url: Address | None = Field(
        None,
        alias="MCP_BINANCE_OTLP_URL",
        description="Address of the OTLP collector over HTTP for a span of each request; needs the extra otel",
    )

    @model_validator(mode="after")
    def _a_key_needs_one_secret(self) -> Self:
        if self.secret_key and self.private_key_file:
            raise ValueError("set BINANCE_SECRET_KEY or BINANCE_PRIVATE_KEY_FILE, not both")
        if bool(self.api_key) != bool(self.secret_key or self.private_key_file):
            raise ValueError(
                "an API key and its secret belong together: set BINANCE_API_KEY with BINANCE_SECRET_KEY "
                "or BINANCE_PRIVATE_KEY_FILE, or none of them"
            )
        return self

    @model_validator(mode="after")
    def _readers_have_room(self) -> Self:
        if len(self.learn_symbols) > self.feed_symbols // 2:
            raise ValueError(
                f"MCP_BINANCE_LEARN_SYMBOLS can have at most {self.feed_symbols // 2} symbols, half of "
                "MCP_BINANCE_FEED_SYMBOLS: the other half is for readers"
            )
        return self

    @model_validator(mode="after")
    def _callers_are_known_by_one_means(self) -> Self:
        if self.token_file and self.oauth_issuer:
            raise ValueError("set MCP_BINANCE_TOKEN_FILE or MCP_BINANCE_OAUTH_ISSUER, not both")
        if self.oauth_issuer and not self.public_url:
            raise ValueError(
                "MCP_BINANCE_OAUTH_ISSUER needs MCP_BINANCE_PUBLIC_URL: each token is valid for one address only"
            )
        return self

    @property
    def proxies(self) -> OutgoingProxies:
        return OutgoingProxies(self.https_proxy, self.http_proxy, self.all_proxy, self.no_proxy)

    @property
    def groups(self) -> AbstractSet[str]:
        """Toolsets that are served. The profile `essential` serves all toolsets."""
        return {*get_args(Toolset)} if ESSENTIAL in self.toolsets else {*self.toolsets}

    @property
    def names_network(self) -> bool:
        """Whether the network was set explicitly, and not to the default."""
        return "network" in self.model_fields_set


VARIABLES: tuple[str, ...] = tuple(field.alias or name for name, field in Settings.model_fields.items())


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from the environment. An empty variable counts as not set.

    Raises:
        SettingsError: a value cannot be used or a name is unknown; the message names variables, never values.
    """
    around = surroundings() if environment is None else environment
    refuse_unknown_variables(around)
    found = with_keys(around)
    given: dict[str, object] = {name: found[name] for name in VARIABLES if found.get(name, "").strip()}
    given = {**{name: text for name, text in given.items() if name not in PROXY_VARIABLES}, **read_proxies(found)}
    given[ANALYTICS] = {
        name: text for name, text in found.items() if name.startswith(ANALYTICS_PREFIX) and text.strip()
    }
    if found.get(SECRET_ALIAS) and "BINANCE_SECRET_KEY" not in given:
        given["BINANCE_SECRET_KEY"] = found[SECRET_ALIAS]
    if (usual := own_file(found, "guide.yaml")) is not None:
        given.setdefault("MCP_BINANCE_GUIDE_CONFIG", str(usual))
    if (usual := own_file(found, "trading.toml")) is not None:
        given.setdefault("MCP_BINANCE_TRADING_POLICY", str(usual))
    if (folder := state_folder(found)) is not None and folder.is_absolute():
        given.setdefault("MCP_BINANCE_STATE_DIR", str(folder))
        given.setdefault("MCP_BINANCE_TRADING_DIR", str(folder / "trading"))
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        raise SettingsError(
            problems=tuple(f"{'.'.join(map(str, each['loc'])) or 'settings'}: {each['msg']}" for each in problems)
        ) from None


def surroundings() -> Mapping[str, str]:
    """Return the whole environment of this process, for code that needs variables that are no settings."""
    return os.environ  # noqa: TID251 - this is the one place


def refuse_unknown_variables(environment: Mapping[str, str]) -> None:
    """Refuse unknown variables with our prefix.

    For example, `BINANCE_TESTNET=true` must not silently trade on mainnet.

    Raises:
        SettingsError: a variable has our prefix and is not a setting; the message suggests the nearest setting.
    """
    if unknown := unknown_variables(environment):
        raise SettingsError(problems=tuple(f"{name}: unknown setting.{_meant(name)}" for name in unknown))


def unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables with our prefix that are no settings, most likely because of typing errors."""
    ours = (
        name
        for name, text in environment.items()
        if name.startswith(PREFIXES) and text.strip() and name not in VARIABLES and name != SECRET_ALIAS
    )
    # `thresholds_of` checks the variables of the analytics.
    return tuple(
        sorted(
            name
            for name in ours
            if not name.startswith(ANALYTICS_PREFIX) and not _LINK.search(f"{name}={environment[name]}")
        )
    )


def nearest_variable(name: str) -> str:
    """Return the setting with the most similar name, or an empty text."""
    bare = _bare(name)
    if bare in VARIABLES:
        return bare
    # If two names differ only in the prefix, suggest the name with Binance's prefix.
    known = {_bare(each): each for each in (SECRET_ALIAS, *reversed(VARIABLES)) if each != ANALYTICS}
    near = difflib.get_close_matches(bare, known, n=1, cutoff=0.7)
    return ELSEWHERE.get(bare) or (known[near[0]] if near else "")


def _meant(name: str) -> str:
    nearest = nearest_variable(name)
    return f" Did you mean {nearest}?" if nearest else " Remove it; docs/reference/settings.md lists all settings."


def _bare(name: str) -> str:
    return re.sub(r"^(MCP_BINANCE_|BINANCE_|CHART_IMG_)", "", name)
