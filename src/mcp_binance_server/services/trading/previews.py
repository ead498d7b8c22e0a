"""Previews that can be placed until they expire. Each has an ID that only this server can compute."""

import hmac
import json
from dataclasses import dataclass

from anyio import to_thread

from mcp_binance_server.services.trading.preview_files import LOCAL_VISITOR, PreviewFiles
from mcp_binance_server.state.engine import Values
from mcp_binance_server.trading.judgement.terms import PreviewId, StoredPreview, Terms

# Size limit of a visitor's shelf in bytes, enough for about ninety previews. A visitor with more previews loses its own
# oldest.
MOST_BYTES = 64 * 1024
_KEPT = b"mcp-binance-server kept preview v1\0"
_SEAL_BYTES = 32


@dataclass(frozen=True, slots=True)
class Previews:
    """Storage of previews for all processes of a fleet. An altered preview is treated as missing."""

    engine: Values
    key: bytes
    files: PreviewFiles | None = None
    """Files that keep the local visitor's previews after the process ends."""

    async def keep(self, terms: Terms, visitor: str, asset: str, now_ms: int) -> StoredPreview:
        """Store terms until they expire."""
        preview_id = terms.preview_id(self.key)
        told = json.dumps({"terms": terms.to_json(), "visitor": visitor, "asset": asset}).encode()
        value, ttl_ms = self._seal(told) + told, max(1, terms.expires_ms - now_ms)
        if self.files is not None and visitor == LOCAL_VISITOR:
            await to_thread.run_sync(self.files.save, preview_id, value, terms.expires_ms, now_ms)
        await self.engine.shelve(shelf_of(visitor), preview_id, value, ttl_ms=ttl_ms, most_bytes=MOST_BYTES)
        return StoredPreview(preview_id, terms, visitor, asset)

    async def find(self, preview_id: str, visitor: str, now_ms: int = 0) -> StoredPreview | None:
        """Return this visitor's preview with this ID, or None if there is none."""
        value = await self.engine.shelved(shelf_of(visitor), preview_id) or b""
        if not value and self.files is not None and visitor == LOCAL_VISITOR:
            value = await to_thread.run_sync(self.files.load, preview_id, now_ms) or b""
        seal, told = value[:_SEAL_BYTES], value[_SEAL_BYTES:]
        if not hmac.compare_digest(seal, self._seal(told)):
            return None
        kept = json.loads(told)
        found = StoredPreview(PreviewId(preview_id), Terms.from_json(kept["terms"]), kept["visitor"], kept["asset"])
        is_own = found.visitor == visitor and found.terms.preview_id(self.key) == preview_id
        return found if is_own else None

    async def forget(self, kept: StoredPreview) -> None:
        """Remove the file of a claimed preview, because its order is in the journal."""
        if self.files is not None and kept.visitor == LOCAL_VISITOR:
            await to_thread.run_sync(self.files.remove, kept.preview_id)

    def _seal(self, told: bytes) -> bytes:
        return hmac.digest(self.key, _KEPT + told, "sha256")


def shelf_of(visitor: str) -> str:
    """Return the name of the shelf for a visitor's previews."""
    return f"previews:{visitor}"
