"""Search the output of a test run for pieces of the tests' keys.

python scripts/canary.py FOLDER

The tests sign with the keys of the simulated exchange. Any nine consecutive characters of a key count as a leak, plain,
reversed, in hex or in base64. The masked form of a key shows eight and passes.
"""

import base64
import sys
from pathlib import Path

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.clock import SystemClock

WINDOW, STEP = 9, 4
LEAST_EVIDENCE = 1_000_000


def secrets_of_the_tests() -> list[str]:
    account = SimulatedExchange(SystemClock()).account
    pem = [line for line in account.ed25519_private_key_pem.splitlines() if "-----" not in line]
    return [account.api_key, account.secret_key, account.ed25519_api_key, *pem]


def windows(secret: str) -> set[bytes]:
    raw = secret.encode()
    forms = (raw, raw[::-1], raw.hex().encode(), *(base64.b64encode(raw[start:]) for start in range(3)))
    return {form[at : at + WINDOW] for form in forms for at in range(len(form) - WINDOW + 1)}


def parts(wanted: set[bytes]) -> set[bytes]:
    """Return the parts of all windows.

    `leaks` reads a text in steps. It hits one part in each window, because parts start at every offset within a step.
    """
    return {window[at : at + WINDOW - STEP + 1] for window in wanted for at in range(STEP)}


def leaks(text: bytes, wanted: set[bytes], met: set[bytes]) -> set[bytes]:
    """Return the windows in a text.

    The text is first searched in steps. Every byte is searched only if a part was found.
    """
    if met.isdisjoint({text[at : at + WINDOW - STEP + 1] for at in range(0, len(text), STEP)}):
        return set()
    return {text[at : at + WINDOW] for at in range(len(text) - WINDOW + 1)} & wanted


def main() -> int:
    folder = Path(sys.argv[1])
    wanted = set[bytes]().union(*(windows(secret) for secret in secrets_of_the_tests()))
    met = parts(wanted)
    planted = b"noise " + secrets_of_the_tests()[1].encode()[20:29] + b" noise"
    if not all(leaks(planted[at:], wanted, met) for at in range(STEP)):
        print("the search does not find a planted leak")
        return 1
    # Skip the simulator's first line of output, which prints its keys on purpose.
    searched, found = 0, 0
    for path in sorted(folder.iterdir()):
        text = path.read_bytes()
        if path.name.startswith("stdout-") and text.startswith(b'{"rest"'):
            text = text.partition(b"\n")[2]
        searched += len(text)
        if hits := leaks(text, wanted, met):
            found += 1
            print(f"{path.name}: {len(hits)} pieces of a key")
    print(f"canary: {searched:,} bytes searched, {found} files with a leak")
    return 1 if found or searched < LEAST_EVIDENCE else 0


if __name__ == "__main__":
    sys.exit(main())
