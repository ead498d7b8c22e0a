"""The generated files are those of the contract, and the extra asks for libraries that can read them."""

import re
import subprocess
import tomllib
from importlib.util import find_spec
from pathlib import Path

import grpc
import pytest

import mcp_binance_server
from mcp_binance_server.transports.proto import provider_pb2
from mcp_binance_server.transports.proto.provider_pb2_grpc import ProviderStub

ROOT = Path(__file__).parents[3]
PROTO = Path(mcp_binance_server.__file__).parent / "transports" / "proto"
GENERATED = ("provider_pb2.py", "provider_pb2.pyi")


@pytest.mark.skipif(find_spec("grpc_tools") is None, reason="grpcio-tools is not installed")
def test_the_generated_files_are_up_to_date(tmp_path: Path) -> None:
    subprocess.run([str(ROOT / "scripts" / "protos"), str(tmp_path)], check=True, timeout=60)

    for name in GENERATED:
        fresh = (tmp_path / "mcp_binance_server" / "transports" / "proto" / name).read_text(encoding="utf-8")
        assert (PROTO / name).read_text(encoding="utf-8") == fresh, "run scripts/protos"


def test_the_extra_asks_for_nothing_older_than_the_tools_that_generated() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    messages = (PROTO / "provider_pb2.py").read_text(encoding="utf-8")
    protobuf_version = re.search(r"Protobuf Python Version: (.+)", messages)

    assert protobuf_version is not None
    assert f"protobuf>={protobuf_version[1]}" in extra["grpc"]


def test_the_stub_has_every_call_of_the_contract() -> None:
    proto = (PROTO / "provider.proto").read_text(encoding="utf-8")

    with grpc.insecure_channel("127.0.0.1:1") as channel:
        assert list(vars(ProviderStub(channel))) == re.findall(r"rpc (\w+)\(", proto)


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
