"""What the keys of the simulated account may do, and from where."""

import msgspec

from mcp_binance_server.simulator import refusals


class KeyRights(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The boxes of the key's page; `address_listed` says whether the caller's address is in the key's list."""

    reading: bool = True
    trading: bool = False
    withdrawals: bool = False
    ip_restricted: bool = True
    address_listed: bool = True

    def check_address(self) -> None:
        """Refuse a caller from elsewhere; before the signature is looked at."""
        if self.ip_restricted and not self.address_listed:
            raise refusals.rejected_address()

    def check_reading(self) -> None:
        """Refuse a key that may not read."""
        if not self.reading:
            raise refusals.rejected_key()
