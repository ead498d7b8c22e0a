"""What leaves the process as text holds no secret, and one record is one line."""

import json
import logging

import pytest

from mcp_binance_server.telemetry.logs import LONGEST_LINE, JsonFormatter, LineFormatter, Redactor, configure_logging

SECRET = "0123456789abcdef" * 4


def formatted(message: str, *arguments: object) -> str:
    record = logging.LogRecord("test", logging.INFO, __file__, 1, message, arguments, None)
    return LineFormatter(Redactor([SECRET])).format(record)


def test_a_known_secret_is_cut_out() -> None:
    assert SECRET not in formatted("key is %s", SECRET)
    assert "[hidden]" in formatted("key is %s", SECRET)


def test_a_signature_is_cut_out_although_nobody_registered_it() -> None:
    shown = formatted("GET /api/v3/account?timestamp=1&signature=c8db56825ae71d6d79447849e617115f4a920fa2&x=1")

    assert shown.endswith("?timestamp=1&signature=[hidden]&x=1")


def test_every_line_of_a_pem_is_a_secret() -> None:
    pem = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhA\n-----END PRIVATE KEY-----"

    assert "MC4CAQAw" not in Redactor([pem]).redact("read MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhA")


def test_a_record_cannot_forge_a_second_line_or_colours() -> None:
    shown = formatted("one\ntwo\x1b[31m\u202e")

    assert "\n" not in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_long_record_is_cut() -> None:
    assert len(formatted("x" * 10 * LONGEST_LINE)) == LONGEST_LINE + 1


def fail_deeply(depth: int) -> None:
    if depth:
        fail_deeply(depth - 1)
    try:
        raise ConnectionResetError(f"{SECRET} was refused")
    except OSError as cause:
        raise ValueError("y" * 3_000 + SECRET) from cause


def test_the_cause_of_an_error_is_kept_however_long_the_way_to_it() -> None:
    with pytest.raises(ValueError, match="yyy") as caught:
        fail_deeply(60)
    failure = ExceptionGroup[Exception]("unhandled", [caught.value])
    record = logging.LogRecord("t", logging.ERROR, "", 1, "it failed", (), (ExceptionGroup, failure, None))

    shown = LineFormatter(Redactor([SECRET])).format(record)

    assert "it failed [ValueError: yyy" in shown
    assert " < ConnectionResetError: [hidden] was refused] …" in shown
    assert len(shown) < LONGEST_LINE + 1_000
    assert (SECRET[:9] in shown, "\n" in shown) == (False, False)


def test_an_error_without_a_cause_is_told_with_its_way() -> None:
    failure = KeyError("x")
    record = logging.LogRecord("t", logging.ERROR, "", 1, "it failed", (), (KeyError, failure, None))

    assert LineFormatter(Redactor([])).format(record).endswith("t: it failed [KeyError: 'x'] KeyError: 'x'")


def test_a_redactor_does_not_show_what_it_hides() -> None:
    assert SECRET[:9] not in repr(Redactor([SECRET]))


def test_signed_addresses_that_libraries_log_do_not_reach_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    try:
        configure_logging("DEBUG", [SECRET])
        logging.getLogger("httpx2").info("HTTP Request: GET http://x/?signature=abc")
        logging.getLogger("anything").debug("the key %s", SECRET)
    finally:
        root.setLevel(before[0])
        root.handlers[:] = before[1]

    shown = capsys.readouterr().err
    assert "HTTP Request" not in shown
    assert "the key [hidden]" in shown


def as_object(message: str, *arguments: object, error: Exception | None = None) -> tuple[str, dict[str, str]]:
    told = (type(error), error, None) if error else None
    record = logging.LogRecord("test", logging.ERROR, __file__, 1, message, arguments, told)
    line = JsonFormatter(Redactor([SECRET])).format(record)
    return line, json.loads(line)


def test_a_record_as_json_is_one_ascii_line_with_its_fields() -> None:
    line, told = as_object("one\ntwo\x1b[31m\u202e\u2028 %s", "Grüße")

    assert line.isascii()
    assert line.isprintable()
    assert told["message"] == "one\ntwo\x1b[31m\u202e\u2028 Grüße"
    assert (told["level"], told["logger"]) == ("ERROR", "test")
    assert told["time"].endswith("+00:00")


def test_a_record_as_json_holds_no_secret_not_even_of_an_exception() -> None:
    line, told = as_object("the key %s", SECRET, error=ValueError(f"GET /?signature=abc {SECRET}"))

    assert SECRET not in line
    assert told["message"] == "the key [hidden]"
    assert told["exception"].endswith("ValueError: GET /?signature=[hidden] [hidden]")


def test_a_long_record_as_json_is_cut_and_still_json() -> None:
    _, told = as_object("x" * 10 * LONGEST_LINE, error=ValueError("y" * 10 * LONGEST_LINE))

    assert len(told["message"]) == LONGEST_LINE + 1
    assert len(told["exception"]) == LONGEST_LINE
