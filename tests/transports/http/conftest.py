"""The HTTP application without a socket; and an issuer, the way to it, and an authenticator that believes it."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_binance_server.app import App
from mcp_binance_server.channel import Channel
from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.transports.http.auth.oauth import OAuth
from mcp_binance_server.transports.http.auth.trust import Trust
from support.clock import FakeClock
from support.issuer import ISSUER, RESOURCE, AuthorizationServer, Wire, ec_key, ed_key, rsa_key
from support.webapp import HttpClient, OpenHttp, assembled, http_client

Enter = Callable[[str], Awaitable[Visitor]]


@pytest.fixture
async def http(app: App) -> AsyncIterator[HttpClient]:
    """A client of the application as it is on one's own machine."""
    async with assembled(app) as running, http_client(running) as client:
        yield client


@pytest.fixture
def open_http(app: App) -> OpenHttp:
    """Open an application with other options than usual."""

    @asynccontextmanager
    async def opened(**changes: Any) -> AsyncGenerator[HttpClient]:  # noqa: ANN401 - fields of Options
        async with assembled(app, **changes) as running, http_client(running) as client:
            yield client

    return opened


@pytest.fixture
def issuer(clock: FakeClock) -> AuthorizationServer:
    server = AuthorizationServer(clock, ed_key(), ec_key(), rsa_key())
    server.publish()
    return server


@pytest.fixture
def wire(issuer: AuthorizationServer) -> Wire:
    return Wire(issuer)


@pytest.fixture
async def channel(wire: Wire) -> AsyncIterator[Channel]:
    opened = Channel(deadline_secs=5, transport=wire)
    yield opened
    await opened.close()


@pytest.fixture
async def authenticator(channel: Channel, clock: FakeClock) -> AsyncIterator[OAuth]:
    opened = OAuth(Trust(ISSUER, RESOURCE), channel, clock)
    yield opened
    await opened.close()


@pytest.fixture
def enter(authenticator: OAuth) -> Enter:
    """Show a token to the authenticator."""

    async def shown(token: str) -> Visitor:
        return await authenticator.visitor([(b"authorization", f"Bearer {token}".encode())], b"")

    return shown
