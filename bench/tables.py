"""The rows of a run as text and as Markdown: the same columns, two writers."""

VERSUS_TORCH = (
    ("point", lambda r: r["point"]),
    ("torch ms", lambda r: f"{r['torch_ms']:.3f}"),
    ("fovea ms", lambda r: f"{r['fovea_ms']:.3f}"),
    ("torch/fovea", lambda r: f"{r['ratio']:.2f}"),
    ("of minima", lambda r: f"{r['ratio_of_minima']:.2f}"),
    ("GFLOP/s", lambda r: f"{r['gflops']:.1f}"),
    ("of peak", lambda r: "-" if r["peak_share"] is None else f"{100 * r['peak_share']:.0f}%"),
    ("extra MiB", lambda r: "-" if r["added_bytes"] is None else f"{r['added_bytes'] / 2**20:.1f}"),
)
VERSUS_SELF = (
    ("point", lambda r: r["point"]),
    ("without ms", lambda r: f"{r['without_ms']:.3f}"),
    ("with ms", lambda r: f"{r['fovea_ms']:.3f}"),
    ("with/without", lambda r: f"{r['factor']:.2f}"),
    ("of minima", lambda r: f"{r['factor_of_minima']:.2f}"),
)


def columns_of(suite):
    return VERSUS_TORCH if suite in ("prefill", "decode") else VERSUS_SELF


def header(suite, width):
    titles = [title for title, _ in columns_of(suite)]
    return titles[0].ljust(width) + "".join(title.rjust(13) for title in titles[1:])


def line(row, width):
    cells = [show(row) for _, show in columns_of(row["suite"])]
    return cells[0].ljust(width) + "".join(cell.rjust(13) for cell in cells[1:])


def markdown(rows, facts, verdicts):
    lines = [f"- {name}: {value}" for name, value in facts.items()]
    for suite in dict.fromkeys(row["suite"] for row in rows):
        columns = columns_of(suite)
        lines += ["", "| " + " | ".join(title for title, _ in columns) + " |"]
        lines.append("|---|" + "---:|" * (len(columns) - 1))
        for row in rows:
            if row["suite"] == suite:
                lines.append("| " + " | ".join(show(row) for _, show in columns) + " |")
    lines.append("")
    lines += [f"- {verdict}" for verdict in verdicts]
    return "\n".join(lines) + "\n"
