"""From a text of YAML to plain values, and one line for whatever is wrong with it.

It must not know what the values mean.
"""

from typing import Any

import yaml

from labkit.errors import ParamsError


def read_yaml(text: str, where: str) -> Any:
    """Return what a text of YAML holds; `where` follows "expected YAML" in an error.

    Raises ParamsError for what is not YAML, for values that can't be, such as a date without its
    day, and for a key that is there twice: which of both is meant, only its author knows.
    """
    try:
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
            _refuse_twins(root, where)
            return None if root is None else loader.construct_document(root)
        finally:
            loader.dispose()
    except RecursionError:
        raise ParamsError(f"expected YAML {where}, found it nested too deeply") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        told = " ".join(str(error).split())
        raise ParamsError(f"expected YAML {where}, found: {told}") from None


def _refuse_twins(root: yaml.Node | None, where: str) -> None:
    """Raise ParamsError if a mapping has a key twice."""
    left, seen = [root], set()
    while left:
        node = left.pop()
        if not isinstance(node, yaml.CollectionNode) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            left += node.value
            continue
        keys: dict[str, int] = {}
        for key, value in node.value:
            left.append(value)
            if not isinstance(key, yaml.ScalarNode):
                continue
            line = key.start_mark.line + 1
            if key.value in keys:
                raise ParamsError(
                    f"expected the key {key.value} once {where}, found it on line "
                    f"{keys[key.value]} and again on line {line}; leave one of them"
                )
            keys[key.value] = line
