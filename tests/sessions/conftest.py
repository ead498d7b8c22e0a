"""A registry that runs on a clock that stands still, and an engine that keeps count."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from mcp_binance_server.domain.access import LOCAL, Credentials, Visitor
from mcp_binance_server.sessions.model import Session
from mcp_binance_server.sessions.registry import Registry
from sessions.engines import FarEngine
from support.clock import FakeClock
from support.stepped import settled

ANN = Visitor("ann")
BEN = Visitor("ben")


@dataclass(frozen=True)
class House:
    """A registry with what it stands on."""

    clock: FakeClock
    engine: FarEngine
    registry: Registry[Credentials]

    async def enter(
        self,
        visitor: Visitor = ANN,
        *,
        remote_addr: str = "192.0.2.1",
        credentials: Credentials | None = None,
        party: str = "",
    ) -> Session[Credentials]:
        return await self.registry.open(
            visitor, remote_addr=remote_addr, user_agent="desk/1.0", credentials=credentials, party=party
        )

    def is_alive(self, session: Session[Credentials], visitor: Visitor = ANN) -> bool:
        return self.registry.find(session.connection_id, visitor) is session

    async def places(self) -> int:
        return await self.engine.members("sessions")

    async def pass_time(self, duration_ms: float) -> None:
        """Let time pass, and everybody do what is due."""
        self.clock.advance(duration_ms)
        await settled()


@pytest.fixture
async def house(clock: FakeClock) -> AsyncIterator[House]:
    engine = FarEngine(clock)
    async with Registry[Credentials](engine, clock).running() as registry:
        await settled()
        yield House(clock, engine, registry)


__all__ = ["ANN", "BEN", "LOCAL", "House"]
