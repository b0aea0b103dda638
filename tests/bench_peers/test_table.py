"""The table says what was measured, and what was not."""

from cases import CASES
from rounds import Round
from spread import Spread, ratios_of
from table import render_table

CASE, OTHER = CASES[0], CASES[1]
ROUNDS = [Round(CASE.name, {"sluice": 300.0, "peer": 100.0}, 0.0, is_noisy=False),
          Round(CASE.name, {"sluice": 200.0, "peer": 200.0}, 0.0, is_noisy=False),
          Round(CASE.name, {"sluice": 500.0, "peer": 250.0}, 0.3, is_noisy=True)]


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def table(cases, rounds):
    return [cells(line) for line in render_table(cases, rounds, "sluice", ["peer"], asked=3).splitlines()]


def test_a_ratio_compares_figures_of_one_round():
    assert ratios_of(ROUNDS, CASE.name, "sluice", "peer") == [3.0, 1.0, 2.0]


def test_the_spread_is_that_of_the_ratios():
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(median=2.0, least=1.0, most=3.0)


def test_a_row_shows_medians_ratio_and_spread():
    assert table([CASE], ROUNDS[:2])[2] == [CASE.title, CASE.figure.value, "250", "150", "**2.00×** (1.00–3.00)", "2 of 3"]


def test_disturbed_rounds_are_marked():
    assert table([CASE], ROUNDS)[2][-1] == "3 of 3, 1 disturbed ⚠"


def test_a_row_without_rounds_has_no_figures():
    assert table([OTHER], ROUNDS)[2][2:] == ["–", "–", "–", "0 of 3"]


def test_all_lines_have_the_same_cells():
    assert len({len(line) for line in table([CASE, OTHER], ROUNDS)}) == 1


def test_less_is_better_is_said_where_it_is():
    ttft = next(case for case in CASES if not case.figure.is_rate)
    assert "less is better" in table([ttft], [])[2][1]
