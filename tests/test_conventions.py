"""Rules of safety and structure that a linter cannot check."""

import ast
import re
import tomllib
from dataclasses import fields
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

import binance_simulator
import mcp_binance_server
from mcp_binance_server import errors
from mcp_binance_server.exchange.endpoints import RestCall, WriteCall
from mcp_binance_server.exchange.spot.endpoints import ENDPOINTS, WRITES

ROOT = Path(__file__).parent.parent
PACKAGE = Path(mcp_binance_server.__file__).parent
SIMULATOR = Path(binance_simulator.__file__).parent
TESTS = Path(__file__).parent
EXCHANGE = PACKAGE / "exchange"
FORBIDDEN_PATHS = re.compile(
    r"withdraw|transfer|margin|borrow|loan|capital|convert|fapi.*order|dapi|papi|eapi|sub-account",
    re.IGNORECASE,
)
METERS = re.compile(r"\b(perf_counter|process_time|thread_time|tracemalloc|getrusage|\w*resident_\w+|VmHWM)\b")
# These read a clock to wait or to make work; they judge nothing by it.
READ_TO_WAIT = (
    "transports/http/test_probes.py",
    "transports/http/server/test_serving.py",
    "transports/http/server/test_fairness.py",
)

# Loaded after the first answer to a client.
LATE = ("surface.tools", "surface.catalogue", "surface.dispatch", "services", "app")
# Versions below these have known holes.
FLOORS = {
    "mcp": "2.3",
    "starlette": "1.0",
    "cryptography": "45",
    "uvicorn": "0.40",
    "h11": "0.16",
    "PyJWT": "2.14",
    "msgspec": "0.21",
}


def contract(name: str) -> dict[str, Any]:
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    return next(each for each in configured["contracts"] if each["name"].startswith(name))


def test_a_client_is_greeted_before_the_app_is_loaded() -> None:
    tree = ast.parse((PACKAGE / "surface/server.py").read_text(encoding="utf-8"))
    imported = {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}

    late = tuple(f"mcp_binance_server.{each}" for each in LATE)
    assert [each for each in imported if each.startswith(late)] == []


def test_money_in_the_domain_is_never_a_float() -> None:
    for path in (PACKAGE / "domain").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_float = isinstance(node, ast.Constant) and isinstance(node.value, float)
            assert not is_float, path
            assert not (isinstance(node, ast.Name) and node.id == "float"), path


def test_every_module_opens_with_a_docstring() -> None:
    for path in [*PACKAGE.rglob("*.py"), *SIMULATOR.rglob("*.py")]:
        if not path.name.endswith("_pb2.py"):
            assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_orders_leave_through_one_door() -> None:
    door = contract("Orders leave through one door")

    assert door["protected_modules"] == ["mcp_binance_server.exchange.spot.orders"]
    assert set(door["allowed_importers"]) == {"mcp_binance_server.trading.spot", "mcp_binance_server.trading_assembly"}


def calls_to_binance() -> list[RestCall]:
    """Return every call that any module of the exchange's side knows."""
    modules = [f"mcp_binance_server.exchange.{each}" for each in ("endpoints", "spot.endpoints", "futures.endpoints")]
    found = [held for module in modules for held in vars(import_module(module)).values()]
    return [each for each in found if isinstance(each, RestCall)]


def texts_in(path: Path) -> list[str]:
    """Return every text in a file that is no docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    explained = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in explained]
    return [node.value for node in constants if isinstance(node.value, str)]


def test_every_call_that_is_no_get_is_in_one_table() -> None:
    writes = [each for each in calls_to_binance() if isinstance(each, WriteCall)]

    assert sorted((each.method, each.path) for each in WRITES) == [
        ("DELETE", "/api/v3/order"),
        ("DELETE", "/api/v3/orderList"),
        ("POST", "/api/v3/order"),
        ("POST", "/api/v3/order/cancelReplace"),
        ("POST", "/api/v3/order/test"),
        ("POST", "/api/v3/orderList/oco"),
        ("POST", "/api/v3/orderList/opo"),
        ("POST", "/api/v3/orderList/opoco"),
        ("POST", "/api/v3/orderList/oto"),
        ("POST", "/api/v3/orderList/otoco"),
        ("PUT", "/api/v3/order/amend/keepPriority"),
    ]
    assert {(each.method, each.path) for each in writes} == {(each.method, each.path) for each in WRITES}
    assert not {WriteCall} & {type(each) for each in ENDPOINTS}
    made = {path for path in EXCHANGE.rglob("*.py") if "WriteCall(" in path.read_text(encoding="utf-8")}
    assert {path.relative_to(EXCHANGE).as_posix() for path in made} == {"endpoints.py", "spot/endpoints.py"}


def test_no_call_withdraws_transfers_borrows_or_trades_anything_but_spot() -> None:
    assert [each.path for each in calls_to_binance() if FORBIDDEN_PATHS.search(each.path)] == []
    assert {each.path for each in calls_to_binance() if each.root.startswith("/sapi")} == {
        "/sapi/v1/account/apiRestrictions"
    }
    for path in EXCHANGE.rglob("*.py"):
        addressed = [text for text in texts_in(path) if "/" in text and not text.startswith("https://developers.")]
        assert [text for text in addressed if FORBIDDEN_PATHS.search(text)] == [], path


def test_a_write_leaves_in_one_place_and_once() -> None:
    senders = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"channel\.write\(", path.read_text(encoding="utf-8"))
    }
    source = (EXCHANGE / "spot/orders.py").read_text(encoding="utf-8")
    nodes = [*ast.walk(ast.parse(source))]

    assert senders == {"exchange/spot/orders.py"}
    assert source.count(".write(") == 1
    assert not re.search(r"retry|retries|stamina|again_|backoff", source, re.IGNORECASE)
    # What is not repeated cannot be sent twice.
    assert not [node for node in nodes if isinstance(node, (ast.For, ast.AsyncFor, ast.While))]
    imported = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    imported |= {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    assert not {"stamina", "tenacity", "httpx2", "mcp_binance_server.state.flight"} & imported


def test_a_read_of_binance_is_a_get_and_leaves_in_one_place() -> None:
    asked = {
        (path.relative_to(EXCHANGE).as_posix(), method)
        for path in EXCHANGE.rglob("*.py")
        for method in re.findall(r"channel\.(\w+)\(", path.read_text(encoding="utf-8"))
    }

    assert asked == {
        ("attempt.py", "get"),
        ("spot/orders.py", "prepare_writes"),
        ("spot/orders.py", "write"),
    }


def test_the_methods_that_change_something_are_named_in_one_file_of_the_exchange() -> None:
    named = {
        path.relative_to(EXCHANGE).as_posix()
        for path in EXCHANGE.rglob("*.py")
        if {"POST", "PUT", "DELETE", "PATCH"} & set(texts_in(path))
    }

    assert named == {"endpoints.py", "spot/endpoints.py"}


def test_time_processor_and_memory_are_judged_by_benchmarks_only() -> None:
    readers = {
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("test_*.py")
        if METERS.search(path.read_text(encoding="utf-8"))
    }

    assert readers - {Path(__file__).name, *READ_TO_WAIT} == set(), "what is measured belongs into benchmarks/"


def test_every_error_is_drawn_in_the_tree_and_can_be_read_by_a_program() -> None:
    drawn = errors.__doc__ or ""

    def below(kind: type[errors.AppError]) -> list[type[errors.AppError]]:
        return [each for child in kind.__subclasses__() for each in (child, *below(child))]

    for kind in below(errors.AppError):
        assert kind.__name__ in drawn
        assert kind.error_type != errors.AppError.error_type
        assert "data" not in {item.name for item in fields(kind)}


def test_no_pattern_has_a_possessive_group() -> None:
    possessive = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+")

    # Python before 3.11.5 goes on after what such a group took before it failed: https://github.com/python/cpython/issues/100061
    assert possessive.search(r"(?:\.[0-9]+)?+")
    assert [file.name for file in PACKAGE.rglob("*.py") if possessive.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "module",
    [
        "mcp_binance_server.settings",
        "mcp_binance_server.surface.catalogue",
        "mcp_binance_server.app",
        "binance_simulator.control",
    ],
)
def test_importing_does_nothing(module: str, recwarn: pytest.WarningsRecorder) -> None:
    import_module(module)

    assert list(recwarn) == []


@pytest.mark.parametrize(("distribution", "floor"), FLOORS.items())
def test_no_dependency_is_older_than_its_last_known_hole(distribution: str, floor: str) -> None:
    assert Version(version(distribution)) >= Version(floor)
