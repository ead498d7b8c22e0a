"""The generated files are those of the contract, and the extra asks for libraries that can read them."""

import re
import subprocess
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import mcp_binance_server
from mcp_binance_server.transports.proto import provider_pb2

ROOT = Path(__file__).parents[3]
PROTO = Path(mcp_binance_server.__file__).parent / "transports" / "proto"
GENERATED = ("provider_pb2.py", "provider_pb2.pyi", "provider_pb2_grpc.py")


@pytest.mark.skipif(find_spec("grpc_tools") is None, reason="grpcio-tools is not installed")
def test_the_generated_files_are_up_to_date(tmp_path: Path) -> None:
    subprocess.run([str(ROOT / "scripts" / "protos"), str(tmp_path)], check=True, timeout=60)

    for name in GENERATED:
        fresh = (tmp_path / "mcp_binance_server" / "transports" / "proto" / name).read_text(encoding="utf-8")
        assert (PROTO / name).read_text(encoding="utf-8") == fresh, "run scripts/protos"


def test_the_extra_asks_for_nothing_older_than_the_tools_that_generated() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    stub, messages = (
        (PROTO / name).read_text(encoding="utf-8") for name in ("provider_pb2_grpc.py", "provider_pb2.py")
    )
    grpc_version = re.search(r"GRPC_GENERATED_VERSION = '(.+)'", stub)
    protobuf_version = re.search(r"Protobuf Python Version: (.+)", messages)

    assert grpc_version is not None
    assert protobuf_version is not None
    assert f"grpcio>={grpc_version[1]}" in extra["grpc"]
    assert f"protobuf>={protobuf_version[1]}" in extra["grpc"]


def test_field_numbers_never_change() -> None:
    """A number that meant something else yesterday would be read wrongly and without a word; new ones go at the end."""
    numbers = {
        message.name: {field.name: field.number for field in message.fields}
        for message in provider_pb2.DESCRIPTOR.message_types_by_name.values()
    }

    assert numbers["InvokeRequest"] == {"tool": 1, "arguments_json": 2}
    assert numbers["InvokeResponse"] == {"text": 1, "structured_json": 2, "is_error": 3, "attachments": 4}
    assert numbers["StreamRequest"] == {"symbols": 1, "kinds": 2, "limits": 3}
    assert list(numbers["CloudEvent"].items()) == [
        (name, place)
        for place, name in enumerate(
            ("id", "source", "specversion", "type", "subject", "time", "datacontenttype", "data"), 1
        )
    ]
