"""What a cluster's journal (millrace job history) says of jobs and attempts. Times are seconds of the machine's clock."""

import dataclasses


@dataclasses.dataclass
class Attempt:
    name: str  # job1.m.0.0
    node: str
    launched: float
    ended: float = 0
    succeeded: bool = False
    input_bytes: int = 0
    output_bytes: int = 0

    @property
    def is_map(self):
        return self.name.split(".")[1] == "m"

    @property
    def index(self):
        return int(self.name.split(".")[2])


@dataclasses.dataclass
class JobRun:
    submitted: float
    replicas: list  # by map: the nodes with its data
    attempts: dict = dataclasses.field(default_factory=dict)

    def of(self, is_map):
        """The attempts of a kind that succeeded, in the order of their launches."""
        return [a for a in self.attempts.values() if a.succeeded and a.is_map == is_map]

    @property
    def ended(self):
        return max(a.ended for a in self.attempts.values() if a.succeeded)

    @property
    def turnaround(self):
        return self.ended - self.submitted


def read(text):
    """The jobs by number, as jobN."""
    jobs = {}
    for line in text.splitlines():
        time, event, *fields = line.split()
        facts = dict(field.split("=", 1) for field in fields if "=" in field)
        at = int(time) / 1e6
        if event == "JobSubmitted":
            replicas = [[node for node in split.partition(":")[2].split(",") if node] for split in facts["maps"].split(";")]
            jobs[facts["job"]] = JobRun(at, replicas)
        elif "attempt" in facts:
            name = facts["attempt"]
            job = jobs[name.split(".")[0]]
            if event == "AttemptLaunched":
                job.attempts[name] = Attempt(name, facts["node"], at)
            elif event in ("AttemptSucceeded", "AttemptFailed", "AttemptKilled"):
                attempt = job.attempts[name]
                attempt.ended, attempt.succeeded = at, event == "AttemptSucceeded"
                attempt.input_bytes, attempt.output_bytes = int(facts.get("input_bytes", 0)), int(facts.get("output_bytes", 0))
    return jobs
