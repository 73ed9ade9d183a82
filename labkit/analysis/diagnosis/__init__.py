"""What is going on in a run, as rules over its rows: the likeliest cause first.

It reads rows of the summary alone; a rule that the numbers can't carry says nothing. It must not
draw, nor know how a point is measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from labkit.analysis.diagnosis.load_rules import (
    CLIENT_BOUND,
    ERROR_STORM,
    FALSE_HEALTH,
    UNDER_FILLED_BATCH,
)
from labkit.analysis.diagnosis.memory_rules import (
    KV_POOL_FULL,
    POOL_BOUNDS_CONCURRENCY,
    PREFIX_REUSE_MISSED,
)
from labkit.analysis.diagnosis.rule import Match, Row, Rule, is_control
from labkit.analysis.diagnosis.scheduling_rules import (
    BUDGET_TOO_SMALL,
    CHUNKED_PREFILL_OFF,
    MAX_NUM_SEQS_TOO_SMALL,
)
from labkit.analysis.diagnosis.sweep_rules import BUDGET_SWEPT, SATURATION
from labkit.analysis.row import is_usable

RULES = (
    CLIENT_BOUND,
    KV_POOL_FULL,
    ERROR_STORM,
    POOL_BOUNDS_CONCURRENCY,
    CHUNKED_PREFILL_OFF,
    BUDGET_SWEPT,
    BUDGET_TOO_SMALL,
    MAX_NUM_SEQS_TOO_SMALL,
    FALSE_HEALTH,
    PREFIX_REUSE_MISSED,
    SATURATION,
    UNDER_FILLED_BATCH,
)
_SURE = {"high": 0, "medium": 1, "low": 2}


def diagnose(points: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the diagnoses of all points of a run, the likeliest root cause first.

    Each is {"rule", "title", "cause", "confidence", "points", "evidence", "next_step", "figure",
    "by_point"}: cause and evidence are those of the surest point, and by_point holds each point's
    own evidence. A switch is not blamed at a point that has it off as the control of the run.
    """
    found: dict[str, tuple[Rule, list[tuple[tuple[str, ...], Match]]]] = {}
    for rule in RULES:
        for where, match in _apply(rule, points):
            found.setdefault(rule.name, (rule, []))[1].append((where, match))
    told = [_tell(rule, matches) for rule, matches in found.values()]
    ranks = {rule.name: rule.rank for rule in RULES}
    return sorted(told, key=lambda one: ranks[one["rule"]])


def _apply(rule: Rule, points: Sequence[Row]) -> list[tuple[tuple[str, ...], Match]]:
    usable = [row for row in points if is_usable(row)]
    found: list[tuple[tuple[str, ...], Match]] = []
    if rule.check is not None:
        for row in points if rule.explains_invalid else usable:
            if rule.blames and is_control(row, rule.blames, points):
                continue
            if (match := rule.check(row)) is not None:
                found.append(((str(row.get("point_id")),), match))
    if rule.check_sweep is not None:
        for arm in dict.fromkeys(map(_name_arm, usable)):
            own = [row for row in usable if _name_arm(row) == arm]
            if (match := rule.check_sweep(own)) is not None:
                found.append((match.points, match))
    return found


def _name_arm(row: Row) -> tuple[Any, Any]:
    return row.get("variable"), row.get("series")


def _tell(rule: Rule, matches: Sequence[tuple[tuple[str, ...], Match]]) -> dict[str, Any]:
    _, best = min(matches, key=lambda one: _SURE[one[1].confidence])
    by_point: dict[str, list[Mapping[str, Any]]] = {}
    for where, match in matches:
        for point_id in where:
            by_point.setdefault(point_id, []).extend(asdict(one) for one in match.evidence)
    return {
        "rule": rule.name,
        "title": rule.title,
        "cause": best.cause,
        "confidence": best.confidence,
        "points": list(by_point),
        "evidence": [asdict(one) for one in best.evidence],
        "next_step": rule.next_step,
        "figure": rule.figure,
        "by_point": by_point,
    }
