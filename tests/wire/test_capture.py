"""`scripts/capture`: files in the layout of captured answers, read-only, and nothing of an account in them."""

import json
import subprocess
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest

from support.captured.capture import Recorder, trimmed
from support.captured.doors import DOORS, STREAMS
from support.captured.files import SUFFIX, CapturedFile, files
from support.captured.sanitising import Sanitiser, SecretFound
from support.process import PATIENCE_SECS, Process, clean_environment

PROGRAM = Path(__file__).parents[2] / "scripts" / "capture"
CANARY = "CaNaRy" + "7" * 58


def test_relations_survive_other_ids_names_and_amounts() -> None:
    order = {"orderId": 41200881231, "orderListId": -1, "clientOrderId": "mine", "price": "100.00", "origQty": "0.0100"}
    fill = {"id": 7, "orderId": 41200881231, "price": "100.00", "qty": "0.0100", "quoteQty": "1.00000000"}
    sanitiser = Sanitiser([CANARY], factor=Decimal("0.5"))

    one, same = sanitiser.private([order, fill]), sanitiser.private([order, fill])

    assert one == same
    assert one[0]["orderId"] == one[1]["orderId"] not in (41200881231, one[1]["id"])
    assert one[0] | {"orderId": 0} == {
        "orderId": 0, "orderListId": -1, "clientOrderId": "order-1", "price": "100.00", "origQty": "0.0050",
    }  # fmt: skip
    assert Decimal(one[1]["qty"]) * Decimal(one[1]["price"]) == Decimal(one[1]["quoteQty"])


def test_keys_e_mails_and_addresses_are_replaced_in_every_text() -> None:
    told = {"msg": f"key {CANARY} of ann@example.org at 203.0.113.9", "listenKey": "pq" * 30, "uid": 354937868}

    clean = Sanitiser([CANARY], factor=Decimal(1)).private(told)

    assert clean == {
        "msg": "key SECRET of person@example.com at 192.0.2.1", "listenKey": "KEY", "uid": 1_000_001,
    }  # fmt: skip


def test_a_secret_that_is_left_stops_the_writing() -> None:
    with pytest.raises(SecretFound) as caught:
        Sanitiser([CANARY], factor=Decimal(1)).check(f'{{"x":"{CANARY}"}}'.encode())

    assert CANARY not in str(caught.value)


def test_long_lists_are_cut_and_say_so() -> None:
    assert trimmed([*range(30)]) == ([*range(20)], True)
    assert trimmed({"symbols": [1, 2, 3, 4, 5, 6], "rateLimits": []}) == (
        {"symbols": [1, 2, 3, 4, 5], "rateLimits": []},
        True,
    )
    assert trimmed({"lastUpdateId": 1}) == ({"lastUpdateId": 1}, False)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_what_is_no_get_does_not_leave(method: str) -> None:
    recorder = Recorder(httpx2.MockTransport(lambda _: httpx2.Response(200)))

    with pytest.raises(httpx2.UnsupportedProtocol):
        await recorder.handle_async_request(httpx2.Request(method, "http://exchange.test/api/v3/order"))

    assert recorder.kept == {}


@pytest.mark.night  # a stream may have no event for some seconds
def test_the_program_captures_the_offline_simulator(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(PROGRAM), "--out", str(tmp_path), "--seconds", "10"],
        capture_output=True,
        timeout=PATIENCE_SECS,
        check=False,
        env=clean_environment({"BINANCE_API_KEY": CANARY}),
    )

    found = {path.name.removesuffix(SUFFIX): path.read_bytes() for path in files(tmp_path)}
    told = done.stderr.decode()
    # No liquidation need come in ten seconds, and no order is placed.
    assert {*DOORS, *STREAMS} - found.keys() <= {"stream.liquidation", "user.execution_report"}, told
    assert done.returncode == (0 if "stream.liquidation" in found else 1)
    assert not any(CANARY.encode() in written for written in found.values())
    assert "Traceback" not in told


@pytest.mark.night
@pytest.mark.slow
def test_nothing_of_the_account_is_written(tmp_path: Path) -> None:
    with Process("simulator", "--port", "0") as process:
        told = json.loads(process.line())
        secrets = [told["api_key"], told["secret_key"]]
        account = {
            "BINANCE_REST_URL": told["rest"],
            "BINANCE_API_KEY": told["api_key"],
            "BINANCE_SECRET_KEY": told["secret_key"],
        }
        done = subprocess.run(
            [str(PROGRAM), "--out", str(tmp_path), "--seconds", "1", "--live", "testnet"],
            capture_output=True,
            timeout=PATIENCE_SECS,
            check=False,
            env=clean_environment(account),
        )
        process.terminate()

    written = b"".join(path.read_bytes() for path in files(tmp_path)).decode()
    assert CapturedFile.read(tmp_path / "testnet" / f"spot.account{SUFFIX}").answers, done.stderr
    assert "signature" not in written
    assert not [secret for secret in secrets if secret in written or secret in done.stderr.decode()]
    assert "demo-2" not in written
    assert '"network":"testnet"' in written
