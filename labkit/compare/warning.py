"""Whether a comparison tells what one thing does, or mixes several.

It must not know how the things were found.
"""

from labkit.analysis import words
from labkit.analysis.comparison.whole import Compared
from labkit.errors import ParamsError

MAX_NAMED = 5


def expect_one_thing(found: Compared, *, anyway: bool) -> str | None:
    """Return a warning where more than one thing differs, None where at most one does.

    Raises ParamsError instead unless `anyway`, and always where the runs share no point.
    """
    if not found.places:
        told = "; ".join(found.alone[:MAX_NAMED]) or "one of them measured none"
        raise ParamsError(f"expected points that both runs have, found none: {told}")
    things = found.things
    if len(things) < 2:
        return None
    named = things[:MAX_NAMED] + (["others"] if len(things) > MAX_NAMED else [])
    told = f"found {len(things)}: {words.join(named)}"
    if not anyway:
        raise ParamsError(
            f"expected one thing that differs between the runs, {told}; see `labkit diff`, "
            "or compare them --anyway"
        )
    return f"more than one thing differs, so no effect has one cause; {told}"
