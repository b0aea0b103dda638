#!/usr/bin/env python3
"""Writes tests/data/jinja/expected.json: what Jinja2, set up as transformers does, makes of tests/data/jinja/templates.txt.

usage: build/venv/bin/python scripts/expect_jinja.py
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "templates"))

from chat_environment import NOW, TemplateRaised, environment  # noqa: E402

DATA = ROOT / "tests" / "data" / "jinja"
VARIABLES = {
    "s": "hello",
    "u": "é中b",
    "n": None,
    "l": [1, 2, 3],
    "d": {"a": 1, "b": "two"},
    "shadow": {"items": [1], "get": 2},
    "tree": [{"v": 1, "c": [{"v": 2, "c": []}, {"v": 3, "c": [{"v": 4, "c": []}]}]}, {"v": 5, "c": []}],
    "users": [
        {"name": "bob", "active": True, "n": 1, "nested": {"k": "v"}},
        {"name": "Al", "active": False, "n": 3, "age": 7, "nested": {"k": "w"}},
        {"name": "cy", "active": True, "n": 2, "nested": {}},
    ],
    "messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Hi <|im_end|>"}],
}


def templates():
    for line in (DATA / "templates.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# ") or not line:
            continue
        yield line.replace("\\\\", "\0").replace("\\n", "\n").replace("\\r", "\r").replace("\0", "\\")


def outcome(source):
    """text, or raised with the message, or failed: another error, whose words are Python's own business."""
    try:
        return {"text": environment().from_string(source).render(**VARIABLES)}
    except TemplateRaised as error:
        return {"raised": str(error)}
    except Exception as error:  # noqa: BLE001: whatever a template can provoke
        return {"failed": f"{type(error).__name__}: {error}"}


def main():
    cases = [{"template": source, **outcome(source)} for source in templates()]
    result = {"now": NOW, "variables": VARIABLES, "cases": cases}
    (DATA / "expected.json").write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"{len(cases)} templates")


if __name__ == "__main__":
    main()
