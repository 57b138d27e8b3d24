"""Runs one long step and shows that it is alive: "[2/6] build ... 41 s".

On a terminal the line counts seconds; elsewhere a line is printed every half minute. The step's output goes to a log
file, whose end is shown when the step fails. What the steps are is the callers' business.
"""

import pathlib
import subprocess
import sys
import time

HEARTBEAT_SECONDS = 30


class Steps:
    """Numbers a known count of steps."""

    def __init__(self, total, log_directory):
        self.total = total
        self.done = 0
        self.log_directory = pathlib.Path(log_directory)

    def run(self, title, command, *, cwd=None, show_tail=25):
        """Runs `command`; returns (exit code, output)."""
        self.done += 1
        label = f"[{self.done}/{self.total}] {title}"
        self.log_directory.mkdir(parents=True, exist_ok=True)
        log = self.log_directory / (title.replace(" ", "-").replace("/", "-") + ".log")
        code, seconds = run_logged(label, command, log, cwd)
        verdict = "ok" if code == 0 else f"FAILED (exit code {code}, log: {log})"
        end = "\r\033[K" if sys.stdout.isatty() else ""
        print(f"{end}{label}: {verdict}, {seconds:.0f} s", flush=True)
        output = log.read_text(errors="replace")
        if code != 0 and show_tail:
            print("\n".join("    " + line for line in output.splitlines()[-show_tail:]), flush=True)
        return code, output


def run_logged(label, command, log, cwd):
    """Runs `command` with its output in `log`, printing a sign of life; returns (exit code, seconds)."""
    started = time.monotonic()
    next_sign = HEARTBEAT_SECONDS
    with open(log, "wb") as sink:
        try:
            process = subprocess.Popen(
                command, stdout=sink, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=cwd
            )
        except OSError as error:
            sink.write(f"{command[0]}: {error}\n".encode())
            return 127, 0.0
        try:
            while True:
                try:
                    return process.wait(timeout=1), time.monotonic() - started
                except subprocess.TimeoutExpired:
                    elapsed = time.monotonic() - started
                    if sys.stdout.isatty():
                        print(f"\r\033[K{label} ... {elapsed:.0f} s", end="", flush=True)
                    elif elapsed >= next_sign:
                        next_sign += HEARTBEAT_SECONDS
                        print(f"{label} ... {elapsed:.0f} s", flush=True)
        except BaseException:
            process.terminate()
            process.wait()
            raise
