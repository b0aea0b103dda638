"""What GoogleTest's programs tell of their tests."""

from report import Failed

# How much of a program's output a reason quotes, and how many names.
TAIL = 600
NAMES = 5
NO_DEVICE = 77  # exit code of a test program


def judge_tests(code, output, results):
    """What came of a program of tests: its exit code, what it printed and GoogleTest's JSON, or None if it wrote none."""
    if code == NO_DEVICE:
        raise Failed(output.strip()[-TAIL:])
    if results is None:
        raise Failed(f"ended with {code} before its tests had: {output[-TAIL:].strip()}")
    failed = [f"{suite['name']}.{test['name']}" for suite in results["testsuites"] for test in suite["testsuite"] if test.get("failures")]
    figures = {"tests": results["tests"], "failed": failed}
    if failed:
        raise Failed(f"{len(failed)} of {results['tests']} tests: {', '.join(failed[:NAMES])}", figures)
    if code != 0:
        raise Failed(f"its tests passed, but it ended with {code}: {output[-TAIL:].strip()}", figures)
    if results["tests"] == 0:
        raise Failed("no test was run", figures)
    return figures


def last_begun(output):
    """The name of the test that a program was at when it printed no more, or None."""
    begun = [line.split("] ", 1)[1].strip() for line in output.splitlines() if line.startswith("[ RUN      ] ")]
    return begun[-1] if begun else None


def without(chosen, test):
    """A filter that chooses what `chosen` does, but not this test."""
    return f"{chosen}{':' if '-' in chosen else '-'}{test}"
