"""A run to look at: findings, figures and tables, each made from the records alone.

It must not know how anything is measured.
"""

from pathlib import Path

from IPython.display import HTML, display

from labkit.analysis import definitions
from labkit.analysis.finding import Finding
from labkit.analysis.pool import Arm, take_arm
from labkit.records import RunFolder, read_json
from labkit.report import figures, inside, kv_memory, ladder, resources, tables
from labkit.report.conclusion import make_conclusion
from labkit.report.diagnosis import diagnosis_block
from labkit.report.opening import list_commands, make_opening, name_arm
from labkit.workbook.summary import write_summary


class Workbook:
    """A run to look at: each method shows one thing, made from the records alone."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self.summary = write_summary(run)

    @property
    def run_dir(self) -> Path:
        """Where everything is kept."""
        return self.run.path

    @property
    def arms(self) -> list[Arm]:
        """The variables that were moved, each with its arms, in the order of the plan."""
        planned = self.run.manifest()["plan"]
        return list(dict.fromkeys((one["variable"], one.get("series")) for one in planned))

    def show_findings(self) -> None:
        """Show the result in sentences with numbers, then what is wrong and what to do next."""
        told = read_json(self.run.findings_path)
        findings = [Finding.read(one) for one in told["findings"]]
        display(HTML(make_opening(told["headline"], findings, self.summary)))
        display(HTML(diagnosis_block(self.summary)))

    def show_arms(self, *fields: str) -> None:
        """Show each arm of a variable as a line, a panel for each field such as "ttft_s.p95"."""
        for variable in dict.fromkeys(str(arm[0]) for arm in self.arms):
            display(figures.plot_arms(self.summary, variable, fields))

    def show_ladder(self) -> None:
        """Show every step with what it found, and each request that failed, to be sent again."""
        display(HTML(ladder.ladder_table(self.run.ladder())))
        display(HTML(ladder.failed_block(self.run.ladder())))

    def show_environment(self) -> None:
        """Show the machine and the software that asked or measured."""
        display(HTML(tables.environment_table(self.summary["run"]["environment"])))

    def show_sweeps(self) -> None:
        """Show for every variable trade-off, latency, throughput, pressure, phases, step time."""
        for arm in self.arms:
            variable, own = str(arm[0]), take_arm(self.summary, arm)
            display(HTML(f"<h3>One variable moves: {name_arm(*arm)}</h3>"))
            for plot in (
                figures.plot_tradeoff,
                figures.plot_latency,
                figures.plot_throughput,
                figures.plot_pressure,
                figures.plot_phases,
                figures.plot_step_time,
            ):
                display(plot(own, variable))

    def show_step_time(self) -> None:
        """Show for every arm what a decode step takes, and what batching can give at most."""
        for arm in self.arms:
            display(figures.plot_step_time(take_arm(self.summary, arm), str(arm[0])))

    def show_timelines(self) -> None:
        """Show what happened inside every point, on one time axis each."""
        rows = {row["point_id"]: row for row in self.summary["points"]}
        for records in self.run.points():
            display(figures.plot_timeline(records, rows[records.point_id]))

    def show_tables(self) -> None:
        """Show the numbers behind the figures, what they mean, and where they were measured."""
        display(HTML(tables.summary_table(self.summary) + inside.engine_tables(self.summary)))
        display(HTML(kv_memory.kv_memory_table(self.summary)))
        display(HTML(resources.resources_table(self.summary)))
        display(HTML(tables.definitions_table(tables.read_definitions(definitions.__doc__ or ""))))
        self.show_environment()

    def show_conclusion(self) -> None:
        """Show what was concluded once more, with how sure it is and what it rests on."""
        told = read_json(self.run.findings_path)
        findings = [Finding.read(one) for one in told["findings"]]
        display(HTML(make_conclusion(told["headline"], findings, self.summary)))

    def show_rerun(self) -> None:
        """Show exactly how to measure this again."""
        text = self.run.params_path.read_text(encoding="utf-8")
        display(HTML(tables.rerun_block(list_commands(self.summary["run"], text))))
