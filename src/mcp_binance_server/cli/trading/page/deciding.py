"""Request handling of the approval page: access checks, pages and decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from hmac import compare_digest
from http import HTTPStatus
from secrets import token_urlsafe
from urllib.parse import parse_qs

import anyio
import anyio.to_thread

from mcp_binance_server.cli.trading.approve import approvers_of, holding, keep_signature, what_waits, whose_yes
from mcp_binance_server.cli.trading.host import CommandFailed, OpenJournal, TradingHost, exchange_host
from mcp_binance_server.cli.trading.page.html import Tone, mode_badge, notice_page, order_page
from mcp_binance_server.cli.trading.page.http import LOOPBACK, PageReply, PageRequest
from mcp_binance_server.cli.trading.passphrase import count_wrong, sealed_key
from mcp_binance_server.cli.trading.shown import order_line, staked, stopped_line, terms_rows
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.trading.approvals import MOST_WRONG, opened_public, sign
from mcp_binance_server.trading.journal.records import Waiting
from mcp_binance_server.trading.policy_file import policy_at

SECRET_BYTES = 32
FORM = "application/x-www-form-urlencoded"
COOKIE = "opened"
PAGE = "the approval page"
STOPPED = "Approved orders are placed only after: {resume}"
USED = "This address was used: {outcome}. An address is valid for one decision."
OVER = "The preview has expired, and nothing was sent. Ask the assistant to preview the order again."
ELSEWHERE = "It was approved, declined or placed elsewhere, or has expired. Nothing was done on this page."
OTHER_BROWSER = (
    "This address belongs to the browser that opened it first. If that was not you, stop trading: "
    "{stop}. In a terminal the order can still be approved: {approve}"
)
SAME = "same-origin"
GONE, FORBIDDEN = HTTPStatus.GONE, HTTPStatus.FORBIDDEN


@dataclass(eq=False)
class OneDecision:
    """State of the approval page. Only the order `one` can be shown or signed."""

    host: TradingHost
    one: Waiting
    port: int
    file: str | None = None
    """The approver's key file, if it is not the one in the trading folder."""
    secret: str = field(default_factory=lambda: token_urlsafe(SECRET_BYTES))
    over: anyio.Event = field(default_factory=anyio.Event)
    """Set after the decision."""
    _cookie: str = field(default_factory=lambda: token_urlsafe(SECRET_BYTES))
    _is_opened: bool = False
    _outcome: str = ""
    _turn: anyio.Lock = field(default_factory=anyio.Lock)

    def __repr__(self) -> str:
        return f"OneDecision({self.one.preview_id})"

    @property
    def origin(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def address(self) -> str:
        return f"{self.origin}/{self.secret}"

    @property
    def _order(self) -> str:
        return order_line(self.one.terms)

    @property
    def _badge(self) -> str:
        terms = self.one.terms
        mode = staked(terms, partial(exchange_host, self.host.settings))
        return mode_badge(mode, is_money=terms.mode == "live")

    async def answer(self, request: PageRequest) -> PageReply:
        """Answer one request at a time. A request that fails the access checks learns nothing about the order."""
        if (refusal := self._refusal(request)) is not None:
            return refusal
        async with self._turn:
            if not self._is_same_browser(request):
                text = OTHER_BROWSER.format(
                    stop=self.host.command("stop"), approve=self.host.command(f"approve {self.one.preview_id}")
                )
                return _notice(FORBIDDEN, "Opened in another browser", text)
            try:
                return await self._answer(request)
            except (CommandFailed, SettingsError, OSError) as problem:
                why = problem.message if isinstance(problem, SettingsError) else str(problem)
                return _notice(HTTPStatus.SERVICE_UNAVAILABLE, "Not possible now", why, "bad")

    def _refusal(self, request: PageRequest) -> PageReply | None:
        headers = request.headers
        if headers.get("host") != f"{LOOPBACK}:{self.port}":
            return _notice(HTTPStatus.MISDIRECTED_REQUEST, "Nothing here", "Unknown host name.")
        if not compare_digest(request.target.encode(), f"/{self.secret}".encode()):
            return _notice(HTTPStatus.NOT_FOUND, "Nothing here", "Unknown address.")
        if request.method not in ("GET", "POST"):
            return PageReply(HTTPStatus.METHOD_NOT_ALLOWED, "", (("Allow", "GET, POST"),))
        return self._foreign(headers, is_post=request.method == "POST")

    def _foreign(self, headers: Mapping[str, str], *, is_post: bool) -> PageReply | None:
        origins = (self.origin,) if is_post else (self.origin, None)
        if headers.get("origin") not in origins or (is_post and headers.get("sec-fetch-site", SAME) != SAME):
            return _notice(FORBIDDEN, "Nothing was done", "The request did not come from this page.", "bad")
        if is_post and headers.get("content-type") != FORM:
            return PageReply(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "")
        if "prefetch" in headers.get("sec-purpose", ""):  # This is a prefetch. The user has not opened the page.
            return PageReply(FORBIDDEN, "")
        return None

    def _is_same_browser(self, request: PageRequest) -> bool:
        """Return whether this is the browser that opened the address first.

        Other users can see the address in the process list.
        """
        if not self._is_opened and request.method == "GET":
            self._is_opened = True
            return True
        given = [each.strip() for each in request.headers.get("cookie", "").split(";")]
        return any(compare_digest(each.encode(), f"{COOKIE}={self._cookie}".encode()) for each in given)

    async def _answer(self, request: PageRequest) -> PageReply:
        if self._outcome:
            text = USED.format(outcome=self._outcome)
            return PageReply(GONE, notice_page("Decided already", f"{self._order}. {text}", badge=self._badge))
        if self.host.clock.now_ms() >= self.one.terms.expires_ms:
            return PageReply(GONE, notice_page("Too late", f"{self._order}. {OVER}", badge=self._badge))
        if request.method == "GET":
            return await self._shown()
        form = _form(request.body)
        match form.get("decision"):
            case ["decline"]:
                return await self._decline()
            case ["approve"]:
                return await self._approve("".join(form.get("passphrase", [])))
            case _:
                return _notice(HTTPStatus.BAD_REQUEST, "Nothing was done", "The request contains no decision.")

    async def _shown(self, *alerts: str, status: HTTPStatus = HTTPStatus.OK) -> PageReply:
        waiting, stops = await self.host.doing(what_waits)
        if not self._is_among(waiting):
            return self._ended("it was no longer waiting", "No longer waiting", ELSEWHERE)
        policy = policy_at(self.host.settings.trading_policy)
        stopped = STOPPED.format(resume=self.host.command("resume"))
        page = order_page(
            self._badge,
            terms_rows(self.one, policy, self.host.clock.now_ms()),
            alerts=(*alerts, *(f"{stopped_line(each)} {stopped}" for each in holding(stops, [self.one]))),
        )
        cookie = f"{COOKIE}={self._cookie}; Path=/{self.secret}; HttpOnly; SameSite=Lax"
        return PageReply(status, page, (("Set-Cookie", cookie),))

    async def _decline(self) -> PageReply:
        if not await self.host.doing(self._note_decline):
            return self._ended("it was no longer waiting", "No longer waiting", ELSEWHERE)
        return self._ended("it was declined", "Declined", "Nothing is sent, and the assistant is informed.")

    async def _approve(self, passphrase: str) -> PageReply:
        if not passphrase:
            return await self._shown("Enter your passphrase to approve.", status=FORBIDDEN)
        named = approvers_of(self.one, policy_at(self.host.settings.trading_policy), self.host)
        key = sealed_key(self.host, self.file)
        opened = await anyio.to_thread.run_sync(opened_public, key.sealed, passphrase)
        if opened is None:
            return await self._wrong()
        key.require_same(opened, named, whose_yes(self.one))
        signature = await anyio.to_thread.run_sync(sign, key.sealed, passphrase, self.one.terms, self.one.preview_id)
        left_ms = self.one.terms.expires_ms - self.host.clock.now_ms()
        if left_ms <= 0 or not await self.host.doing(partial(self._note_approval, signature)):
            return self._ended("it was no longer waiting", "No longer waiting", ELSEWHERE)
        text = f"Ask the assistant to place it again, within {left_ms // 1000} s. You can close this page."
        return self._ended("it was approved", "Approved", text, HTTPStatus.OK, "good")

    async def _wrong(self) -> PageReply:
        wrong = await self.host.doing(partial(count_wrong, by=PAGE))
        if wrong < MOST_WRONG:
            told = f"Wrong passphrase ({wrong} of {MOST_WRONG}; the last stops trading)."
            return await self._shown(told, status=FORBIDDEN)
        text = f"Nothing was approved. Orders are placed only after: {self.host.command('resume')}"
        told = f"{wrong} wrong passphrases: trading is stopped"
        return self._ended("trading was stopped", told, text, FORBIDDEN, "bad")

    def _ended(
        self, outcome: str, heading: str, text: str, status: HTTPStatus = HTTPStatus.OK, tone: Tone = "plain"
    ) -> PageReply:
        self._outcome = outcome
        self.over.set()
        return PageReply(status, notice_page(heading, f"{self._order}. {text}", tone, self._badge))

    def _is_among(self, waiting: list[Waiting]) -> bool:
        # Compare the terms with the terms shown. A modified journal must not substitute another order.
        awaited = (self.one.preview_id, self.one.terms, None)
        return any((each.preview_id, each.terms, each.signature) == awaited for each in waiting)

    async def _note_decline(self, journal: OpenJournal) -> bool:
        if not self._is_among(await journal.agreements.waiting(journal.now_ms())):
            return False
        await journal.agreements.decline(self.one.preview_id, self.one.visitor, journal.now_ms())
        return True

    async def _note_approval(self, signature: str, journal: OpenJournal) -> bool:
        is_there = self._is_among(await journal.agreements.waiting(journal.now_ms()))
        return is_there and await keep_signature(self.one, signature, journal)


def _notice(status: HTTPStatus, heading: str, text: str, tone: Tone = "plain") -> PageReply:
    return PageReply(status, notice_page(heading, text, tone))


def _form(body: bytes) -> dict[str, list[str]]:
    try:
        return parse_qs(body.decode("ascii"), keep_blank_values=True, strict_parsing=True, max_num_fields=2)
    except ValueError:
        return {}
