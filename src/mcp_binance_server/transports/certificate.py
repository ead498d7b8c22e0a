"""The certificate by which a server of ours speaks TLS itself, without a proxy."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from mcp_binance_server.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Certificate:
    """Two PEM files: the certificate with those that vouch for it, and its private key."""

    chain: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """Return what a listening socket needs.

        Raises:
            SettingsError: a file cannot be used; the message says which flag named it.
        """
        self.read()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        try:
            # Without an answer of ours, OpenSSL would ask whoever sits at the terminal for a passphrase.
            context.load_cert_chain(self.chain, self.key, password=lambda: b"")
        except (OSError, ValueError) as error:
            what = getattr(error, "reason", None) or "it is no PEM file"
            shown = str(what).replace("_", " ").lower()
            raise SettingsError(
                problems=(
                    f"--tls-cert {self.chain}, --tls-key {self.key}: they cannot be used ({shown}); give a PEM "
                    "certificate and its own private key without a passphrase",
                )
            ) from None
        return context

    def read(self) -> tuple[bytes, bytes]:
        """Return the bytes of the key and of the chain, in the order in which gRPC takes them.

        Raises:
            SettingsError: one of them cannot be read.
        """
        found: list[bytes] = []
        for flag, path in (("--tls-key", self.key), ("--tls-cert", self.chain)):
            try:
                found.append(path.read_bytes())
            except OSError as error:
                raise SettingsError(problems=(f"{flag} {path}: {error.strerror}",)) from None
        return found[0], found[1]
