"""The result as Markdown."""

from spread import Spread, ratios_of, values_of

NOISY_MARK = " ⚠"


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def ratio_cell(spread):
    return f"**{spread.median:.2f}×** ({spread.least:.2f}–{spread.most:.2f})"


def rounds_cell(rounds, asked):
    noisy = sum(r.is_noisy for r in rounds)
    return f"{len(rounds)} of {asked}" + (f", {noisy} disturbed{NOISY_MARK}" if noisy else "")


def row_of(case, rounds, ours, peers, asked):
    mine = [r for r in rounds if r.case == case.name]
    cells = [case.title, case.figure.value if case.figure.is_rate else f"{case.figure.value}; less is better"]
    if not mine:
        return cells + ["–"] * (1 + 2 * len(peers)) + [rounds_cell(mine, asked)]
    cells.append(number(Spread.of(values_of(mine, case.name, ours)).median))
    for peer in peers:
        cells.append(number(Spread.of(values_of(mine, case.name, peer)).median))
        cells.append(ratio_cell(Spread.of(ratios_of(mine, case.name, ours, peer))))
    return cells + [rounds_cell(mine, asked)]


def render_table(cases, rounds, ours, peers, asked):
    """Medians of all kept rounds; ratios are `ours`/peer with the least and the most of any round."""
    head = ["case", "figure", ours]
    for peer in peers:
        head += [peer, f"{ours} / {peer}"]
    lines = [head + ["rounds"], ["---"] * (len(head) + 1)]
    lines += [row_of(case, rounds, ours, peers, asked) for case in cases]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
