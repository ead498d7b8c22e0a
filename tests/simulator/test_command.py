"""What the command line of the simulator puts on stage."""

import json
from pathlib import Path

import httpx2
import pytest

from mcp_binance_server.cli.main import main
from support.process import Process


def test_a_crowd_is_listed() -> None:
    with Process("simulator", "--crowd", "3") as process:
        rest = json.loads(process.line())["rest"]
        book = httpx2.get(f"{rest}/api/v3/depth?symbol=CROWD002USDT&limit=5", trust_env=False).json()
        process.terminate()

    assert (len(book["bids"]), len(book["asks"])) == (5, 5)


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--crowd", "-1"], "A crowd has 0 to 1000 members, not -1."),
        (["--replay", "."], "There are no recordings (*.gz) in"),
        (["--replay", ".", "--speed", "0"], "the speed is above 0"),
    ],
)
def test_what_cannot_be_played_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    code = main(["simulator", *flags])

    assert code == 2
    assert complaint in capsys.readouterr().err
