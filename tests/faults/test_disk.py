"""Nothing of a caller is kept on disk: a server that answers everything opens no file to write."""

import pytest

from mcp_binance_server.surface.catalogue import CATALOGUE
from support.answers import EXAMPLES
from support.process import Process
from support.requirement import requirement

WATCHED = """
import sys
FLAGS = 1 | 2 | 64 | 512 | 1024  # write-only, read-write, create, truncate, append
def watch(event, arguments):
    # A number is a pipe that is open already.
    if event == "open" and not isinstance(arguments[0], int) and isinstance(arguments[2], int) and arguments[2] & FLAGS:
        sys.stderr.write(f"WRITES {arguments[0]}\\n")
    if event in {"os.mkdir", "os.rename", "os.remove"}:
        sys.stderr.write(f"WRITES {event} {arguments[0]}\\n")
sys.dont_write_bytecode = True
sys.addaudithook(watch)
open("/dev/null", "w").close()  # shows that the watch is awake
from mcp_binance_server.cli.main import main
sys.exit(main(["demo"]))
"""

# What trades keeps a journal: that is another page's test.
READS_ONLY = {"MCP_BINANCE_TOOLSETS": ",".join(sorted({spec.toolset for spec in CATALOGUE.tools}))}


@pytest.mark.night
@requirement("data-model/in-memory")
def test_no_page_prompt_or_tool_writes_a_file() -> None:
    with Process(code=WATCHED, environment=READS_ONLY) as server:
        server.shake_hands()
        for spec in CATALOGUE.resources:
            assert "result" in server.ask(spec.uri, "resources/read", {"uri": spec.uri})
        for prompt in CATALOGUE.prompts:
            arguments = {"symbol": "BTCUSDT"} if "symbol" in prompt.arguments.model_fields else {}
            assert "result" in server.ask(prompt.name, "prompts/get", {"name": prompt.name, "arguments": arguments})
        for tool in CATALOGUE.tools:
            answer = server.ask(tool.name, "tools/call", {"name": tool.name, "arguments": EXAMPLES[tool.name][0]})
            assert not answer["result"].get("isError"), f"{tool.name} refused: nothing of it was run"
        server.close_input()
        server.wait()

    written = [line for line in server.errors.read_text().splitlines() if line.startswith("WRITES")]
    assert any("/dev/null" in line for line in written)
    # Whoever measures the coverage of this test writes too.
    assert [line for line in written if "/dev/null" not in line and "coverage" not in line] == []
