"""Output in encodings that lack a character: redirected on Windows (cp1252), or in a C locale (ASCII)."""

import io
import json
import subprocess
import sys

import pytest

from mcp_binance_server.cli.main import main
from mcp_binance_server.cli.terminal import escape_unencodable
from support.process import COMMAND, PATIENCE_SECS, Process, clean_environment

ENCODINGS = ("cp1252", "ascii")
NAME = "größe → 📈.yaml"
SEEN_BY = {"cp1252": "größe \\u2192 \\ud83d\\udcc8.yaml", "ascii": "gr\\u00f6\\u00dfe \\u2192 \\ud83d\\udcc8.yaml"}


def redirected(encoding: str) -> dict[str, str]:
    """Return the environment of a command whose output goes to a file on Windows, or in a C locale."""
    return clean_environment({"PYTHONUTF8": "0", "PYTHONIOENCODING": encoding})


def run(encoding: str, *arguments: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [*COMMAND, *arguments],
        input=given,
        capture_output=True,
        timeout=PATIENCE_SECS,
        check=False,
        env=redirected(encoding),
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_stream_escapes_what_its_encoding_lacks_as_json_does(encoding: str) -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding=encoding)

    escape_unencodable(stream)
    stream.write(json.dumps({"name": NAME, "byte": "\udcff"}, ensure_ascii=False))
    stream.flush()

    assert SEEN_BY[encoding].encode(encoding) in written.getvalue()
    assert json.loads(written.getvalue().decode(encoding)) == {"name": NAME, "byte": "\udcff"}


def test_a_stream_in_utf_8_stays_as_it_is() -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="utf-8")

    escape_unencodable(stream)
    stream.write(NAME)
    stream.flush()

    assert written.getvalue() == NAME.encode()


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["ask", "--help"], ["approve", "--help"], ["ask", NAME], ["guide", "check", NAME], [NAME]],
    ids=lambda arguments: "-".join(arguments).encode("ascii", "ignore").decode(),
)
def test_no_command_ends_for_want_of_a_character(
    arguments: list[str], encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, errors = io.BytesIO(), io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding=encoding))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(errors, encoding=encoding))

    try:
        code = main(arguments)
    except SystemExit as left:
        code = left.code

    assert code in (0, 1, 2)
    assert len((out.getvalue() + errors.getvalue()).decode(encoding)) > 20


@pytest.mark.parametrize(
    ("encoding", "arguments", "code"),
    [
        ("ascii", ["--help"], 0),
        ("cp1252", ["guide", "check", NAME], 1),
        ("ascii", ["doctor"], 1),
        ("cp1252", ["setup", "--client", "zed", "--dry-run"], 0),
        ("ascii", ["setup", "--client", NAME], 2),
    ],
    ids=["help", "guide", "doctor", "setup", "setup-nonsense"],
)
def test_redirected_output_has_no_traceback(encoding: str, arguments: list[str], code: int) -> None:
    done = run(encoding, *arguments)

    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
    done.stdout.decode(encoding)
    done.stderr.decode(encoding)


@pytest.mark.night
def test_an_answer_as_json_stays_json_and_what_is_piped_in_is_utf_8() -> None:
    chart = json.dumps({"symbol": "BINANCE:BTCUSDT", "interval": "1h", "theme": "größe → 📈"}, ensure_ascii=False)

    done = run("cp1252", "ask", "--demo", "--json", "validate_chart_config", "@-", given=chart.encode())

    answer = json.loads(done.stdout.decode("cp1252"))
    assert b"Traceback" not in done.stderr
    assert "größe → 📈" in json.dumps(answer, ensure_ascii=False)


@pytest.mark.night
def test_a_client_on_a_pipe_is_spoken_to_in_utf_8_whatever_the_locale() -> None:
    question = {"name": "validate_chart_config", "arguments": {"config": {"theme": "größe → 📈"}}}

    with Process("demo", environment={"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}) as process:
        process.shake_hands()
        answer = process.ask(2, "tools/call", question)
        process.close_input()
        code = process.wait()

    assert code == 0
    assert "größe → 📈" in json.dumps(answer, ensure_ascii=False)
    assert "Traceback" not in process.errors.read_text("ascii", errors="replace")
