"""Would separate prefill and decode pools keep both SLOs at a higher rate? A model's answer.

It puts a plan and its check into words, each marked as a model's; where the model does not describe
the engine it recommends nothing. It must not plan or measure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from labkit.analysis import words
from labkit.analysis.disaggregation.check import NAMES, Compared, check
from labkit.analysis.disaggregation.doubt import doubt_model
from labkit.analysis.disaggregation.gather import TOGETHER, Gathered, gather, keeps
from labkit.analysis.disaggregation.inputs import Inputs
from labkit.analysis.disaggregation.plan import MEASURED, Plan, Range, Split, make_plan
from labkit.analysis.doubts import name_rows
from labkit.analysis.finding import Effect, Evidence, Finding
from labkit.analysis.row import read

MODEL = "Planning model, not a measurement"
MATTERS = 0.1
"""A KV transfer above this share of the TTFT limit is a cost."""


def conclude(summary: Mapping[str, Any]) -> list[Finding]:
    """Return the answer, what it rests on, how it was checked, and what was measured together."""
    found, percentile = gather(summary), summary["run"]["disaggregation"]["percentile"]
    points = tuple(str(row["point_id"]) for row in found.rows)
    if found.inputs is None:
        text = f"{MODEL}. No plan can be made: {found.reason}."
        if any(row.get("validity") == "SUSPECT" for row in found.rows):
            text += " Points are in doubt: measure them again when nothing else runs."
        title = "Planning model: can't tell, the measurements don't carry it"
        refused = Finding(title, text, "unknown", verdict="can't tell")
        told = [refused, _tell_together(found, percentile)] if found.points else [refused]
        return [replace(one, points=points) for one in told]
    inputs, plan = found.inputs, make_plan(found.inputs)
    compared = check(inputs, found.points)
    doubt = doubt_model(plan, compared)
    answer = _refuse(doubt) if doubt else _answer(inputs, plan)
    told = [answer, _tell_check(inputs, compared), *_tell_limits(inputs, plan, doubt)]
    told += [_tell_inputs(inputs), _tell_transfer(inputs, plan), _tell_together(found, percentile)]
    suspect = [row for row in found.rows if row.get("validity") == "SUSPECT"]
    verdict = "SUSPECT" if suspect else "VALID"
    told = [replace(one, text=f"{one.text} [{verdict}]", points=points) for one in told]
    if suspect:
        named = f"{answer.text} [SUSPECT at {name_rows(suspect)}]"
        told[0] = replace(told[0], text=named)
    return told


def _refuse(doubt: str) -> Finding:
    title = "Planning model: can't tell whether separate pools would serve more"
    return Finding(
        title, f"{MODEL}, and no ratio is recommended: {doubt}.", "unknown", verdict="can't tell"
    )


def _answer(inputs: Inputs, plan: Plan) -> Finding:
    both = (
        f"P{inputs.quantile * 100:g} TTFT within {words.seconds(inputs.ttft_s)} and "
        f"P{inputs.quantile * 100:g} TPOT within {words.seconds(inputs.tpot_s)}"
    )
    lead = f"{MODEL}. With {inputs.num_devices} devices"
    best, together = plan.best, plan.together
    evidence = [Evidence("request_rate_per_s", "planned, a device that does both", together.value)]
    if best is None:
        text = (
            f"{lead}, no split keeps {both} at any rate; a device that does both keeps them up to "
        )
        text += f"{_rate(together.value)}."
        title = "Planning model: no split into pools keeps both SLOs"
        return Finding(title, text, "result", verdict="not held", evidence=tuple(evidence))
    evidence.append(Evidence("request_rate_per_s", f"planned, {best.name}", best.rate.value))
    text = f"{lead}, {_spell(best)} keep {both} up to {_rate(best.rate.value)} a device"
    text += f"{_span(best.rate)}; devices that do both up to {_rate(together.value)}"
    text += f"{_span(together)}."
    gain = plan.gain
    if gain is None:
        title = f"Planning model: only separate pools keep both SLOs, best {best.name}"
        return Finding(title, text, "result", verdict="held", evidence=tuple(evidence))
    times = f"{words.number(gain.value)} times"
    text += f" That is {times}{_span(gain)}."
    text += (
        f" {best.name} is the best split in {words.percent(best.best_share)} of the draws about "
        "the fits."
    )
    effect = Effect("request_rate_per_s", "ratio", gain.value, gain.low, gain.high)
    if gain.low is None or gain.high is None:
        title = f"Planning model: {best.name} would serve {times} as much, of unknown certainty"
        return Finding(title, text, "unknown", None, None, "can't tell", effect, tuple(evidence))
    if gain.low > 1:
        title = f"Planning model: {_spell(best)} would serve {times} as much within both SLOs"
        return Finding(title, text, "result", None, None, "held", effect, tuple(evidence))
    if gain.high < 1:
        title = f"Planning model: separate pools would serve less, {times} as much at best"
        return Finding(title, text, "result", None, None, "not held", effect, tuple(evidence))
    title = "Planning model: can't tell separate pools from devices that do both"
    return Finding(title, text, "unknown", None, None, "can't tell", effect, tuple(evidence))


def _tell_check(inputs: Inputs, compared: Sequence[Compared]) -> Finding:
    parts = [
        f"{NAMES[one.name]} at {_rate(one.rate_per_s)} {words.seconds(one.predicted.value)}"
        f"{_span(one.predicted, 's')}, measured {words.seconds(one.measured)}"
        f"{', too wide a span to check by' if one.is_wide else '' if one.holds else ', off'}"
        for one in compared
    ]
    percentile = f"P{inputs.quantile * 100:g}"
    if not parts:
        text = f"{MODEL}. No point of the series {TOGETHER} tells its rate, TTFT and TPOT."
        return Finding("Planning model: not checked", text, "warning")
    evidence = tuple(
        Evidence(f"{one.name}.p{inputs.quantile * 100:g}", one.point_id, one.measured)
        for one in compared
    )
    text = (
        f"{MODEL}. From the rate alone it predicts for the one engine, as {percentile} with what "
        f"95 % of simulations of as many requests give: {'; '.join(parts)}."
    )
    if all(one.holds for one in compared):
        worst = max(one.deviation for one in compared)
        title = f"Planning model checked: within {words.percent(worst)} of the one engine"
        return Finding(title, text, "fact", evidence=evidence)
    title = "Planning model checked: it does not describe this engine"
    return Finding(title, text, "warning", evidence=evidence)


def _tell_limits(inputs: Inputs, plan: Plan, doubt: str) -> list[Finding]:
    best = plan.best
    if best is None or doubt:
        return []
    running = f"{words.number(best.running)} sequences run on average, {plan.places} may at once"
    text = (
        f"{MODEL}. {best.name} is held back by {best.limit}, devices that do both by "
        f"{plan.together_limit}. At the highest rate a prefill device of {best.name} works "
        f"{words.percent(best.prefill_busy)} of the time; on a decode device {running}, bounded by "
        f"{plan.bound}."
    )
    others = [
        f"{one.name} {_rate(one.rate.value)} ({one.limit})"
        for one in plan.splits
        if one is not best
    ]
    if others:
        text += f" The other splits, a device: {'; '.join(others)}."
    if plan.bound == MEASURED:
        text += " More streams than were measured are not reckoned with."
    return [Finding(f"Planning model: {best.limit} limits {best.name}", text, "fact")]


def _tell_inputs(inputs: Inputs) -> Finding:
    prefill, step = inputs.prefill, inputs.step
    text = (
        f"{MODEL}, from measurements of one device: a prompt alone has its first token after "
        f"{words.seconds(prefill.slope)} a token {_add(prefill.intercept)} "
        f"({words.number(prefill.low_x)} to {words.number(prefill.high_x)} tokens, the line "
        f"{words.percent(prefill.misfit)} off); a decode step takes "
        f"{words.seconds(step.intercept)} and {words.seconds(step.slope)} a stream "
        f"(up to {words.number(step.high_x)} streams, "
        f"{words.percent(step.misfit)} off). A prompt has "
        f"{words.number(inputs.mean_prompt_tokens)} tokens on average, an answer "
        f"{words.number(inputs.completion_tokens)}. Arrivals are Poisson, spread over the devices "
        "of a pool at random."
    )
    return Finding("Planning model: what it rests on", text, "fact")


def _tell_transfer(inputs: Inputs, plan: Plan) -> Finding:
    each = inputs.kv_bytes_per_token
    if each is None:
        text = (
            f"{MODEL}. Bytes of a token in the KV cache are not known, so the transfer counts as "
            "nothing and separate pools look better than they are."
        )
        return Finding("Planning model: KV transfer can't be told", text, "warning")
    used = "" if plan.best is None else (
        f" The busiest link of {plan.best.name} is used "
        f"{words.percent(plan.best.link_busy)} of the time."
    )  # fmt: skip
    text = (
        f"{MODEL}. The KV cache of a prompt is {words.number(inputs.mean_prompt_tokens)} tokens of "
        f"{words.number(each)} bytes on average, over a link of "
        f"{words.number(inputs.transfer_bytes_per_s / 1e9)} GB/s a device; its time is added to "
        f"TTFT in full.{used}"
    )
    title = f"Planning model: KV transfer takes {words.seconds(plan.transfer_s)} a prompt"
    costs = plan.transfer_s > MATTERS * inputs.ttft_s
    return Finding(title, text, "cost" if costs else "fact")


def _tell_together(found: Gathered, percentile: int) -> Finding:
    rows = {str(row["point_id"]): row for row in found.rows}
    name = f"P{percentile}"
    parts = []
    for one in found.points:
        told = f"at {_rate(one.rate_per_s)} {name} TTFT {words.seconds(one.ttft_s)}, {name} TPOT "
        told += words.seconds(one.tpot_s)
        if one.slo_attainment is not None:
            told += f", {words.percent(one.slo_attainment)} within both limits"
        lost = read(rows[one.point_id], "prefill_stall_s.share")
        if lost is not None:
            told += f", prefills took {words.percent(lost)} of the time of running streams"
        if found.inputs is not None:
            told += f" (SLO {'kept' if keeps(found.inputs, one) else 'missed'})"
        parts.append(told)
    text = f"Measured, one device that does both: {'; '.join(parts)}."
    if not parts:
        text = "No point of the one engine doing both tells its rate, TTFT and TPOT."
    return Finding("Measured: what the one engine did together", text, "fact")


def _spell(split: Split) -> str:
    decode = words.count(split.decode_devices, "decode device")
    return f"{split.prefill_devices} prefill to {decode}"


def _add(intercept: float) -> str:
    return f"{'less' if intercept < 0 else 'and'} {words.seconds(abs(intercept))}"


def _rate(rate: float) -> str:
    return words.per_second(rate, "requests")


def _span(told: Range, unit: str = "") -> str:
    if told.low is None or told.high is None:
        return ""
    form = words.seconds if unit else words.number
    return f" ({form(told.low)} to {form(told.high)})"
