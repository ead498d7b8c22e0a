"""What the command line of the simulator puts on stage."""

import json
from pathlib import Path

import httpx2
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from mcp_binance_server.cli.main import main
from support.process import Process


def test_a_crowd_is_listed() -> None:
    with Process("simulator", "--crowd", "3") as process:
        rest = json.loads(process.line())["rest"]
        book = httpx2.get(f"{rest}/api/v3/depth?symbol=CROWD002USDT&limit=5", trust_env=False).json()
        process.terminate()

    assert (len(book["bids"]), len(book["asks"])) == (5, 5)


def test_the_futures_have_ports_of_their_own_for_rest_and_streams() -> None:
    with Process("simulator", "--contracts", "3") as process:
        told = json.loads(process.line())
        listed = httpx2.get(f"{told['futures_rest']}/fapi/v1/exchangeInfo", trust_env=False).json()
        strangers = [
            httpx2.get(f"{told['rest']}/fapi/v1/time", trust_env=False).status_code,
            httpx2.get(f"{told['futures_rest']}/api/v3/time", trust_env=False).status_code,
            httpx2.get(f"{told['futures_rest']}/control/futures", trust_env=False).status_code,
        ]
        with connect(f"{told['futures_streams']}/market/ws/!markPrice@arr@1s", proxy=None) as socket:
            marks = json.loads(socket.recv(timeout=20))
            state = httpx2.get(f"{told['control']}/futures", trust_env=False).json()
        with pytest.raises(InvalidStatus, match="404"):
            connect(f"{told['futures_streams']}/nowhere", proxy=None)
        httpx2.post(f"{told['control']}/futures/quirks", json={"kind": "region"}, trust_env=False)
        with pytest.raises(InvalidStatus, match="451"):
            connect(f"{told['futures_streams']}/market/ws", proxy=None)
        process.terminate()

    assert {"CROWD002USDT", "BTCUSDT"} <= {record["symbol"] for record in listed["symbols"]}
    assert strangers == [404, 404, 404]
    assert {"CROWD002USDT", "BTCUSDT", "BTCUSD_PERP"} <= {event["s"] for event in marks}
    assert (state["connections"], state["streams"]) == (1, {"!markPrice@arr@1s": 1})


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--crowd", "-1"], "A crowd must have 0 to 1500 members, not -1."),
        (["--crowd", "3", "--crowd-levels", "7"], "A crowd's depth event must have 8 to 100 levels, not 7."),
        (["--contracts", "901"], "A crowd must have 0 to 900 contracts, not 901."),
        (["--replay", "."], "No recordings (*.gz) in"),
        (["--replay", ".", "--speed", "0"], "must be above 0"),
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
