"""Params that measure one thing again and again, made from those of an experiment.

It must not know what the noise is used for.
"""

from labkit.errors import ParamsError
from labkit.params.experiment import Params

MARK = "-aa"
MAX_NAME = 40


def repeat_first(params: Params, repeats: int) -> Params:
    """Return params that measure the first value of the first sweep so often, launched each time.

    Made from params that came from here, they are the same. Raises ParamsError below two repeats.
    """
    if repeats < 2:
        raise ParamsError(f"expected 2 or more repeats after --aa, found {repeats}; ask for more")
    first = params.sweep[0]
    told = {"values": first.values[:1], "search": None, "repeats": repeats}
    alone = first.model_copy(update={**told, "relaunch": True, "order": "given"})
    name = params.name.removesuffix(MARK)[: MAX_NAME - len(MARK)] + MARK
    return params.model_copy(update={"name": name, "notebook": "sweep", "sweep": [alone]})
