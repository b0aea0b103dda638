"""From token times to figures."""

import pytest
from cases import CASES, cases_by_name
from http_load import run_closed_loop
from machine import parse_cpu
from prompts import random_prompt
from sluice import parse_report
from timings import Timings, figure_of

BY_NAME = {case.name: case for case in CASES}


def timings(case, **changed):
    return Timings(**{"ttft_p50_s": 0.25, "tpot_p50_s": 0.02, "duration_s": 8.0, "output_tokens": case.requests * case.output_tokens, **changed})


def test_a_short_answer_is_never_a_fast_one():
    case = BY_NAME["served-32"]
    with pytest.raises(RuntimeError, match="4095 output tokens instead of 4096"):
        figure_of(case, timings(case, output_tokens=4095))


@pytest.mark.parametrize("name, figure", [("prefill-512", 512 / 0.25), ("decode-1", 50), ("decode-32", 32 / 0.02), ("served-32", 4096 / 8),
                                          ("ttft-1", 250)])
def test_the_figure_of_each_kind(name, figure):
    assert figure_of(BY_NAME[name], timings(BY_NAME[name])) == pytest.approx(figure)


def test_timings_are_medians_over_requests():
    result = Timings.of_requests([(0, 1, 3, 3), (0, 2, 2, 1), (1, 10, 16, 3)], duration_s=16)
    assert result == Timings(ttft_p50_s=2, tpot_p50_s=2, duration_s=16, output_tokens=7)


def test_answers_of_one_token_have_no_tpot():
    assert Timings.of_requests([(0, 1, 1, 1)], duration_s=1).tpot_p50_s is None


def test_a_failed_request_fails_the_measurement():
    with pytest.raises(RuntimeError, match="1 of 2 requests failed"):
        parse_report({"errors": 1, "requests": 2, "errors_by_code": {"UNAVAILABLE": 1}})


def test_an_unknown_row_is_named():
    with pytest.raises(ValueError, match="no row decode-7"):
        cases_by_name(["decode-1", "decode-7"])


def test_rows_keep_the_order_of_the_table():
    assert [case.name for case in cases_by_name(["ttft-1", "prefill-512"])] == ["prefill-512", "ttft-1"]


def test_prompts_differ_by_seed_and_by_index():
    assert random_prompt(8, 1, 2) == random_prompt(8, 1, 2)
    assert len({tuple(random_prompt(8, seed, index)) for seed in range(3) for index in range(3)}) == 9


def test_instruction_sets_are_those_of_the_machine():
    text = "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu avx2 fma avx512f_not avx512_vnni\n"
    assert parse_cpu(text) == ("Some CPU", ["avx2", "fma", "avx512_vnni"])


def test_a_stream_that_arrives_in_pieces_is_counted_whole(piecemeal_server):
    address = piecemeal_server([b"HTTP/1.1 200 OK\r\n\r\nda", b'ta: {"content": "a"}\n\n', b'data: {"content": "", "tokens_predicted": 2}\n\n'])
    result = run_closed_loop(address, "/completion", [b"{}"] * 3, 2, lambda event: event["tokens_predicted"])
    assert result.output_tokens == 6


def test_a_refusal_is_shown_and_not_measured(piecemeal_server):
    address = piecemeal_server([b'HTTP/1.1 503 Busy\r\n\r\n{"error": "loading"}'])
    with pytest.raises(RuntimeError, match="503 Busy"):
        run_closed_loop(address, "/completion", [b"{}"], 1, lambda event: event["tokens_predicted"])
