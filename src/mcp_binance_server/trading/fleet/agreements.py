"""Declined, waiting and approved previews of an account, shared by all workers.

Each worker verifies signatures itself.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.engine import Values
from mcp_binance_server.trading.journal.agreements import Agreements
from mcp_binance_server.trading.judgement.charges import DAY_MS
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms

# Size limit in bytes of a shelf, which is a shared cache with a TTL. A shelf holds about two thousand refusals or
# questions, far more than people answer in a day.
MOST_BYTES = 1_048_576
LEAST_MS = 1_000
_CANCEL = "cancel "


@dataclass(frozen=True, slots=True)
class FleetAgreements(Agreements):
    """Decisions of people, in this worker's journal and in the shared state. Signatures are always verified."""

    engine: Values
    account: str

    async def decline(self, preview_id: PreviewId, visitor: str, now_ms: int) -> None:
        await Agreements.decline(self, preview_id, visitor, now_ms)
        await self.publish_declined(preview_id, visitor, now_ms)

    async def is_declined(self, preview_id: PreviewId) -> bool:
        here = await Agreements.is_declined(self, preview_id)
        return here or await self.engine.shelved(self._declined, preview_id) is not None

    async def decline_cancel(self, preview_id: PreviewId, visitor: str, now_ms: int) -> None:
        await Agreements.decline_cancel(self, preview_id, visitor, now_ms)
        told = {"visitor": visitor, "at_ms": now_ms}
        await self._shelve(self._declined, f"{_CANCEL}{preview_id}", told, DAY_MS)

    async def is_cancel_declined(self, preview_id: PreviewId, since_ms: int) -> bool:
        if await Agreements.is_cancel_declined(self, preview_id, since_ms):
            return True
        try:
            said = await self.engine.shelved(self._declined, f"{_CANCEL}{preview_id}")
        except EngineUnavailable:  # a cancel reduces risk: an outage must not delay it
            return False
        return said is not None and json.loads(said)["at_ms"] > since_ms

    async def declined_since(self, visitor: str, since_ms: int) -> list[int]:
        here = await Agreements.declined_since(self, visitor, since_ms)
        told = [json.loads(each) for each in (await self.engine.on_shelf(self._declined)).values()]
        there = [each["at_ms"] for each in told if each["visitor"] == visitor and each["at_ms"] > since_ms]
        return sorted({*here, *there})

    async def wait(self, preview_id: PreviewId, visitor: str, terms: Terms, now_ms: int) -> None:
        await Agreements.wait(self, preview_id, visitor, terms, now_ms)
        told = {"visitor": visitor, "terms": terms.to_json(), "since_ms": now_ms}
        await self._shelve(self._waiting, preview_id, told, max(LEAST_MS, terms.expires_ms - now_ms))

    async def signature(self, preview_id: PreviewId) -> str | None:
        here = await Agreements.signature(self, preview_id)
        if here is not None:
            return here
        told = await self.engine.shelved(self._signed, preview_id)
        return None if told is None else json.loads(told)["signature"]

    async def take_in(self) -> None:
        """Add the waiting previews of other workers, so that `approve` on this machine shows them.

        Declined previews are left out.
        """
        waiting = await self.engine.on_shelf(self._waiting)
        declined = await self.engine.on_shelf(self._declined) if waiting else {}
        for name, value in waiting.items():
            if await Agreements.is_declined(self, PreviewId(name)):
                continue
            if name in declined:
                no = json.loads(declined[name])
                await Agreements.decline(self, PreviewId(name), no["visitor"], no["at_ms"])
                continue
            told = json.loads(value)
            terms = Terms.from_json(told["terms"])
            if terms.account == self.account:
                await Agreements.wait(self, PreviewId(name), told["visitor"], terms, told["since_ms"])

    async def publish_declined(self, preview_id: PreviewId, visitor: str, at_ms: int) -> None:
        """Share with all workers that a preview was declined on this machine."""
        await self._shelve(self._declined, preview_id, {"visitor": visitor, "at_ms": at_ms}, DAY_MS)

    async def publish_signed(self, preview_id: PreviewId, signature: str, ttl_ms: int = DAY_MS) -> None:
        """Share with all workers a signature that was made on this machine."""
        await self._shelve(self._signed, preview_id, {"signature": signature}, ttl_ms)

    async def _shelve(self, shelf: str, key: str, told: Mapping[str, object], ttl_ms: int) -> None:
        await self.engine.shelve(shelf, key, json.dumps(told).encode(), ttl_ms=ttl_ms, most_bytes=MOST_BYTES)

    @property
    def _declined(self) -> str:
        return declined_shelf(self.account)

    @property
    def _waiting(self) -> str:
        return f"waiting:{self.account}"

    @property
    def _signed(self) -> str:
        return f"signed:{self.account}"


def declined_shelf(account: str) -> str:
    """Return the name of the shelf for declined previews and cancels."""
    return f"declined:{account}"
