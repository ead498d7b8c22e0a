"""A page that a client opens for its user: what is offered, what a reply means, and what the address is kept out of."""

import json

import pytest
from mcp import types

from mcp_binance_server.surface.confirm import Able, AnswerNeeded, PageLink, Question, RoundAsker

pytestmark = pytest.mark.anyio

PAGE = PageLink("preview-1", "Decide about one order", "https://127.0.0.1:8000/approve/one-time-address")
QUESTION = Question("preview-1", "Place it?", "place this order", "do not place it")
BOTH = Able(forms=True, pages=True)


@pytest.mark.parametrize(
    ("reply", "decision"),
    [
        (types.ElicitResult(action="accept"), "yes"),
        (types.ElicitResult(action="decline"), "no"),
        (types.ElicitResult(action="cancel"), "unanswered"),
        (None, "unanswered"),
        ({"action": "accept"}, "unanswered"),
    ],
)
async def test_a_reply_to_a_page_is_a_yes_a_no_or_no_answer(reply: object, decision: str) -> None:
    asker = RoundAsker(BOTH, {"page": reply}, PAGE.state)  # type: ignore[dict-item] # also what is no reply

    assert PAGE.decided_by(reply) == decision
    assert await asker.show(PAGE) == decision


async def test_a_client_that_shows_no_pages_or_no_forms_is_not_asked_in_that_way() -> None:
    no_pages = RoundAsker(Able(forms=True, pages=False), {}, None)
    no_forms = RoundAsker(Able(forms=False, pages=True), {}, None)

    assert await no_pages.show(PAGE) == "impossible"
    assert await no_forms.ask(QUESTION) == "impossible"
    with pytest.raises(AnswerNeeded):
        await no_pages.ask(QUESTION)
    with pytest.raises(AnswerNeeded):
        await no_forms.show(PAGE)


@pytest.mark.parametrize(
    ("replies", "state"),
    [({}, PAGE.state), ({"confirm": types.ElicitResult(action="accept")}, PAGE.state), ({}, None)],
)
async def test_a_page_that_was_not_offered_or_not_answered_is_offered(
    replies: dict[str, types.ElicitResult], state: str | None
) -> None:
    with pytest.raises(AnswerNeeded) as caught:
        await RoundAsker(BOTH, {**replies}, state).show(PAGE)

    assert caught.value.question == PAGE


async def test_an_answer_to_another_page_counts_for_nothing() -> None:
    other = PageLink("preview-2", PAGE.message, PAGE.url)
    accepted = types.ElicitResult(action="accept")

    with pytest.raises(AnswerNeeded):
        await RoundAsker(BOTH, {"page": accepted}, other.state).show(PAGE)


def test_a_page_is_offered_by_its_address_which_is_in_no_other_text() -> None:
    result = AnswerNeeded(PAGE).result

    assert result.input_requests is not None
    (request,) = result.input_requests.values()
    assert [*result.input_requests] == ["page"]
    assert isinstance(request, types.ElicitRequest)
    assert isinstance(request.params, types.ElicitRequestURLParams)
    assert (request.params.message, request.params.url) == (PAGE.message, PAGE.url)
    assert result.request_state == PAGE.state
    assert json.loads(PAGE.state) == {"page": "preview-1", "message": "Decide about one order"}
    assert "one-time-address" not in PAGE.state + repr(PAGE) + str(AnswerNeeded(PAGE))


def test_a_question_is_known_by_another_key_than_a_page() -> None:
    result = AnswerNeeded(QUESTION).result

    assert result.input_requests is not None
    assert ([*result.input_requests], result.request_state) == (["confirm"], QUESTION.state)
