"""What bench/device_check computes and reports, and that it comes to its end whatever fails. No device is needed."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/device_check"), str(ROOT / "scripts")]

import fake_programs as fake  # noqa: E402
import shapes  # noqa: E402
from collect_programs import Missing, collect, libraries_in  # noqa: E402
from gtest_results import judge_tests, without  # noqa: E402
from programs import Programs, parse_metrics  # noqa: E402
from report import Deadline, Failed, Report, Skipped  # noqa: E402

H200 = "NVIDIA H200, 580.159.04, 143771 MiB, 9.0, 1980 MHz"
SERIES = "# HELP sluice_preemptions_total of running requests\nsluice_preemptions_total {}\nsluice_kv_blocks_capacity 3072\nsluice_pauses_total 4\n"


class Shapes(unittest.TestCase):
    def test_bytes_of_a_step_are_those_of_weights_and_cache(self):
        shape = shapes.SHAPES["llama-3.1-8b"]
        self.assertEqual(shapes.kv_bytes_per_token(shape), 131072)
        # 15.0 GB of weights; with 32 and 256 contexts of 1024 tokens 19.3 and 49.4 GB.
        self.assertAlmostEqual(shapes.decode_bytes(shape, 0, 0) / 1e9, 15.0, delta=0.05)
        self.assertAlmostEqual(shapes.decode_bytes(shape, 32, 1024) / 1e9, 19.3, delta=0.05)
        self.assertAlmostEqual(shapes.decode_bytes(shape, 256, 1024) / 1e9, 49.4, delta=0.05)
        self.assertAlmostEqual(shapes.decode_bytes(shape, 0, 0, shapes.WEIGHT_BYTES["q4_0"]) / 1e9, 4.22, delta=0.01)

    def test_operations_are_two_for_each_weight_and_row(self):
        shape = shapes.SHAPES["llama-3.1-8b"]
        self.assertAlmostEqual(shapes.decode_flops(shape, 256, 0) / 1e12, 3.84, delta=0.01)
        self.assertGreater(shapes.decode_flops(shape, 256, 1024), shapes.decode_flops(shape, 256, 0))
        # All tokens but the last go without the head.
        self.assertAlmostEqual(shapes.prefill_flops(shape, 1000) / 1e12, 13.96 + 0.26, delta=0.05)

    def test_the_small_model_counts_its_tied_embedding_once(self):
        shape = shapes.SHAPES["llama-3.2-1b"]
        self.assertAlmostEqual(shapes.decode_bytes(shape, 0, 0) / 1e9, 2.47, delta=0.01)

    def test_shares_are_of_what_was_measured(self):
        shape = shapes.SHAPES["llama-3.1-8b"]
        load = {"rows": 1, "prompt_tokens": 512, "output_tokens": 128}
        figures = shapes.shares(shape, load, fake.bench_report(), {"read_bytes_per_second": 4e12, "bf16_flops_per_second": 8e14})
        self.assertAlmostEqual(figures["bandwidth_share"], (15.01e9 + 576 * 131072) / 5e-3 / 4e12, delta=0.001)
        self.assertAlmostEqual(figures["prefill_flops_share"], shapes.prefill_flops(shape, 512) / 0.02 / 8e14, delta=0.001)

    def test_without_ceilings_there_are_no_shares(self):
        figures = shapes.shares(shapes.SHAPES["llama-3.2-1b"], {"rows": 8, "prompt_tokens": 512, "output_tokens": 128}, fake.bench_report(), {})
        self.assertEqual((figures["rows"], figures["bandwidth_share"], figures["decode_flops_share"]), (8, None, None))

    def test_a_run_without_gaps_has_no_shares(self):
        run = fake.bench_report(itl_ms={"p50": None, "p99": None})
        figures = shapes.shares(shapes.SHAPES["llama-3.2-1b"], {"rows": 1, "prompt_tokens": 512, "output_tokens": 1}, run, {"read_bytes_per_second": 4e12})
        self.assertIsNone(figures["bandwidth_share"])


class Parts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def read(self):
        return json.loads((pathlib.Path(self.folder.name) / "device_check.json").read_text())

    def test_a_part_that_raises_does_not_hide_the_rest(self):
        report = Report(self.folder.name, 60)
        cases = [("wrong", Failed("it is wrong", {"seen": 3})), ("absent", Skipped("nothing to see")), ("broken", KeyError("mistake"))]

        def raising(error):
            def part(_):
                raise error

            return part

        for name, error in cases:
            self.assertFalse(report.run(name, 5, raising(error)))
        self.assertTrue(report.run("right", 5, lambda _: {"tokens": 7}))
        parts = self.read()["parts"]
        self.assertEqual([part["result"] for part in parts], ["failed", "skipped", "failed", "passed"])
        self.assertEqual(parts[0]["figures"], {"seen": 3})
        self.assertIn("mistake", parts[2]["reason"])
        self.assertFalse(self.read()["passed"])
        self.assertEqual(report.figures("right"), {"tokens": 7})
        self.assertEqual(report.figures("wrong"), {})

    def test_what_is_found_is_kept_after_each_part(self):
        report = Report(self.folder.name, 60)
        report.run("first", 5, lambda _: None)
        self.assertEqual(len(self.read()["parts"]), 1)
        self.assertTrue(self.read()["passed"])

    def test_a_part_gets_no_more_time_than_is_left_of_all(self):
        given = []
        Report(self.folder.name, 600).run("part", 3600, lambda deadline: given.append(deadline.left()))
        self.assertLessEqual(given[0], 600)
        report = Report(self.folder.name, 1)
        self.assertFalse(report.run("part", 60, lambda _: self.fail("it was run")))
        self.assertEqual(report.parts[0]["reason"], "no time is left")


class ProgramRuns(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        fake.put_programs(self.folder.name, ["kernel_tests"])
        self.programs = Programs(self.folder.name, pathlib.Path(self.folder.name) / "log", ROOT)

    def test_tests_that_pass_are_counted(self):
        fake.tell({"kernel_tests": {"tests": fake.test_results()}})
        programs = Programs(self.folder.name, pathlib.Path(self.folder.name) / "log", ROOT)
        self.assertEqual(programs.gtest("kernel_tests", Deadline(30)), {"tests": 3, "failed": []})

    def test_tests_that_fail_are_named(self):
        with self.assertRaisesRegex(Failed, "1 of 3 tests: Kernel.Adds") as raised:
            judge_tests(1, "", fake.test_results("Adds"))
        self.assertEqual(raised.exception.figures["failed"], ["Kernel.Adds"])

    def test_a_program_that_ends_otherwise_has_not_passed(self):
        for code, results, wanted in [(77, None, "no device"), (139, None, "ended with 139"), (9, fake.test_results(), "ended with 9"), (0, fake.test_results(count=0), "no test")]:
            with self.subTest(code=code), self.assertRaisesRegex(Failed, wanted):
                judge_tests(code, "no device: too old a driver" if code == 77 else "", results)

    def gtest(self, told):
        fake.tell({"kernel_tests": told})
        programs = Programs(self.folder.name, pathlib.Path(self.folder.name) / "log", ROOT)
        with self.assertRaises(Failed) as raised:
            programs.gtest("kernel_tests", Deadline(60))
        return raised.exception

    def test_what_fails_by_itself_is_told_from_what_a_fault_before_it_took_along(self):
        failed = self.gtest({"tests": fake.test_results("A", "B", "C"), "code": 1, "of": {"Kernel.A": {"code": 1}, "Kernel.B": {"code": 0}, "Kernel.C": {"code": 134}}})
        self.assertRegex(str(failed), "3 of 3 tests: Kernel.A, Kernel.B, Kernel.C; by themselves Kernel.A, Kernel.C")
        self.assertEqual(failed.figures["fail_alone"], ["Kernel.A", "Kernel.C"])

    def test_a_test_that_ends_its_process_does_not_keep_the_others_from_running(self):
        dies = {"prints": "[ RUN      ] Kernel.A", "code": 139}
        failed = self.gtest(dies | {"of": {"*-Kernel.A": {"tests": fake.test_results()}}})
        self.assertEqual(str(failed), "Kernel.A ended the process")
        self.assertEqual(failed.figures, {"tests": 3, "failed": [], "ended_in": ["Kernel.A"]})
        failed = self.gtest(dies | {"of": {"*-Kernel.A": {"tests": fake.test_results("B"), "code": 1}, "Kernel.B": {"code": 1}}})
        self.assertEqual(str(failed), "Kernel.A ended the process; 1 of 3 tests: Kernel.B; by themselves Kernel.B")

    def test_a_program_that_always_ends_at_the_same_test_is_not_run_for_ever(self):
        failed = self.gtest({"prints": "[ RUN      ] Kernel.A", "code": 139})
        self.assertRegex(str(failed), "Kernel.A ended the process; ended with 139")

    def test_a_filter_leaves_out_one_test_more(self):
        self.assertEqual(without("*", "A.b"), "*-A.b")
        self.assertEqual(without("A.*:-A.b", "A.c"), "A.*:-A.b:A.c")

    def test_a_program_that_hangs_is_ended_in_time(self):
        fake.tell({"kernel_tests": {"prints": "so far", "hangs": True}})
        programs = Programs(self.folder.name, pathlib.Path(self.folder.name) / "log", ROOT)
        begin = time.monotonic()
        with self.assertRaisesRegex(Failed, "not done in time: so far"):
            programs.gtest("kernel_tests", Deadline(5))
        self.assertLess(time.monotonic() - begin, 60)
        self.assertIn("so far", (pathlib.Path(self.folder.name) / "log").read_text())

    def test_a_program_that_is_not_there_is_named(self):
        with self.assertRaisesRegex(Failed, "absent is not there"):
            self.programs.path("absent")
        with self.assertRaisesRegex(Failed, "nothing can't be run: No such file"):
            self.programs.call(["/nothing"], Deadline(5))

    def test_libraries_beside_the_programs_come_first(self):
        root = pathlib.Path(self.folder.name)
        (root / "bin").mkdir()
        (root / "lib").mkdir()
        programs = Programs(root / "bin", root / "log", ROOT)
        self.assertEqual(programs.environment["LD_LIBRARY_PATH"].split(":")[0], str((root / "lib").resolve()))

    def test_series_are_read_with_their_labels(self):
        self.assertEqual(parse_metrics('# TYPE x gauge\nx{a="b c"} 1.5\ny 2\n'), {'x{a="b c"}': 1.5, "y": 2.0})


class Libraries(unittest.TestCase):
    LISTING = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibz.so.1 => /lib/libz.so.1 (0x00007f00)\n\tlibc.so.6 => /lib/libc.so.6 (0x00007f01)\n\t/lib64/ld-linux.so.2 (0x00007f02)\n"

    def test_all_but_those_left_out_are_found(self):
        self.assertEqual(libraries_in(self.LISTING, ["libc.so"]), {"libz.so.1": pathlib.Path("/lib/libz.so.1")})

    def test_one_that_is_nowhere_is_named_unless_left_out(self):
        listing = self.LISTING + "\tlibcublasLt.so.13 => not found\n"
        with self.assertRaisesRegex(Missing, "libcublasLt.so.13"):
            libraries_in(listing, [])
        self.assertNotIn("libcublasLt.so.13", libraries_in(listing, ["libcublas"]))

    def test_programs_are_copied_with_what_they_load(self):
        with tempfile.TemporaryDirectory() as folder:
            programs, libraries = collect([os.path.realpath("/usr/bin/ld")], folder)
            self.assertGreater(min(programs, libraries), 0)
            self.assertTrue(list((pathlib.Path(folder) / "lib").glob("libc.so*")))

    def test_a_program_that_is_not_there_is_named(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(Missing, "/absent is not there"):
            collect(["/absent"], folder)


class Metrics(BaseHTTPRequestHandler):
    preemptions = 0

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(SERIES.format(self.preemptions).encode())

    def log_message(self, *_):
        pass


def is_running(process):
    """Whether it does anything: one that ended and that nobody has asked for yet does not."""
    status = pathlib.Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


class WholeRuns(unittest.TestCase):
    """bench/device_check.sh with programs that only pretend."""

    NAMES = ("sluiced", "sluice-bench", "cuda_device_tests", "cuda_reference_tests", "cuda_ceilings")

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        for name in ("bin", "path", "models"):
            (self.root / name).mkdir()
        server = HTTPServer(("127.0.0.1", 0), Metrics)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.told = {
            "nvidia-smi": {"prints": H200},
            "sluiced": {"prints": json.dumps({"grpc": "127.0.0.1:1", "http": f"127.0.0.1:{server.server_port}"})},
            "sluice-bench": {"report": fake.bench_report()},
            "cuda_device_tests": {"tests": fake.test_results()},
            "cuda_reference_tests": {"tests": fake.test_results()},
            "cuda_ceilings": {"prints": '{"read_bytes_per_second": 4e12, "copy_bytes_per_second": 4e12, "bf16_flops_per_second": 8e14}'},
        }

    def start_check(self, has_device=True):
        fake.put_programs(self.root / "bin", self.NAMES)
        if has_device:
            fake.put_programs(self.root / "path", ["nvidia-smi"])
        path = f"{self.root / 'path'}:/usr/bin:/bin"
        environment = os.environ | {"PATH": path, "OUT": str(self.root / "out"), "FAKE": json.dumps(self.told), "SLUICE_MODELS": str(self.root / "models")}
        return subprocess.Popen([ROOT / "bench/device_check.sh", "--no-build", "--programs", self.root / "bin"], env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def run_check(self, has_device=True):
        """Exit code and, by name, the parts."""
        done = self.start_check(has_device)
        output, _ = done.communicate(timeout=120)
        report = json.loads((self.root / "out/device_check.json").read_text())
        self.assertEqual(report["passed"], done.returncode == 0, output)
        return done.returncode, {part["part"]: part for part in report["parts"]}

    def test_figures_of_every_batch_are_reported(self):
        code, parts = self.run_check()
        self.assertEqual(code, 0, parts)
        self.assertEqual([batch["rows"] for batch in parts["speed_8b"]["figures"]["batches"]], [1, 8, 32, 128, 256])
        self.assertGreater(parts["speed_8b"]["figures"]["batches"][0]["bandwidth_share"], 0.5)
        stored = parts["speed_8b_stored"]["figures"]["batches"]
        self.assertEqual([batch["rows"] for batch in stored], [1, 4, 8, 32])
        self.assertLess(stored[0]["bytes_per_step"], 0.3 * parts["speed_8b"]["figures"]["batches"][0]["bytes_per_step"])
        self.assertEqual(parts["kv_pressure"]["figures"]["preemptions"], 0)
        self.assertEqual(parts["default_model"]["result"], "skipped")
        self.assertIn("SLUICE_MODELS", parts["default_model"]["reason"])

    def test_one_failure_leaves_all_other_parts_as_they_are(self):
        self.told["cuda_device_tests"] = {"tests": fake.test_results("Adds"), "code": 1}
        self.told["cuda_ceilings"] = {"prints": "cudaMalloc: out of memory", "code": 1}
        code, parts = self.run_check()
        self.assertEqual(code, 1)
        self.assertEqual({name for name, part in parts.items() if part["result"] == "failed"} - {"memcheck", "racecheck"}, {"kernels", "ceilings"})
        self.assertEqual(parts["speed_1b"]["result"], "passed")
        self.assertIsNone(parts["speed_1b"]["figures"]["batches"][0]["bandwidth_share"])

    def test_requests_that_fail_and_preemptions_fail_their_part(self):
        self.told["sluice-bench"]["report"] = fake.bench_report(errors=2, errors_by_code={"RESOURCE_EXHAUSTED": 2})
        _, parts = self.run_check()
        self.assertIn("2 of 8 requests failed", parts["speed_8b"]["reason"])
        self.told["sluice-bench"]["report"] = fake.bench_report()
        Metrics.preemptions = 3
        self.addCleanup(setattr, Metrics, "preemptions", 0)
        _, parts = self.run_check()
        self.assertIn("3.0 preemptions", parts["kv_pressure"]["reason"])

    def test_a_daemon_that_does_not_start_is_quoted(self):
        self.told["sluiced"] = {"says_why": "the plugin is of another build"}
        _, parts = self.run_check()
        self.assertEqual(parts["speed_1b"]["reason"], "sluiced ended with 1: the plugin is of another build")

    def test_what_it_has_started_ends_with_it(self):
        told = self.root / "pid"
        self.told["cuda_device_tests"] = {"hangs": True, "pid": str(told)}
        check = self.start_check()
        self.addCleanup(check.stdout.close)
        while not told.exists():
            time.sleep(0.05)
        check.terminate()
        self.assertEqual(check.wait(120), 143)
        deadline = Deadline(120)
        while is_running(int(told.read_text())):
            self.assertGreater(deadline.left(), 0, "it still runs")
            time.sleep(0.05)

    def test_without_a_device_it_comes_to_its_end_and_says_so(self):
        code, parts = self.run_check(has_device=False)
        self.assertEqual(code, 1)
        self.assertIn("no device", parts.pop("machine")["reason"])
        for name, part in parts.items():
            self.assertEqual((name, part["result"], part["reason"]), (name, "skipped", "--no-build" if name == "build" else "no device"))


if __name__ == "__main__":
    unittest.main()
