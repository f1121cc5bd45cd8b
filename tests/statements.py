"""The statements of a source, however deep, without looking at the expressions in them: most of a
tree is expressions.
"""

import ast
from collections.abc import Iterator

_HOLDERS = ast.stmt | ast.ExceptHandler | ast.match_case


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """A tree itself, and all statements in it."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [one for one in ast.iter_child_nodes(node) if isinstance(one, _HOLDERS)]
