"""Whether the server in this container is alive, as its first process was started; no word means yes."""

import socket
import ssl
import sys
import urllib.request
from pathlib import Path

SECS = 4
HTTP_PORT, GRPC_PORT = 3000, 50053


def check(words: list[str]) -> None:
    """Ask the server that these words started.

    Raises:
        OSError: it does not answer.
    """
    if "--http" in words or "--sse" in words:
        # Straight there, whatever proxy the environment names. The certificate is for the name that clients use.
        unchecked = ssl.create_default_context()
        unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
        handlers = urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=unchecked)
        opener = urllib.request.build_opener(*handlers)
        scheme = "https" if any(word.partition("=")[0] == "--tls-cert" for word in words) else "http"
        with opener.open(f"{scheme}://127.0.0.1:{port_in(words, HTTP_PORT)}/healthz", timeout=SECS):
            pass
    elif "--grpc" in words:
        socket.create_connection(("127.0.0.1", port_in(words, GRPC_PORT)), timeout=SECS).close()
    # On standard input and output it lives as long as its container.


def port_in(words: list[str], usual: int) -> int:
    """Return the port that the words name."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, _, value = word.partition("=")
        if name == "--port":
            return int(value or following)
    return usual


if __name__ == "__main__":
    try:
        check(Path("/proc/1/cmdline").read_text(encoding="utf-8").split("\0"))
    except OSError as problem:
        sys.exit(str(problem))
