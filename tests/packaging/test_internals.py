"""What we use of other people's code that they do not promise to keep: each place by name, and bound from above.

Two scans find them: names with a leading underscore on what is not ours, and what our classes take over from theirs.
"""

import ast
import inspect
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import mcp_binance_server
from mcp_binance_server.state.redis.keys import RedisWire

ROOT = Path(__file__).parents[2]
PACKAGE = Path(mcp_binance_server.__file__).parent
SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if "_pb2" not in path.name and path.name != "__main__.py")

# Members with an underscore, by their owner.
PRIVATE = {
    "argparse:ArgumentParser": {"_actions"},
    "mcp.server.session:ServerSession": {"_connection"},
    "uvicorn.protocols.http.h11_impl:H11Protocol": {"_unset_keepalive_if_required"},
}
# These have an underscore and are documented all the same.
DOCUMENTED = {"_exit": "os", "_fields": "collections", "_make": "collections", "_replace": "collections"}
# Members without one that our subclasses read or replace; the classes are no interface of their libraries either.
TAKEN_OVER = {
    "h11:Connection": {"send_with_data_passthrough"},
    "uvicorn.server:Server": {"handle_exit", "startup"},
    "uvicorn.protocols.http.h11_impl:H11Protocol": {
        "client", "connection_lost", "connection_made", "cycle", "data_received", "flow", "headers",
        "loop", "on_response_complete", "pause_writing", "resume_writing", "scheme", "scope", "send_400_response",
        "shutdown",
    },
}  # fmt: skip
# Records of these, a transport and a collector of figures are made by subclassing, as their documentation says.
MADE_BY_SUBCLASSING = {"httpx2", "msgspec", "prometheus_client", "pydantic", "pydantic_settings"}
BOUND = {"h11", "mcp", "redis", "uvicorn"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


@cache
def nodes() -> list[ast.AST]:
    """Return what names or reads something, of all files."""
    kinds = (
        ast.Attribute,
        ast.Name,
        ast.Call,
        ast.Import,
        ast.ImportFrom,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
    )
    return [node for tree in trees().values() for node in ast.walk(tree) if isinstance(node, kinds)]


def own_names() -> set[str]:
    """Return every name with an underscore that our code gives to something."""
    found: set[str] = set()
    for node in nodes():
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(ast.Name("self" | "cls"), name, ast.Store()):
                found.add(name)
            case _:
                pass
    return set(filter(is_private, found))


def is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}


def private_names() -> Iterator[str]:
    """Yield what is read with an underscore from something that is not ours, or imported so."""
    own = own_names()
    for node in nodes():
        match node:
            case ast.Attribute(attr=name) if is_private(name) and not (is_self(node) and name in own):
                yield name
            case ast.Call(ast.Name("getattr" | "hasattr" | "setattr"), [_, ast.Constant(str(name)), *_]) if is_private(
                name
            ):
                yield name
            case ast.ImportFrom(module=str(module)) if not module.startswith("mcp_binance_server"):
                names = [*module.split("."), *(alias.name for alias in node.names)]
                yield from (f"{module}:{name}" for name in names if is_private(name))
            case ast.Import():
                yield from (alias.name for alias in node.names if any(map(is_private, alias.name.split("."))))
            case _:
                pass


def taken_over() -> dict[str, set[str]]:
    """Return what our classes use or replace of the classes of others that they extend."""
    found: dict[str, set[str]] = {}
    for path, tree in trees().items():
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.bases]
        for node in classes:
            ours = getattr(import_module(module_of(path)), node.name)
            theirs = [
                each
                for each in ours.__mro__
                if library_of(each) not in {*sys.stdlib_module_names, "mcp_binance_server"}
            ]
            if theirs and library_of(theirs[0]) not in MADE_BY_SUBCLASSING:
                found.setdefault(address(theirs[0]), set()).update(members_used(node, ours, theirs))
    return found


def members_used(node: ast.ClassDef, ours: type, theirs: list[type]) -> set[str]:
    selves = [each for each in ast.walk(node) if isinstance(each, ast.Attribute) and is_self(each)]
    own = {each.attr for each in selves if isinstance(each.ctx, ast.Store)} | set(vars(ours))
    replaced = {name for name in vars(ours) if any(name in vars(each) for each in theirs) and not name.startswith("__")}
    return {each.attr for each in selves} - own | replaced


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def library_of(owner: type) -> str:
    return owner.__module__.split(".")[0]


def address(owner: type) -> str:
    public = "h11" if owner.__module__.startswith("h11.") else owner.__module__
    return f"{public}:{owner.__name__}"


def owner_at(where: str) -> type:
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)


def has(owner: type, name: str) -> bool:
    """Tell whether the class has the member, or gives it to its instances."""
    if hasattr(owner, name):
        return True
    sources = [textwrap.dedent(inspect.getsource(each)) for each in owner.__mro__ if each is not object]
    found = [node for source in sources for node in ast.walk(ast.parse(source))]
    return any(isinstance(node, ast.Attribute) and is_self(node) and node.attr == name for node in found)


def requirements() -> dict[str, Requirement]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines: list[str] = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    return {each.name: each for each in map(Requirement, lines)}


@pytest.mark.night
def test_every_private_name_that_we_use_is_named_here() -> None:
    named = set[str]().union(*PRIVATE.values(), DOCUMENTED)

    assert set(private_names()) == named


@pytest.mark.night
def test_everything_that_our_classes_take_over_is_named_here() -> None:
    named = {owner: TAKEN_OVER.get(owner, set()) | PRIVATE.get(owner, set()) for owner in TAKEN_OVER}

    assert taken_over() == named


@pytest.mark.parametrize(
    ("owner", "name"),
    [(owner, name) for names in (PRIVATE, TAKEN_OVER) for owner in names for name in sorted(names[owner])],
)
def test_each_is_there_in_the_installed_release(owner: str, name: str) -> None:
    assert has(owner_at(owner), name)


def test_a_member_that_nobody_has_is_not_found() -> None:
    assert not has(owner_at("uvicorn.protocols.http.h11_impl:H11Protocol"), "no_such_member")


def test_the_connections_of_the_state_server_are_called_as_they_are_written() -> None:
    theirs = owner_at("redis.asyncio.connection:AbstractConnection")
    ours = {name: member for name, member in vars(RedisWire).items() if inspect.isfunction(member) and name[0] != "_"}

    assert sorted(ours) == ["can_read", "connect", "disconnect", "on_connect", "read_response", "send_command"]
    for name, member in ours.items():
        asked = inspect.signature(member).parameters.values()
        given = inspect.signature(getattr(theirs, name)).parameters
        named = [each.name for each in asked if each.kind is not inspect.Parameter.VAR_POSITIONAL]
        takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in given.values())
        assert takes_any or [each for each in named if each not in given] == [], name
    assert isinstance(inspect.getattr_static(theirs, "is_connected"), property)


@pytest.mark.parametrize("library", sorted(BOUND))
def test_the_next_minor_release_of_such_a_library_is_not_let_in_untried(library: str) -> None:
    (bound,) = [Version(each.version) for each in requirements()[library].specifier if each.operator == "<"]
    installed = Version(version(library))

    assert installed < bound <= Version(f"{installed.major}.{installed.minor + 1}")


def test_every_library_whose_internals_are_used_is_bound() -> None:
    used = {owner.partition(":")[0].partition(".")[0] for owner in (*PRIVATE, *TAKEN_OVER)}

    assert used - sys.stdlib_module_names | {"redis"} == BOUND
