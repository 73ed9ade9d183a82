"""What a run's events are told as."""

from labkit.progress import Story


def test_the_steps_of_a_ladder_are_told_one_by_one() -> None:
    story = Story()
    step = {"event": "step", "number": 2, "num_steps": 20, "title": "The address", "at_s": 1.0}
    assert story.hear(step) == "step 2 of 20: The address"
    assert story.hear({"event": "end", "at_s": 2.0}) == "all steps taken"


def test_a_run_of_points_ends_as_before() -> None:
    story = Story()
    assert story.hear({"event": "run", "num_points": 3, "at_s": 0.0}) == "3 points to measure"
    assert story.hear({"event": "end", "at_s": 2.0}) == "all 3 points measured"
