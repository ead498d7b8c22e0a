"""Certificate authorities for outgoing connections, from SSL_CERT_FILE or SSL_CERT_DIR."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_binance_server.errors import SettingsError

if TYPE_CHECKING:
    import ssl

TRUST_VARIABLES = FILE, FOLDERS = "SSL_CERT_FILE", "SSL_CERT_DIR"
NOT_PEM = "no PEM certificate in it"
FIX = "Name a PEM file of certificate authorities, or unset the variable"
# OpenSSL's file names consist of a subject hash and a number.
_HASHED = re.compile(r"[0-9a-f]{8}\.\d+")


def check_trust_store(environment: Mapping[str, str]) -> None:
    """Check that the certificate authorities can be read. An empty variable counts as not set.

    Raises:
        SettingsError: a file or folder cannot be used; the message names the variable and the path.
    """
    # httpx2 reads the folders only if no file is set.
    if file := environment.get(FILE):
        _check_file(file)
    elif folders := environment.get(FOLDERS):
        _check_folders(folders)


def client_context() -> "ssl.SSLContext":
    """Return a TLS context for outgoing connections.

    Raises:
        SettingsError: the certificate authorities can no longer be read.
    """
    import httpx2  # noqa: PLC0415 - not needed to check the variables

    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise SettingsError(problems=(f"{FILE}, {FOLDERS}: {_reason(error)}. {FIX}",)) from None


def _check_file(file: str) -> None:
    import ssl  # noqa: PLC0415 - most environments have no file

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=file)
    except OSError as error:
        raise SettingsError(problems=(f"{FILE}: {file}: {_reason(error)}. {FIX}",)) from None


def _check_folders(folders: str) -> None:
    problems: list[str] = []
    for folder in filter(None, folders.split(os.pathsep)):
        try:
            if any(_HASHED.fullmatch(each.name) for each in Path(folder).iterdir()):
                return
        except OSError as error:
            problems.append(f"{folder}: {_reason(error)}")
        else:
            problems.append(f"{folder}: no certificate with a hashed name, as created by `openssl rehash`")
    raise SettingsError(problems=(f"{FOLDERS}: {'; '.join(problems)}. Correct it, or unset the variable",))


def _reason(error: OSError) -> str:
    # The message of ssl.SSLError comes from OpenSSL, not from the system.
    return (os.strerror(error.errno) if error.errno and not hasattr(error, "library") else "") or NOT_PEM
