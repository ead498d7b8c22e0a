"""The approval page over a bare socket: what it shows, what it takes for a decision, and all that it refuses."""

import re
import sqlite3
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256

import pytest

from cli.trading.served_page import Hand, Told, read, served_page
from cli.trading.trading_folder import PASSPHRASE, TradingFolder
from mcp_binance_server.cli.trading.page.html import mode_badge, order_page
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.trading.approvals import APPROVER_FILE, is_approved, new_approver
from mcp_binance_server.trading.journal.agreements import Agreements
from support.clock import FakeClock

NOTHING_SAID = ["WAITING"]
SECURED = {
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "connection": "close",
    "content-type": "text/html; charset=utf-8",
}


def test_the_page_shows_the_whole_order_and_nothing_from_elsewhere(folder: TradingFolder) -> None:
    folder.approver()
    new = folder.waits(mode="live", network="mainnet")

    with served_page(folder, new) as page:
        told = page.hand.get()

    assert told.status == 200
    for fact in (
        "LIVE (api.binance.com), REAL MONEY",
        "<h1>BUY 0.001 BTCUSDT</h1>",
        "60,000 (limit)",
        "60 (maximum cost, before fees)",
        "NOT the current trading.toml",
        new.preview_id,
    ):
        assert fact in told.text
    assert not re.search(r"<script|<img|<link|<iframe|src=|href=|javascript:|https?://|@import|url\(", told.text)
    assert re.fullmatch(
        rf"opened=[\w-]{{43}}; Path=/{page.decision.secret}; HttpOnly; SameSite=Lax", told.headers["set-cookie"]
    )
    assert len(page.decision.secret) == 43  # 256 bits
    assert page.decision.secret not in repr(page.decision) + told.text


def test_every_answer_has_the_headers_that_close_it_off(folder: TradingFolder) -> None:
    folder.approver()
    with served_page(folder, folder.waits()) as page:
        hand = page.hand
        shown = hand.get()
        every = [
            shown,
            page.other_browser().get(),
            hand.get(path="/"),
            hand.get(host="localhost"),
            hand.post("approve", "wrong"),
            hand.post("approve", "wrong", origin="null"),
            hand.get(method="PUT"),
            hand.raw(b"nonsense\r\n\r\n"),
            hand.post("decline"),
            hand.get(),
        ]

    assert [each.status for each in every] == [200, 403, 404, 421, 403, 403, 405, 400, 200, 410]
    style = shown.text.partition("<style>")[2].partition("</style>")[0]
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    csp = (
        f"default-src 'none'; style-src 'sha256-{allowed}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    for each in every:
        assert each.headers["content-security-policy"] == csp
        assert SECURED.items() <= each.headers.items()
        assert not [name for name in each.headers if name.startswith("access-control")]


def test_the_right_passphrase_signs_exactly_what_was_shown_once(folder: TradingFolder) -> None:
    approver, new = folder.approver(), folder.waits()

    with served_page(folder, new) as page:
        page.hand.get()
        told = page.hand.post("approve", PASSPHRASE)
        again = [page.hand.get(), page.hand.post("approve", PASSPHRASE), page.hand.post("decline")]
        assert page.is_over

    signature, now_ms = folder.signature(new), SystemClock().now_ms()
    assert signature is not None
    assert is_approved(approver.public, new.terms, new.preview_id, signature, now_ms)
    other = replace(new.terms, quantity=new.terms.quantity * 10)
    assert not is_approved(approver.public, other, new.preview_id, signature, now_ms)
    assert (told.status, "Approved" in told.text) == (200, True)
    assert [(each.status, "was used: it was approved" in each.text) for each in again] == [(410, True)] * 3
    assert folder.states() == [*NOTHING_SAID, "APPROVED"]
    assert not any(b"CaNaRy" in each.read_bytes() for each in folder.path.iterdir())


def test_a_no_needs_no_passphrase_and_ends_the_preview(folder: TradingFolder) -> None:
    folder.approver()
    new = folder.waits()

    with served_page(folder, new) as page:
        page.hand.get()
        told = page.hand.post("decline")
        again = page.hand.post("approve", PASSPHRASE)

    assert ("Declined" in told.text, again.status) == (True, 410)
    assert (folder.signature(new), folder.states()) == (None, [*NOTHING_SAID, "DECLINED"])


FOREIGN: list[tuple[dict[str, str | None], int]] = [
    ({"host": "localhost:{port}"}, 421),
    ({"host": "127.0.0.1"}, 421),
    ({"host": "attacker.example:{port}"}, 421),
    ({"host": "127.0.0.1:{port}, attacker.example"}, 421),
    ({"host": None}, 400),
    ({"path": "http://127.0.0.1:{port}/"}, 404),
    ({"path": "/"}, 404),
    ({"path": "{path}/"}, 404),
    ({"path": "{path}?"}, 404),
    ({"origin": None}, 403),
    ({"origin": "null"}, 403),
    ({"origin": "http://localhost:{port}"}, 403),
    ({"origin": "https://127.0.0.1:{port}"}, 403),
    ({"origin": "http://127.0.0.1:1"}, 403),
    ({"origin": "http://127.0.0.1:{port}, http://127.0.0.1:{port}"}, 403),
    ({"sec_fetch_site": "cross-site"}, 403),
    ({"sec_fetch_site": "same-site"}, 403),
    ({"cookie": None}, 403),
    ({"cookie": "opened="}, 403),
    ({"content_type": "text/plain"}, 415),
    ({"content_type": "multipart/form-data; boundary=x"}, 415),
    ({"method": "PUT"}, 405),
    ({"method": "DELETE"}, 405),
]


def test_what_does_not_come_from_the_page_itself_does_nothing(folder: TradingFolder) -> None:
    folder.approver()
    new = folder.waits()

    with served_page(folder, new) as page:
        page.hand.get()
        for changes, status in FOREIGN:
            port, path = page.decision.port, page.hand.path
            meant = {name: text and text.format(port=port, path=path) for name, text in changes.items()}
            told = [page.hand.post("approve", each, **meant) for each in (PASSPHRASE, "wrong")]
            told.append(page.hand.post("decline", **meant))
            assert [each.status for each in told] == [status] * 3, changes
            assert page.decision.secret not in "".join(each.text for each in told)
        assert not page.is_over

    assert (folder.signature(new), folder.states()) == (None, NOTHING_SAID)


def test_an_address_belongs_to_the_browser_that_opens_it_first(folder: TradingFolder) -> None:
    folder.approver()
    new = folder.waits()

    with served_page(folder, new) as page:
        early = page.other_browser().post("approve", PASSPHRASE)
        fetched = page.other_browser().get(sec_purpose="prefetch;prerender")
        first = page.hand.get()
        other = page.other_browser()
        late = [other.get(), other.post("approve", PASSPHRASE)]
        still = page.hand.get()

    assert (early.status, fetched.status, first.status, still.status) == (403, 403, 200, 200)
    assert [(each.status, "belongs to the browser" in each.text) for each in late] == [(403, True)] * 2
    assert "set-cookie" not in late[0].headers
    assert folder.states() == NOTHING_SAID


@pytest.mark.slow
def test_the_fifth_wrong_passphrase_stops_trading_wherever_the_others_were_typed(folder: TradingFolder) -> None:
    folder.approver()
    new, now_ms = folder.waits(), SystemClock().now_ms()
    for _ in range(2):
        folder.do(lambda store: Agreements(store).wrong_passphrase(now_ms))

    with served_page(folder, new) as page:
        page.hand.get()
        empty = page.hand.post("approve", "")
        told = [page.hand.post("approve", "wrong") for _ in range(4)]

    stopped = folder.stopped()
    assert "Enter your passphrase" in empty.text
    assert ["3 of 5" in told[0].text, "4 of 5" in told[1].text, "trading is stopped" in told[2].text] == [True] * 3
    assert [each.status for each in told] == [403, 403, 403, 410]
    assert stopped is not None
    assert stopped.why == "5 wrong passphrases"
    assert (folder.signature(new), folder.states().count("WRONG_PASSPHRASE")) == (None, 5)


def test_a_page_says_that_trading_is_stopped(folder: TradingFolder) -> None:
    folder.approver()
    new = folder.waits()
    (folder.path / "STOP").touch()

    with served_page(folder, new) as page:
        told = page.hand.get()

    assert 'class="alert"' in told.text
    assert "mcp-binance-server resume" in told.text


def test_a_preview_that_is_over_is_said_to_be_and_signed_no_more(folder: TradingFolder) -> None:
    folder.approver()
    clock = FakeClock()
    new = folder.waits(expires_ms=clock.now_ms() + 60_000)

    with served_page(folder, new, clock) as page:
        before = page.hand.get()
        clock.advance(60_000)
        told = [page.hand.get(), page.hand.post("approve", PASSPHRASE), page.hand.post("decline")]

    assert before.status == 200
    assert [(each.status, "The preview has expired" in each.text) for each in told] == [(410, True)] * 3
    assert (folder.signature(new), folder.states()) == (None, NOTHING_SAID)


@pytest.mark.parametrize("decision", ["approve", "decline"])
@pytest.mark.parametrize("change", ["DELETE FROM waiting", "UPDATE waiting SET terms=replace(terms,'0.001','9.001')"])
def test_what_is_no_longer_the_order_that_was_shown_is_not_decided(
    change: str, decision: str, folder: TradingFolder
) -> None:
    folder.approver()
    new = folder.waits()

    with served_page(folder, new) as page:
        page.hand.get()
        with sqlite3.connect(folder.path / "trading.db") as rows:
            rows.execute(change)
        rows.close()
        told = page.hand.post(decision, PASSPHRASE)

    assert "No longer waiting" in told.text
    assert (folder.signature(new), folder.states()) == (None, NOTHING_SAID)


def test_what_was_approved_in_a_terminal_meanwhile_is_not_asked_for(folder: TradingFolder) -> None:
    folder.approver()
    new = folder.waits()
    with served_page(folder, new) as page:
        folder.do(lambda store: Agreements(store).approve(new.preview_id, "a signature", 1))
        told = page.hand.get()

    assert "No longer waiting" in told.text
    assert folder.signature(new) == "a signature"


def test_a_key_that_the_policy_does_not_name_or_that_is_gone_approves_nothing(folder: TradingFolder) -> None:
    folder.approver()
    new = folder.waits()

    with served_page(folder, new) as page:
        page.hand.get()
        (folder.path / APPROVER_FILE).write_bytes(new_approver(PASSPHRASE).sealed)
        other = page.hand.post("approve", PASSPHRASE)
        (folder.path / APPROVER_FILE).unlink()
        gone = page.hand.post("approve", PASSPHRASE)
        folder.policy.write_text("nonsense", encoding="utf-8")
        broken = page.hand.get()
        folder.path.rename(folder.path.with_name("moved"))
        folder.path.write_text("no folder", encoding="utf-8")
        moved = page.hand.get()
        folder.path.unlink()
        folder.path.with_name("moved").rename(folder.path)

    assert [each.status for each in (other, gone, broken, moved)] == [503] * 4
    assert "not the key that trading.toml names" in other.text
    assert "not TOML" in broken.text
    assert (folder.signature(new), folder.states()) == (None, NOTHING_SAID)


@pytest.mark.parametrize(
    "body", [b"", b"decision=maybe", b"decision=approve&decision=approve", b"a=1&b=2&c=3", b"\xff=\xfe", b"&&;=%zz"]
)
def test_what_is_no_decision_does_nothing(body: bytes, folder: TradingFolder) -> None:
    folder.approver()
    new = folder.waits()

    with served_page(folder, new) as page:
        page.hand.get()
        told = page.hand.raw(page.hand.written("POST", body, {"content_length": str(len(body))}))

    assert told.status == 400
    assert folder.states() == NOTHING_SAID


def test_requests_are_bounded_in_size(folder: TradingFolder) -> None:
    folder.approver()
    with served_page(folder, folder.waits()) as page:
        hand = page.hand
        long_body = hand.raw(hand.written("POST", b"x" * 5_000, {"content_length": "5000"}))
        endless = hand.raw(hand.written("POST", b"", {"content_length": None, "transfer_encoding": "chunked"}) + CHUNK)
        long_head = hand.get(cookie="x" * 22_000)

    assert [each.status for each in (long_body, endless, long_head)] == [413, 413, 431]


CHUNK = b"1388\r\n" + b"x" * 5_000 + b"\r\n"


def test_requests_are_bounded_in_time(folder: TradingFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_binance_server.cli.trading.page.http.REQUEST_SECS", 0.1)
    folder.approver()
    with served_page(folder, folder.waits()) as page, page.hand.line() as line:
        line.sendall(b"GET / HTTP/1.1\r\n")
        told = read(line)

    assert told.status == 408


def test_connections_are_bounded_in_number(folder: TradingFolder) -> None:
    folder.approver()
    with served_page(folder, folder.waits()) as page:
        idle = [page.hand.line() for _ in range(8)]
        for each in idle:
            each.sendall(b"GET")
        with page.hand.line() as ninth:
            assert ninth.recv(1) == b""  # closed unheard, as one too many
        for each in idle:
            each.close()
        told = served_again(page.hand)

    assert told.status == 200


def served_again(hand: Hand) -> Told:
    """Ask until those who left are noticed."""
    while True:
        with hand.line() as line:
            try:
                line.sendall(hand.written("GET", b"", {}))
                if line.recv(1, 2):  # a look at what is there: MSG_PEEK
                    return read(line)
            except ConnectionError:
                continue


def test_words_of_others_cannot_become_markup() -> None:
    badge = mode_badge("<b>", is_money=True)
    page = order_page(badge, [("order", "<script>1</script>"), ('"x', "a & <i>")], ["<u>"])

    assert not re.search(r"<(b|script|i|u)>", page)
    assert "&lt;script&gt;" in page
