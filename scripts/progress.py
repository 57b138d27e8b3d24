"""Runs one long step and shows that it is alive: "[2/6] build ... 41 s".

On a terminal the line counts seconds; elsewhere a line is printed every half minute. The step's output goes to a log
file, whose end is shown when the step fails. What the steps are is the callers' business.
"""

import pathlib
import subprocess
import sys
import time

HEARTBEAT_SECONDS = 30


class Started:
    """A command that runs, with its output in a file."""

    def __init__(self, title, command, log, cwd):
        self.title = title
        self.log = log
        self.since = time.monotonic()
        self.process = None
        with open(log, "wb") as sink:
            try:
                self.process = subprocess.Popen(
                    command, stdout=sink, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=cwd
                )
            except OSError as error:
                sink.write(f"{command[0]}: {error}\n".encode())

    @property
    def seconds(self):
        return time.monotonic() - self.since

    def wait(self, label):
        """The exit code, with signs of life until it is there."""
        if self.process is None:
            return 127
        next_sign = self.seconds + HEARTBEAT_SECONDS
        try:
            while True:
                try:
                    return self.process.wait(timeout=1)
                except subprocess.TimeoutExpired:
                    if sys.stdout.isatty():
                        print(f"\r\033[K{label} ... {self.seconds:.0f} s", end="", flush=True)
                    elif self.seconds >= next_sign:
                        next_sign += HEARTBEAT_SECONDS
                        print(f"{label} ... {self.seconds:.0f} s", flush=True)
        except BaseException:
            self.process.terminate()
            self.process.wait()
            raise


class Steps:
    """Numbers a known count of steps."""

    def __init__(self, total, log_directory):
        self.total = total
        self.done = 0
        self.log_directory = pathlib.Path(log_directory)

    def run(self, title, command, *, cwd=None, show_tail=25):
        """Runs `command`; returns (exit code, output)."""
        return self.finish(self.start(title, command, cwd=cwd), show_tail=show_tail)

    def start(self, title, command, *, cwd=None):
        """Starts `command` beside the steps that follow; finish() is its step."""
        self.log_directory.mkdir(parents=True, exist_ok=True)
        return Started(title, command, self.log_directory / (title.replace(" ", "-").replace("/", "-") + ".log"), cwd)

    def finish(self, started, *, show_tail=25):
        """Waits for what start() began; returns (exit code, output)."""
        self.done += 1
        label = f"[{self.done}/{self.total}] {started.title}"
        since = time.monotonic()
        code = started.wait(label)
        verdict = "ok" if code == 0 else f"FAILED (exit code {code}, log: {started.log})"
        end = "\r\033[K" if sys.stdout.isatty() else ""
        print(f"{end}{label}: {verdict}, {time.monotonic() - since:.0f} s", flush=True)
        output = started.log.read_text(errors="replace")
        if code != 0 and show_tail:
            print("\n".join("    " + line for line in output.splitlines()[-show_tail:]), flush=True)
        return code, output
