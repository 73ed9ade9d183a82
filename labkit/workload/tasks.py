"""Requests that depend on each other: conversations of several turns, and tasks of an agent.

The salt is in front of each task: a task finds its own earlier turns in a cache, and no other's.
This module must not know how a request is sent, nor what came back.
"""

from collections.abc import Iterator

from labkit.params import AgentParams, MultiTurnParams
from labkit.workload.draw import draw_length, draw_words, extend_salt, seed_rng
from labkit.workload.request import Request
from labkit.workload.vocabulary import Vocabulary


def converse(
    workload: MultiTurnParams | AgentParams, *, seed: int, salt: str, vocabulary: Vocabulary
) -> list[Request]:
    """Return the requests of all tasks, task by task; a task does not depend on how many there are.

    `prompt_tokens` of a later request counts all that was said before it in its task, the answers
    as long as they were asked.
    """
    if isinstance(workload, MultiTurnParams):
        num_steps, later_tokens = workload.num_turns, workload.turn_tokens
        scripted = workload.history == "scripted"
    else:
        num_steps, later_tokens, scripted = workload.num_steps, workload.step_tokens, False

    def write(task: int) -> Iterator[Request]:
        task_id = f"t{task:05d}"
        history: tuple[tuple[str, str], ...] = ()
        history_tokens = 0
        for step in range(num_steps):
            rng = seed_rng(seed, "task", task, step)
            num_words = draw_length(workload.prompt_tokens if step == 0 else later_tokens, rng)
            max_tokens = draw_length(workload.completion_tokens, rng)
            own_salt = extend_salt(salt, "task", task) if step == 0 else ""
            said = ("user", " ".join(draw_words(num_words, rng, vocabulary, own_salt)))
            yield Request(
                request_id=f"r{task * num_steps + step:05d}",
                messages=(*history, said) if scripted else (said,),
                max_tokens=max_tokens,
                prompt_tokens=history_tokens + num_words,
                task_id=task_id,
                carry=step > 0 and not scripted,
                think_time_s=workload.think_time_s if step > 0 else 0.0,
            )
            history_tokens += num_words + max_tokens
            if scripted:
                answer = " ".join(draw_words(max_tokens, rng, vocabulary))
                history = (*history, said, ("assistant", answer))

    return [request for task in range(workload.num_tasks) for request in write(task)]
