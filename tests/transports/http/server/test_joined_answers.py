"""The head of an answer and its body, as they leave for the socket."""

import h11
import pytest

from mcp_binance_server.transports.http.server.disconnect import JoinedAnswers

GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"


def asked(request: bytes = GET) -> JoinedAnswers:
    connection = JoinedAnswers(h11.SERVER)
    connection.receive_data(request)
    while connection.next_event() not in (h11.NEED_DATA, h11.PAUSED) and connection.their_state is not h11.DONE:
        pass
    return connection


def head(*headers: tuple[bytes, bytes], status: int = 200) -> h11.Response:
    return h11.Response(status_code=status, headers=[*headers], reason=b"")


def test_a_head_that_says_a_length_goes_out_with_the_body() -> None:
    connection = asked()

    first = connection.send(head((b"content-length", b"2")))
    second = connection.send(h11.Data(data=b"hi"))

    assert (first, second) == (b"", b"HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nhi")
    assert connection.send(h11.EndOfMessage()) == b""


def test_the_head_of_a_stream_goes_out_at_once() -> None:
    connection = asked()

    assert connection.send(head((b"content-type", b"text/event-stream")))
    assert connection.send(h11.Data(data=b"hi")) == b"2\r\nhi\r\n"


@pytest.mark.parametrize("request_", [GET, GET.replace(b"GET", b"HEAD")])
def test_a_head_without_a_body_goes_out_with_the_end(request_: bytes) -> None:
    connection = asked(request_)

    first = connection.send(head((b"content-length", b"0")))
    second = connection.send(h11.EndOfMessage())

    assert (first, second) == (b"", b"HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n")


def test_the_next_answer_on_a_connection_has_its_own_head() -> None:
    connection = asked()
    for event in (head((b"content-length", b"1")), h11.Data(data=b"a"), h11.EndOfMessage()):
        connection.send(event)
    connection.start_next_cycle()
    connection.receive_data(GET)
    connection.next_event()

    connection.send(head((b"content-length", b"1")))

    assert connection.send(h11.Data(data=b"b")) == b"HTTP/1.1 200 \r\ncontent-length: 1\r\n\r\nb"
