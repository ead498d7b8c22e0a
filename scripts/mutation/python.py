"""Mutants of Python source. Each replaces one node of the syntax tree."""

import ast
import copy
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import CodeType
from typing import TypeVar

from mutation.mutant import Mutant, Reach, numbered
from mutation.texts import is_sql, sql_changes

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
NAMED = {
    "min": "max",
    "any": "all",
    "floor": "ceil",
    "ROUND_FLOOR": "ROUND_CEILING",
    "ROUND_DOWN": "ROUND_UP",
    "_up": "_down",
    "cents_up": "cents_down",
    "bisect_left": "bisect_right",
    "insort_left": "insort_right",
    "sub": "add",
}
SWAPPED = NAMED | {other: one for one, other in NAMED.items()}
# Never mutate class options, annotations, and checks such as `strict` that no input can make fail.
SILENT_KEYWORDS = frozenset({"init", "frozen", "slots", "kw_only", "eq", "strict", "compare", "default_factory"})
SILENT_FIELDS = frozenset({"annotation", "returns", "decorator_list", "bases", "cause", "format_spec", "type", "cls"})
DELETED = (ast.Raise, ast.AugAssign, ast.Delete, ast.Continue, ast.Break, ast.Expr)
LONGEST_TEXT = 70
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Place:
    """A node with its position in its parent."""

    node: ast.AST
    parent: ast.AST
    name: str
    index: int | None

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.name, node)
        else:
            getattr(self.parent, self.name)[self.index] = node


@dataclass(frozen=True, slots=True)
class Change:
    """One replacement. `shown` is the part of the source to print for it."""

    place: Place
    node: ast.AST
    shown: Place
    statement: ast.stmt
    scope: str
    reach: Reach


@dataclass
class SourceFile:
    """A source file with its syntax tree and all possible changes."""

    path: Path
    tree: ast.Module = field(init=False)
    changes: list[Change] = field(init=False)
    mutants: list[Mutant] = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.path.read_text(encoding="utf-8"))
        self.changes = [*_Finder().found_in(self.tree)]
        self.mutants = [*numbered(self._mutant(site, each) for site, each in enumerate(self.changes))]

    def compiled(self, mutant: Mutant | None = None) -> CodeType:
        """Return the compiled module. If a mutant is given, apply its change first."""
        if mutant is None:
            return compile(self.tree, str(self.path), "exec", dont_inherit=True)
        with _made(self.changes[mutant.site]):
            ast.fix_missing_locations(self.tree)
            return compile(self.tree, str(self.path), "exec", dont_inherit=True)

    def _around(self, line: int, last: int) -> range:
        lines = range(line, last + 1)
        for node in ast.walk(self.tree):  # visit outer functions first
            is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            if is_function and node.lineno <= line <= (node.end_lineno or node.lineno):
                lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        return lines

    def _mutant(self, site: int, change: Change) -> Mutant:
        node = change.place.node
        at = node if isinstance(node, (ast.expr, ast.stmt)) else change.statement
        before = _text(change.shown.node)
        with _made(change):
            shown = change.shown
            after = _text(change.node if change.place == shown else shown.node)
        last = at.end_lineno or at.lineno
        around = self._around(at.lineno, last)
        return Mutant(self.path, change.scope, at.lineno, last, before, after, change.reach, site, around)


@contextmanager
def _made(change: Change) -> Generator[None]:
    change.place.put(change.node)
    try:
        yield
    finally:
        change.place.put(change.place.node)


def _text(node: ast.AST) -> str:
    told = "(removed)" if isinstance(node, ast.Pass) else ast.unparse(node)
    lines = " ".join(told.split())
    return lines if len(lines) <= LONGEST_TEXT * 2 else f"{lines[: LONGEST_TEXT * 2]}…"


class _Finder:
    """Walk over the syntax tree that tracks the current scope."""

    def __init__(self) -> None:
        self._scope: list[str] = []
        self._statement: ast.stmt = ast.Pass()
        self._is_function = False
        self._around: list[Place] = []

    def found_in(self, tree: ast.Module) -> Iterator[Change]:
        yield from self._children(tree)

    def _children(self, node: ast.AST) -> Iterator[Change]:
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                yield from self._visit(Place(value, node, name, None))
            elif isinstance(value, list):
                for index, each in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
                    if isinstance(each, ast.AST):
                        yield from self._visit(Place(each, node, name, index))

    def _visit(self, place: Place) -> Iterator[Change]:
        node = place.node
        if _is_silent(place):
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from self._visit_definition(node)
        elif isinstance(node, ast.stmt):
            before, self._statement = self._statement, node
            around, self._around = self._around, []
            yield from self._changed(place)
            yield from self._children(node)
            self._statement, self._around = before, around
        else:
            self._around.append(place)
            yield from self._changed(place)
            yield from self._children(node)
            self._around.pop()

    def _visit_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[Change]:
        before, self._statement = self._statement, node
        self._scope.append(node.name)
        if not isinstance(node, ast.ClassDef):
            for name in ("defaults", "kw_defaults"):
                for index, each in enumerate(getattr(node.args, name)):
                    if each is not None:
                        yield from self._visit(Place(each, node.args, name, index))
        outside, self._is_function = self._is_function, self._is_function or not isinstance(node, ast.ClassDef)
        for index, each in enumerate(node.body):
            yield from self._visit(Place(each, node, "body", index))
        self._is_function = outside
        self._scope.pop()
        self._statement = before

    def _changed(self, place: Place) -> Iterator[Change]:
        scope = ".".join(self._scope) or "module"
        reach: Reach = "function" if self._is_function else "module"
        for node in _replacements(place):
            shown = self._shown(place)
            yield Change(place, ast.copy_location(node, place.node), shown, self._statement, scope, reach)

    def _shown(self, place: Place) -> Place:
        """Return the largest expression around a change that is short enough to print."""
        shown = place
        for outer in reversed(self._around):
            if not isinstance(outer.node, (ast.expr, ast.keyword, ast.comprehension)):
                break
            if len(ast.unparse(outer.node)) > LONGEST_TEXT:
                break
            shown = outer
        return shown


def _is_silent(place: Place) -> bool:
    """Return whether no test can detect a change of the node, for example of a type or a docstring."""
    node, parent = place.node, place.parent
    is_class_keyword = place.name == "keywords" and isinstance(parent, ast.ClassDef)
    if place.name in SILENT_FIELDS or is_class_keyword or isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    match node:
        case ast.Tuple():
            return isinstance(parent, ast.Subscript) and place.name == "slice"
        case ast.keyword(arg=name):
            return name in SILENT_KEYWORDS
        case ast.Expr(value=value):
            return isinstance(value, ast.Constant)
        case ast.Assign(value=value):
            return isinstance(value, ast.Subscript) and isinstance(parent, ast.Module)
        case _:
            return False


def _replacements(place: Place) -> Iterator[ast.AST]:
    yield from _other_words(place)
    yield from _shorter(place)
    yield from _negations(place)
    if isinstance(place.node, DELETED) or _is_kept_elsewhere(place.node):
        yield ast.Pass()


def _other_words(place: Place) -> Iterator[ast.AST]:
    """Replace an operator, a number, a name or a return value."""
    node = place.node
    match node:
        case ast.Compare():
            yield from _comparisons(node)
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in CALCULATED:
            yield _with(node, op=CALCULATED[type(op)]())
        case ast.BoolOp(op=op):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant():
            yield from _constants(place, node)
        case ast.Name(id=name) if name in SWAPPED:
            yield _with(node, id=SWAPPED[name])
        case ast.Attribute(attr=name, value=ast.Name()) if name in SWAPPED:
            yield _with(node, attr=SWAPPED[name])
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield ast.Return(ast.Constant(None))
        case _:
            return


def _shorter(place: Place) -> Iterator[ast.AST]:
    """Remove one element of a collection, or one case."""
    node, parent = place.node, place.parent
    is_unpacked = isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Tuple)
    match node:
        case ast.Match(cases=cases) if len(cases) > 1:
            for at in range(len(cases)):
                yield _with(node, cases=_without(cases, at))
        case ast.Dict(keys=names, values=values) if len(names) > 1:
            for at in range(len(names)):
                yield ast.Dict(_without(names, at), _without(values, at))
        case ast.Set(elts=elements) | ast.List(elts=elements) | ast.Tuple(elts=elements):
            is_read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and not is_unpacked
            for at in range(len(elements) if is_read and len(elements) > 1 else 0):
                yield _with(node, elts=_without(elements, at))
        case _:
            return


def _is_kept_elsewhere(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Attribute, ast.Subscript))


def _comparisons(node: ast.Compare) -> Iterator[ast.AST]:
    for at, op in enumerate(node.ops):
        for other in COMPARED[type(op)]:
            ops = [*node.ops]
            ops[at] = other()
            yield _with(node, ops=ops)


def _negations(place: Place) -> Iterator[ast.AST]:
    """Negate a condition without an operator that could be inverted."""
    node = place.node
    is_condition = place.name in {"test", "guard"} or (
        isinstance(place.parent, ast.comprehension) and place.name == "ifs"
    )
    if is_condition and isinstance(node, ast.expr) and not isinstance(node, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
        yield ast.UnaryOp(ast.Not(), node)


def _constants(place: Place, node: ast.Constant) -> Iterator[ast.AST]:
    value, parent = node.value, place.parent
    if isinstance(value, bool):
        yield _with(node, value=not value)
    elif isinstance(value, int):
        yield _with(node, value=value + 1)
        if value > 0:
            yield _with(node, value=value - 1)
    elif isinstance(value, float):
        yield _with(node, value=value + 1)
    elif isinstance(value, str) and is_sql(value):
        for changed in sql_changes(value):
            yield _with(node, value=changed)
    elif isinstance(value, str) and isinstance(parent, ast.Call) and _is_decimal(parent):
        try:
            exact = Decimal(value)
        except InvalidOperation:
            return
        yield _with(node, value=str(exact + Decimal((0, (1,), int(exact.as_tuple().exponent)))))


def _is_decimal(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in {"Decimal", "Price", "Quantity"}


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _without(found: Sequence[Part], at: int) -> list[Part]:
    return [each for index, each in enumerate(found) if index != at]


def _with(node: ast.AST, **changed: object) -> ast.AST:
    other = copy.copy(node)
    for name, value in changed.items():
        setattr(other, name, value)
    return other
