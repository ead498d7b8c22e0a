"""The gRPC server. It needs the extra `grpc`."""

from collections.abc import Mapping
from importlib.util import find_spec

import anyio

from mcp_binance_server.app import running_app
from mcp_binance_server.cli.interruption import ExitWatchdog
from mcp_binance_server.cli.listening import ListenOn, authentication_of, refuse_strangers, shares_server_key
from mcp_binance_server.cli.serve import prepare
from mcp_binance_server.cli.terminal import Verbosity
from mcp_binance_server.clock import Clock, SystemClock
from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.installation import with_extra
from mcp_binance_server.settings import Settings
from mcp_binance_server.transports.grpc.callers import Authenticate
from mcp_binance_server.transports.http.auth.authenticator import Authenticator, RevocableAuthenticator, Unauthenticated
from mcp_binance_server.transports.standing import TokenRevocation

NEEDED = ("grpc", "grpc_health", "grpc_reflection")


def require_grpc() -> None:
    """Check that gRPC is installed.

    Raises:
        SettingsError: a package is missing; the message has the install command.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise SettingsError(
            problems=(
                f"--grpc needs packages that are not installed ({', '.join(missing)}); "
                f"install them with: {with_extra('grpc')}",
            )
        )


def run_grpc(place: ListenOn, verbosity: Verbosity, *, unsafe: bool) -> int:
    """Serve until a signal.

    Raises:
        SettingsError: gRPC is not installed, or the address is reachable without authentication.
    """
    require_grpc()
    settings = prepare(verbosity)
    refuse_strangers(settings, place, unsafe=unsafe)
    anyio.run(_serve, settings, place, verbosity, ExitWatchdog(0))
    return 0


async def _serve(settings: Settings, place: ListenOn, verbosity: Verbosity, last_moment: ExitWatchdog) -> None:
    from mcp_binance_server.transports.grpc.serving import serve_grpc  # noqa: PLC0415 - an extra that few install

    clock = SystemClock()
    async with (
        authentication_of(settings, clock) as authentication,
        running_app(settings, clock=clock, callers_bring_keys=True, preload=True) as app,
    ):
        app.dispatcher.catalogue.prepare()
        await serve_grpc(
            app.dispatcher,
            host=place.host,
            port=place.port,
            ready=lambda address: verbosity.tell(
                f"provider.v1 {'over TLS ' if place.certificate else ''}on {address}\n"
            ),
            authenticate=authenticating(authentication.authenticator),
            shares_server_key=shares_server_key(settings),
            trusted_proxies=settings.trusted_proxies,
            certificate=place.certificate,
            standing=standing_of(authentication.authenticator, clock),
            at_ctrl_c=last_moment.begin,
        )


def standing_of(authenticator: Authenticator, clock: Clock) -> TokenRevocation | None:
    """Return the task that ends the streams of revoked tokens, or None if tokens cannot be revoked."""
    return TokenRevocation(authenticator.edition, clock) if isinstance(authenticator, RevocableAuthenticator) else None


def authenticating(authenticator: Authenticator) -> Authenticate:
    """Return the HTTP authenticator as a function of gRPC metadata."""
    from mcp_binance_server.transports.grpc.errors import TokenRefused  # noqa: PLC0415 - needs the extra

    async def authenticate(told: Mapping[str, str]) -> Visitor:
        headers = [(name.encode(), value.encode()) for name, value in told.items()]
        try:
            return await authenticator.visitor(headers, b"")
        except Unauthenticated as refused:
            raise TokenRefused(reason=refused.error or "token_missing") from None

    return authenticate
