"""Record a terminal session and draw it as SVG: the output of `doctor` and of README's short client.

    python scripts/terminal_picture.py docs/images/terminal.svg

Both programs really run, in a pseudo-terminal on the offline exchange. Only the typed commands are fixed text.
"""

import json
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
COLUMNS = 92
ADVANCE, LINE, EDGE = 8.43, 19, 18
INK, PAPER, DIM = "#d7dce2", "#14181d", "#8b949e"
# SGR codes in our terminal output. Other codes reset or erase.
STYLES = {
    "1": 'font-weight="bold" fill="#ffffff"', "2": f'fill="{DIM}"', "31": 'fill="#ff7b72"', "32": 'fill="#56d364"',
    "33": 'fill="#e3b341"', "36": 'fill="#76c7f2"', "1;97;41": 'font-weight="bold" fill="#ff7b72"',
}  # fmt: skip


@contextmanager
def exchange() -> Generator[dict[str, str]]:
    """Run the offline exchange. Yield the environment for a server on it."""
    command = [sys.executable, "-m", "mcp_binance_server", "simulator"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as simulator:  # noqa: S603 - our own
        told = json.loads(simulator.stdout.readline() if simulator.stdout else "")
        yield {
            "BINANCE_API_KEY": told["api_key"],
            "BINANCE_SECRET_KEY": told["secret_key"],
            "BINANCE_REST_URL": told["rest"],
            "BINANCE_STREAM_URL": told["streams"],
        }
        simulator.terminate()


def recorded(command: list[str], environment: dict[str, str]) -> list[str]:
    """Run a command in a pseudo-terminal. Return its final lines with colours."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)  # noqa: S603
    os.close(theirs)
    said = b""
    while True:
        try:
            said += os.read(ours, 65_536)
        except OSError:  # the other side has closed the terminal
            break
    os.close(ours)
    if process.wait():
        sys.exit(said.decode())
    # Later text replaces a progress line.
    return [line.rpartition("\r\x1b[K")[2].rstrip("\r") for line in said.decode().split("\n")]


def session() -> list[str]:
    """Return all lines of the picture."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    program = found[1] if found else ""
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}"
    with tempfile.TemporaryDirectory() as home, exchange() as around:
        base = {"HOME": home, "PATH": tools, "TERM": "xterm", "COLUMNS": str(COLUMNS), "PYTHONWARNINGS": "ignore"}
        examined = recorded(["mcp-binance-server", "doctor"], {**base, **around})
        printed = recorded([sys.executable, "-c", program], base)
    return ["$ mcp-binance-server doctor", *examined, "$ python price.py   # the program above", *printed]


def drawn(lines: list[str]) -> str:
    """Return the picture as SVG."""
    while lines and not lines[-1]:
        lines.pop()
    width, height = round(COLUMNS * ADVANCE + 2 * EDGE), len(lines) * LINE + 2 * EDGE
    rows = "\n".join(
        f'<text x="{EDGE}" y="{EDGE + LINE * place + 14}">{_spans(line)}</text>' for place, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="A terminal: the doctor finds everything healthy, a program prints a market page">\n'
        f'<rect width="{width}" height="{height}" rx="10" fill="{PAPER}"/>\n'
        f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14" '
        f'fill="{INK}">\n{rows}\n</g>\n</svg>\n'
    )


def _spans(line: str) -> str:
    line = line.replace(" ", "\u00a0")  # SVG collapses ordinary spaces
    if line.startswith("$\u00a0"):
        return f'<tspan fill="{DIM}">$\u00a0</tspan><tspan font-weight="bold" fill="#ffffff">{escape(line[2:])}</tspan>'
    parts = re.split(r"\x1b\[([\d;]*)m", line)
    spans = [escape(parts[0])]
    for code, text in zip(parts[1::2], parts[2::2], strict=True):
        style = STYLES.get(code)
        spans.append(f"<tspan {style}>{escape(text)}</tspan>" if style else escape(text))
    return "".join(spans)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(drawn(session()), encoding="utf-8")
