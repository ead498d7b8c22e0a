"""Marks in the source of a module: which statement was reached, and which way was taken where there are two.

Tracing asks after every line of every library and so makes a test run two and a half times as long. A mark is one
store into a file that all processes share, in our own lines alone.
"""

import ast
from collections.abc import Sequence
from typing import NamedTuple, cast

SEEN = "__seen__"  # a name among the builtins; see loader.py


class Mark(NamedTuple):
    """What it means that a byte is set: the line was reached, or from it the one or the other way was taken."""

    kind: str  # "line", "into" or "past"; "case" is the first line of a case's body
    line: int
    first: int = 0
    last: int = 0


class Marked(ast.NodeTransformer):
    """Put a mark before every statement and at the beginning of both ways of a branch."""

    def __init__(self, base: int) -> None:
        self.marks: list[Mark] = []
        self._base = base

    def body(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        ahead = [each for place, each in enumerate(statements) if _must_be_first(each, place)]
        done = [self._mark(Mark("line", each.lineno), each) for each in ahead if not isinstance(each, ast.Expr)]
        made: list[ast.stmt] = [*ahead, *done]
        for statement in statements[len(ahead) :]:
            made += [self._mark(Mark("line", line), statement) for line in _lines_of(statement)]
            made.append(self.visit(statement))
        return made

    def visit_Module(self, node: ast.Module) -> ast.Module:
        node.body = self.body(node.body)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in ("body", "orelse", "finalbody"):
            inner: object = getattr(node, name, None)
            if isinstance(inner, list):
                setattr(node, name, self.body(cast("list[ast.stmt]", inner)))
        for handler in getattr(node, "handlers", ()):
            self._handler(handler)
        return node

    def visit_If(self, node: ast.If | ast.For | ast.AsyncFor | ast.While) -> ast.AST:
        first, last = node.body[0], node.body[-1]
        into = Mark("into", node.lineno, _lines_of(first)[0], last.end_lineno or last.lineno)
        past = Mark("past", node.lineno, into.first, into.last)
        node.body = [self._mark(into, first), *self.body(node.body)]
        node.orelse = [self._mark(past, node.orelse[0] if node.orelse else node), *self.body(node.orelse)]
        return node

    visit_For = visit_AsyncFor = visit_While = visit_If  # noqa: N815 - likewise

    def visit_Match(self, node: ast.Match) -> ast.AST:
        for case in node.cases:
            at = case.pattern.lineno
            into = Mark("case", at, node.lineno, _lines_of(case.body[0])[0])
            case.body = [self._mark(into, case.body[0]), *self.body(case.body)]
        last = node.cases[-1]
        if last.guard is not None or not (isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None):
            past = Mark("case", 0, node.lineno)
            node.cases.append(ast.match_case(pattern=ast.MatchAs(), body=[self._mark(past, node)]))
            ast.copy_location(node.cases[-1].pattern, last.pattern)
        return node

    def _handler(self, handler: ast.ExceptHandler) -> None:
        mark, index = self._mark(Mark("line", handler.lineno), handler), self._base + len(self.marks) - 1
        handler.body = self.body(handler.body)
        if handler.type is None:
            handler.body.insert(0, mark)
            return
        told = ast.Tuple([self._told(index), handler.type], ast.Load())
        handler.type = ast.copy_location(ast.Subscript(told, ast.Constant(1), ast.Load()), handler.type)

    def _mark(self, mark: Mark, near: ast.AST) -> ast.stmt:
        self.marks.append(mark)
        place = ast.Subscript(ast.Name(SEEN, ast.Load()), ast.Constant(self._base + len(self.marks) - 1), ast.Store())
        return _at(ast.Assign([place], ast.Constant(1)), near)

    def _told(self, index: int) -> ast.expr:
        store = ast.Attribute(ast.Name(SEEN, ast.Load()), "__setitem__", ast.Load())
        return ast.Call(store, [ast.Constant(index), ast.Constant(1)], [])


def marked(source: bytes, base: int) -> tuple[ast.Module, list[Mark]]:
    """Return the module with its marks, counted from `base`."""
    transformer = Marked(base)
    tree = transformer.visit(ast.parse(source))
    return ast.fix_missing_locations(tree), transformer.marks


def _must_be_first(statement: ast.stmt, place: int) -> bool:
    is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
    return (place == 0 and is_docstring) or is_future


def _lines_of(statement: ast.stmt) -> list[int]:
    """Return the lines of a statement's decorators and its own."""
    return sorted({statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))})


def _at(made: ast.stmt, near: ast.AST) -> ast.stmt:
    line = getattr(near, "lineno", 1)
    for each in ast.walk(made):
        ast.copy_location(each, near)
        each.lineno = each.end_lineno = line  # pyright: ignore[reportAttributeAccessIssue]
        each.col_offset = each.end_col_offset = 0  # pyright: ignore[reportAttributeAccessIssue]
    return made
