"""gRPC server of `--grpc`: the service, health and reflection on a socket, until a signal stops it."""

import os
import signal
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass

import anyio
import grpc
import grpc.aio

from mcp_binance_server.errors import SettingsError
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.transports.arrival import Certificate, Proxies, is_loopback
from mcp_binance_server.transports.grpc.answers import ProviderService
from mcp_binance_server.transports.grpc.callers import Authenticate, Callers
from mcp_binance_server.transports.grpc.calls import SERVICE, HealthService, ProviderCalls, Reflection
from mcp_binance_server.transports.standing import TokenRevocation

HOST, PORT = "127.0.0.1", 50053
GRACE_SECS = 10.0
HASTE_SECS = 0.3
DRAIN_SECS = 1.0
MOST_CALLS = 256
OPTIONS = (
    ("grpc.max_receive_message_length", 4 * 2**20),
    # Large enough for the largest picture twice, as bytes and as base64. Most clients accept 4 MiB by default.
    ("grpc.max_send_message_length", 24 * 2**20),
    ("grpc.max_metadata_size", 8 * 2**10),
    ("grpc.absolute_max_metadata_size", 16 * 2**10),
    ("grpc.max_concurrent_streams", 100),
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 30_000),
    ("grpc.max_connection_idle_ms", 600_000),
    # With SO_REUSEPORT two servers on one port would silently share the calls.
    ("grpc.so_reuseport", 0),
)


@dataclass(frozen=True, slots=True)
class ListeningAddress:
    """The address on which the service listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)


@dataclass(slots=True)
class GracePeriod:
    """Seconds in which calls in progress can end. Ctrl-C shortens them."""

    secs: float = GRACE_SECS


async def serve_grpc(
    dispatcher: Dispatcher,
    *,
    host: str = HOST,
    port: int = PORT,
    ready: Callable[[str], None],
    authenticate: Authenticate | None = None,
    shares_server_key: bool = True,
    trusted_proxies: tuple[str, ...] = (),
    certificate: Certificate | None = None,
    standing: TokenRevocation | None = None,
    grace_secs: float = GRACE_SECS,
    at_ctrl_c: Callable[[], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT.

    Streams end at once. Other calls in progress have `grace_secs` to end. After Ctrl-C (SIGINT) they have a fraction of
    a second, because a user is waiting.

    Raises:
        SettingsError: the address cannot be used, or others could reach it without authentication.
    """
    address = ListeningAddress(host, port)
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        grace = GracePeriod(grace_secs)
        async with running_service(
            dispatcher,
            address,
            authenticate=authenticate,
            shares_server_key=shares_server_key,
            trusted_proxies=trusted_proxies,
            certificate=certificate,
            standing=standing,
            grace=grace,
        ) as bound:
            ready(str(bound))
            async for number in signals:
                if number == signal.SIGINT:
                    grace.secs = min(HASTE_SECS, grace_secs)
                    if at_ctrl_c is not None:
                        at_ctrl_c()
                break


@asynccontextmanager
async def running_service(
    dispatcher: Dispatcher,
    address: ListeningAddress,
    *,
    authenticate: Authenticate | None = None,
    shares_server_key: bool = True,
    trusted_proxies: tuple[str, ...] = (),
    certificate: Certificate | None = None,
    standing: TokenRevocation | None = None,
    grace: GracePeriod | None = None,
) -> AsyncGenerator[ListeningAddress]:
    """Listen on a port, yield the bound address, then drain. With port 0 the system chooses the port."""
    if authenticate is None and not address.is_loopback:
        raise SettingsError(
            problems=(f"--host: {address.host} can be reached from other machines, and callers are not authenticated",)
        )
    provider = ProviderService(dispatcher)
    own = dispatcher.owner if shares_server_key else None
    accepted = dispatcher.context.live.client.caller.accepted
    callers = Callers(own, authenticate, Proxies(trusted_proxies), is_tls=certificate is not None, accepted=accepted)
    provider_calls = ProviderCalls(provider, callers, has_guides=dispatcher.catalogue.has_guides, standing=standing)
    server = grpc.aio.server(options=OPTIONS, maximum_concurrent_rpcs=MOST_CALLS)
    server.add_generic_rpc_handlers((provider_calls.handlers(),))
    health = HealthService(SERVICE)
    server.add_generic_rpc_handlers((health.handlers(), Reflection(SERVICE).handlers()))
    tls = None if certificate is None else _credentials(certificate)
    _refuse_taken(address)
    try:
        bound = server.add_secure_port(str(address), tls) if tls else server.add_insecure_port(str(address))
    except RuntimeError:
        raise SettingsError(problems=(f"--port: cannot listen on {address}; is it in use?",)) from None
    await server.start()
    try:
        async with standing.running() if standing else nullcontext():
            yield ListeningAddress(address.host, bound)
    finally:
        with anyio.CancelScope(shield=True):
            health.stop()
            provider.stop_streams()
            await _drain(server, provider_calls, (grace or GracePeriod()).secs)


def _credentials(certificate: Certificate) -> grpc.ServerCredentials:
    certificate.context()  # gRPC would accept a key that does not match the certificate, and then refuse every caller.
    return grpc.ssl_server_credentials([certificate.read()])


def _refuse_taken(address: ListeningAddress) -> None:
    """Check that the port is free. Otherwise the library prints log lines of its own."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            if os.name == "posix":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address.host, address.port))
        except OSError as error:
            raise SettingsError(problems=(f"cannot listen on {address}: {error.strerror}",)) from None


async def _drain(server: grpc.aio.Server, provider_calls: ProviderCalls, grace_secs: float) -> None:
    is_over = anyio.Event()

    async def stop() -> None:
        await server.stop(grace_secs)
        is_over.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop)
        await provider_calls.wait_until_empty()
        # Time in which the last answers are sent. A health watcher would otherwise use the whole grace period.
        with anyio.move_on_after(min(DRAIN_SECS, grace_secs)):
            await is_over.wait()
        await server.stop(None)
