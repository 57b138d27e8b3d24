"""What the numbers were measured on: processor, FMA peak, and the memory that a call adds.

The peak is measured by the fovea tool; there is no second way to measure it here.
"""

import json
import pathlib
import re
import subprocess


def processor():
    names = re.findall(r"^model name\s*:\s*(.+)$", pathlib.Path("/proc/cpuinfo").read_text(), flags=re.M)
    return names[0] if names else "unknown processor"


def fma_peak_gflops(library_path, threads):
    """The fp32 peak of `threads` cores as `fovea bench` of the same build measures it; None without the tool."""
    tools = [folder / "fovea" for folder in library_path.resolve().parents[:3] if (folder / "fovea").is_file()]
    if not tools:
        print(f"no FMA peak: the fovea tool is not beside {library_path}")
        return None
    command = [str(tools[0]), "bench", "--set", "quick", "--min-seconds", "0", "--format", "json"]
    text = subprocess.run([*command, "--threads", str(threads)], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(text)["fp32_fma_peak_gflops"]


def _status_bytes(field):
    text = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(rf"^{field}:\s*(\d+) kB", text, flags=re.M)[1]) * 1024


def added_peak_bytes(call):
    """How far resident memory rises above its level before `call`, at most, while it runs; None if unreadable."""
    try:
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # forget the earlier peak
        before = _status_bytes("VmRSS")
        call()
        return max(0, _status_bytes("VmHWM") - before)
    except OSError:
        call()
        return None
