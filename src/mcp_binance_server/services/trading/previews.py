"""Previews that may be placed, until they are over: kept by an id that only this server can make."""

import json
from dataclasses import dataclass

from mcp_binance_server.state.engine import StateEngine
from mcp_binance_server.trading.terms import PreviewId, Terms


@dataclass(frozen=True, slots=True)
class KeptPreview:
    """Terms that were shown to somebody, and the asset they are about."""

    preview_id: PreviewId
    terms: Terms
    visitor: str
    asset: str


@dataclass(frozen=True, slots=True)
class Previews:
    """Keeps them where every process of a fleet finds them; a changed one is as none."""

    engine: StateEngine
    key: bytes

    async def keep(self, terms: Terms, visitor: str, asset: str, now_ms: int) -> KeptPreview:
        """Keep terms until they expire."""
        preview_id = terms.preview_id(self.key)
        told = {"terms": terms.to_json(), "visitor": visitor, "asset": asset}
        await self.engine.put(_place(preview_id), json.dumps(told).encode(), ttl_ms=max(1, terms.expires_ms - now_ms))
        return KeptPreview(preview_id, terms, visitor, asset)

    async def find(self, preview_id: str, visitor: str) -> KeptPreview | None:
        """Return what was kept under an id for this visitor; another's and none are the same."""
        kept = await self.engine.get(_place(preview_id))
        if kept is None:
            return None
        try:
            told = json.loads(kept)
            found = KeptPreview(PreviewId(preview_id), Terms.from_json(told["terms"]), told["visitor"], told["asset"])
        except (ValueError, KeyError, TypeError):
            return None
        is_own = found.visitor == visitor and found.terms.preview_id(self.key) == preview_id
        return found if is_own else None


def _place(preview_id: str) -> str:
    return f"preview:{preview_id}"
