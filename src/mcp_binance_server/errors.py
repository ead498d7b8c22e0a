"""All deliberate errors of the server. A class's fields are the `data` of its JSON-RPC error.

AppError
├── RateLimited               -32001  the weight budget is spent, or Binance asked for a wait
│   └── TooManyOrders                 the account's limit of orders is reached; in exchange/spot/order_counts.py
├── InvalidCredentials        -32002  no key, a wrong key, or a key without the right
├── InvalidSymbol             -32003  not a symbol of this exchange
├── InsufficientBalance       -32004  the account does not hold what the order needs; in trading/errors.py
├── ResourceNotFound          -32404  unknown address
│   ├── InvalidScheme                 the scheme is none of binance://, guide://, chart:// and ui://
│   └── PictureGone                   the picture of a chart:// address has expired; in charts/errors.py
├── GuideError                        a guide:// address leads to no content; all of them in guide/errors.py
│   ├── GuideUriInvalid       -32404  the address has none of the five forms
│   ├── GuideNotFound         -32404  unknown category, collection or document
│   ├── GuideContextNotFound  -32404  the context is neither a category nor a collection
│   ├── GuidePatternInvalid   -32404  the pattern breaks the pattern rules
│   ├── GuideNothingMatches   -32404  the pattern is valid and matches no document
│   ├── GuideContentError     -32603  the document cannot be read
│   └── GuideLimitExceeded    -32603  too many documents or bytes for one answer
├── InvalidArguments          -32602  the tool or prompt does not accept these arguments
├── InvalidChartConfig        -32602  the chart cannot be drawn as described; with the rest in charts/errors.py
├── OrderRuleBroken           -32602  the exchange would refuse the order, so it was not sent; in services/errors.py
├── KeyDoesNotTrade           -32002  the trading rules do not allow this key to trade; in trading/errors.py
├── OrderDenied               -32602  a guard or a limit refused the order; with the rest in trading/errors.py
├── OrderNotFound             -32602  no open order has this ID
├── OrderUnresolved           -32602  an order of the same symbol and side may be open
├── PreviewNotFound           -32602  the preview has expired or never existed
├── PreviewStale              -32602  the market has moved away from the preview
├── OrderDeclined             -32602  declined, by the user or by a client that could not ask
├── AskedTooOften             -32602  declined several times; no question for a while
├── ApprovalImpossible        -32602  an approval is needed, and no approver is set up
├── TradingNotReady           -32603  orders are not accepted yet, for example while earlier ones are checked
├── TradingStopped            -32603  trading is stopped; no new order is accepted
├── JournalUnavailable        -32603  the journal cannot be used, so nothing is sent
├── ExchangeError             -32603  Binance refused, failed or did not answer
│   ├── ExchangeRejected              definite: the request was not executed
│   ├── ExchangeUnavailable           a read failed; a retry may work
│   │   └── ProxyUnavailable          a proxy refused the connection or did not answer; in proxies/errors.py
│   ├── RegionRestricted              HTTP 451: the exchange does not serve this location
│   └── OutcomeUnknown                a write may have been executed; look it up, never resend; in trading/errors.py
├── FuturesNotOffered         -32602  the server is set up without futures; in exchange/futures/side.py
├── ChartServiceError         -32603  chart-img.com refused, failed or did not answer
│   ├── ChartKeyRefused       -32002  it needs a key or refused this one
│   ├── ChartLimitReached     -32001  its rate limit is reached, or the day's images are used up
│   ├── ChartRefused                  definite: it refused to draw this chart
│   └── ChartUnavailable              it failed, or its response is not an image
├── ChartNotDrawn             -32603  the local renderer failed or is too busy
├── NotStreamed               -32603  the symbol has no live market; in feeds/errors.py
├── StreamsFull               -32603  the limit of streams, symbols or pages is reached; in feeds/errors.py
├── TokenRefused              -32600  no token, or the server does not accept it; in transports/grpc/errors.py
├── IssuerUnavailable         -32603  the authorization server does not answer; in transports/grpc/errors.py
├── ServerStopping            -32603  the server is shutting down; in transports/grpc/errors.py
├── InsufficientScope         -32600  the caller's token does not allow this
├── TooManySessions           -32000  the limit of sessions is reached; in sessions/errors.py
├── SessionNotFound           -32600  unknown session ID for this caller; in sessions/errors.py
├── TookTooLong               -32603  timeout: no answer within the time that clients wait
├── EngineUnavailable         -32603  the shared state did not answer in time
└── SettingsError                     the configuration cannot be used; the process does not start
"""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from mcp_binance_server.words import word

EXAMPLE_SYMBOLS = ("BTCUSDT", "ETHUSDT", "BNBUSDT")
EXAMPLE_PAGES = ("binance://market/btcusdt", "binance://account/balances", "binance://orders/open")
NOT_SET = "not set"
NOT_LENT = "key_not_lent"
GUIDE_HELP = "guide://help"
_PLAYBOOKS = "guide://document/"


def echo(text: str) -> str:
    """Return a caller's text in printable form, with at most 200 characters."""
    return word(text)


def _as_json(value: Any) -> Any:  # noqa: ANN401 - the value of any field
    return [*value] if isinstance(value, tuple) else value


@dataclass(kw_only=True, eq=False)
class AppError(Exception):
    """Base class of expected errors: a code, a message, data for programs, and a guide page."""

    code: ClassVar[int] = -32603
    error_type: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False
    recovery_suggestion: ClassVar[str] = ""
    guide: ClassVar[str] = f"{_PLAYBOOKS}start/first-steps.md"

    @property
    def message(self) -> str:
        """Return one sentence: what happened, what was received and what to do."""
        return "Internal error"

    @property
    def concerns_one(self) -> bool:
        """Whether the error concerns only this caller.

        Other callers that share its request then send requests of their own.
        """
        return False

    def __str__(self) -> str:
        return self.message

    def data(self) -> dict[str, Any]:
        """Return the non-empty fields as JSON values, and the fields that all errors have."""
        own: dict[str, Any] = {item.name: getattr(self, item.name) for item in fields(self)}
        said = {name: _as_json(value) for name, value in own.items() if value not in (None, ())}
        said.setdefault("recovery_suggestion", self.recovery_suggestion)
        return {**said, "error_type": self.error_type, "retryable": self.retryable, "guide": self.guide}


@dataclass(kw_only=True, eq=False)
class RateLimited(AppError):
    code: ClassVar[int] = -32001
    error_type: ClassVar[str] = "rate_limited"
    guide: ClassVar[str] = f"{_PLAYBOOKS}errors/rate-limits.md"
    retryable: ClassVar[bool] = True
    recovery_suggestion: ClassVar[str] = "Reduce request frequency or wait for rate limit window to reset"

    retry_after_secs: int
    current_weight: int | None
    """Weight of this minute from the exchange's header; None before the first response."""
    weight_limit: int
    exchange_wait_secs: int | None = None
    """Wait in seconds that the exchange asked for. Set only if it is longer than our wait before the next request."""
    own_weight: int | None = None
    """Weight that the caller has spent in this minute. Set only if the rest is reserved for other callers."""
    weight_share: int | None = None
    """Weight per minute that the caller can count on."""

    @property
    def message(self) -> str:
        said = f"Rate limit exceeded. Please wait {self.retry_after_secs} seconds before retrying."
        if self.exchange_wait_secs is not None:
            said += f" Binance asked for a wait of {self.exchange_wait_secs} seconds and may refuse again."
        if self.concerns_one:
            said += (
                f" You have used a request weight of {self.own_weight} in this minute, and this call needs more."
                f" Your guaranteed share is {self.weight_share}; the rest is reserved for other callers."
            )
        return said

    @property
    def concerns_one(self) -> bool:
        return self.weight_share is not None

    def data(self) -> dict[str, Any]:
        return {**super().data(), "current_weight": self.current_weight}


@dataclass(kw_only=True, eq=False)
class InvalidCredentials(AppError):
    code: ClassVar[int] = -32002
    error_type: ClassVar[str] = "invalid_credentials"
    guide: ClassVar[str] = f"{_PLAYBOOKS}errors/credentials.md"

    masked_api_key: str
    help_url: str
    network: str | None = None
    reason: str | None = None
    likely_cause: str | None = None
    explanation: str | None = None
    setting: str | None = None
    exchange_code: int | None = None

    def __post_init__(self) -> None:
        if self.reason is not None:
            self.reason = echo(self.reason)

    @property
    def message(self) -> str:
        return (
            "Invalid API credentials. Please check your BINANCE_API_KEY and BINANCE_SECRET_KEY environment variables."
        )

    def data(self) -> dict[str, Any]:
        return {**AppError.data(self), "recovery_suggestion": self._suggestion}

    @property
    def _suggestion(self) -> str:
        if self.setting is not None:
            return f"Set {self.setting} in the environment of this server and restart it"
        if self.likely_cause == NOT_LENT:
            return (
                "Send your own key in X-Binance-Api-Key and X-Binance-Secret-Key, over TLS or on the server's machine. "
                "Operators: see 'Whose account' in docs/hosting.md"
            )
        if self.masked_api_key != NOT_SET:
            return f"Verify credentials at {self.help_url} and ensure correct environment variables"
        variables = "BINANCE_API_KEY and BINANCE_SECRET_KEY"
        return (
            f"Create a key{f' for {self.network}' if self.network else ''} at {self.help_url}. Then run "
            f"mcp-binance-server setup in a terminal: it stores and tests the key. Or set {variables} in the "
            "environment of this server and restart it. Over HTTP, send your own key in the headers X-Binance-Api-Key "
            "and X-Binance-Secret-Key"
        )


@dataclass(kw_only=True, eq=False)
class InvalidSymbol(AppError):
    code: ClassVar[int] = -32003
    error_type: ClassVar[str] = "invalid_symbol"
    guide: ClassVar[str] = f"{_PLAYBOOKS}errors/symbols-and-orders.md"
    recovery_suggestion: ClassVar[str] = "Use uppercase symbols without separators (e.g., BTCUSDT, not BTC-USDT)"

    provided_symbol: str
    valid_examples: tuple[str, ...] = EXAMPLE_SYMBOLS
    did_you_mean: tuple[str, ...] = ()
    market: str | None = None
    status: str | None = None
    spot_pair: str | None = None

    def __post_init__(self) -> None:
        self.provided_symbol = echo(self.provided_symbol)

    @property
    def message(self) -> str:
        if self.status is not None:
            return f"{self.provided_symbol} is listed but does not trade now: its status is {self.status}."
        if self.market is not None:
            return f"There is no {self.market} '{self.provided_symbol}' on Binance's USDⓈ-M futures."
        return f"Invalid trading symbol '{self.provided_symbol}'. Expected format: BTCUSDT, ETHUSDT"


@dataclass(kw_only=True, eq=False)
class ResourceNotFound(AppError):
    code: ClassVar[int] = -32404
    error_type: ClassVar[str] = "resource_not_found"
    recovery_suggestion: ClassVar[str] = "Check URI format: binance://{category}/{identifier}"

    provided_uri: str
    valid_categories: tuple[str, ...] = ("market", "account", "orders")
    valid_examples: tuple[str, ...] = EXAMPLE_PAGES
    guide_examples: tuple[str, ...] = (GUIDE_HELP, "guide://collection/start")

    def __post_init__(self) -> None:
        self.provided_uri = echo(self.provided_uri)

    @property
    def message(self) -> str:
        return f"Resource not found: {self.provided_uri}"


@dataclass(kw_only=True, eq=False)
class InvalidScheme(ResourceNotFound):
    error_type: ClassVar[str] = "invalid_scheme"
    recovery_suggestion: ClassVar[str] = "Use an address that starts with binance:// or guide://"

    @property
    def message(self) -> str:
        return "Invalid URI scheme"


@dataclass(kw_only=True, eq=False)
class InvalidArguments(AppError):
    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "invalid_arguments"
    guide: ClassVar[str] = f"{_PLAYBOOKS}examples/intro.md"
    recovery_suggestion: ClassVar[str] = "Correct the named arguments and call again"

    summary: str
    errors: tuple[dict[str, str], ...] = ()

    @property
    def message(self) -> str:
        return self.summary


@dataclass(kw_only=True, eq=False)
class ExchangeError(AppError):
    """A failed request to the exchange.

    The message is written here. `exchange_code` and `http_status` are for programs.
    """

    error_type: ClassVar[str] = "exchange_error"
    guide: ClassVar[str] = f"{_PLAYBOOKS}errors/symbols-and-orders.md"

    exchange_code: int | None = None
    http_status: int | None = None
    exchange_message: str | None = None

    def __post_init__(self) -> None:
        if self.exchange_message is not None:
            self.exchange_message = echo(self.exchange_message)


@dataclass(kw_only=True, eq=False)
class ExchangeRejected(ExchangeError):
    error_type: ClassVar[str] = "exchange_rejected"
    recovery_suggestion: ClassVar[str] = "Change the request as the exchange's message asks; repeating it will not help"

    @property
    def message(self) -> str:
        return f"Binance refused the request: {self.exchange_message or 'no reason given'}"


@dataclass(kw_only=True, eq=False)
class ExchangeUnavailable(ExchangeError):
    error_type: ClassVar[str] = "exchange_unavailable"
    guide: ClassVar[str] = f"{_PLAYBOOKS}data/freshness.md"
    retryable: ClassVar[bool] = True
    recovery_suggestion: ClassVar[str] = (
        "Try again in a few seconds; if it persists, run mcp-binance-server doctor to find the cause"
    )

    reason: str = "no answer"
    retry_after_secs: int | None = None

    @property
    def message(self) -> str:
        return f"Binance API is temporarily unavailable ({self.reason}). Please try again in a few seconds."


@dataclass(kw_only=True, eq=False)
class RegionRestricted(ExchangeError):
    error_type: ClassVar[str] = "region_restricted"
    guide: ClassVar[str] = f"{_PLAYBOOKS}data/freshness.md"
    recovery_suggestion: ClassVar[str] = (
        "Public market data has a second host; account calls have none. Run mcp-binance-server doctor to test the hosts"
    )

    market: str | None = None

    @property
    def message(self) -> str:
        if self.market is None:
            return "Binance does not serve this location (HTTP 451)."
        return (
            "Binance's futures API does not serve this location (HTTP 451), and it has no second host. "
            "Tools for spot pairs keep working; futures are not requested again for ten minutes."
        )

    def data(self) -> dict[str, Any]:
        instead = {"recovery_suggestion": "Use the spot tools: no setting of this server can lift this restriction"}
        return {**super().data(), **(instead if self.market else {})}


@dataclass(kw_only=True, eq=False)
class InsufficientScope(AppError):
    code: ClassVar[int] = -32600
    error_type: ClassVar[str] = "insufficient_scope"
    guide: ClassVar[str] = f"{_PLAYBOOKS}errors/credentials.md"
    recovery_suggestion: ClassVar[str] = "Ask for a token with the scopes in needed_scopes"

    needed_scopes: tuple[str, ...]
    reason: str = "insufficient_scope"

    @property
    def message(self) -> str:
        return f"This needs the scope {' '.join(self.needed_scopes)}, which your token does not have."


@dataclass(kw_only=True, eq=False)
class TookTooLong(AppError):
    """A timeout. The work can continue, and its result can be ready at the next request."""

    error_type: ClassVar[str] = "took_too_long"
    guide: ClassVar[str] = f"{_PLAYBOOKS}data/freshness.md"
    retryable: ClassVar[bool] = True
    recovery_suggestion: ClassVar[str] = (
        "Try again in a minute, or request less data; mcp-binance-server doctor finds the slow part"
    )

    after_secs: float

    @property
    def message(self) -> str:
        return f"There was no answer within {self.after_secs:g} seconds."


@dataclass(kw_only=True, eq=False)
class EngineUnavailable(AppError):
    error_type: ClassVar[str] = "engine_unavailable"
    guide: ClassVar[str] = f"{_PLAYBOOKS}data/freshness.md"
    retryable: ClassVar[bool] = True
    recovery_suggestion: ClassVar[str] = "Try again in a few seconds; the operator should check its Redis server"

    operation: str

    @property
    def message(self) -> str:
        return f"The shared state (Redis or Valkey) did not answer in time ({self.operation})."


@dataclass(kw_only=True, eq=False)
class SettingsError(AppError):
    error_type: ClassVar[str] = "settings"
    recovery_suggestion: ClassVar[str] = "Ask the user to change the named settings and to restart the server"

    problems: tuple[str, ...] = field(default=())

    @property
    def message(self) -> str:
        between = " " if len(self.problems) == 1 else "\n  "
        return between.join(("The configuration cannot be used:", *self.problems))
