"""The live page in a real browser: what it shows under load, what it can be used for, and what it can't be made to do."""

import json
import math
import re
import signal

import pytest
from selenium.webdriver import ActionChains, Keys

from conftest import FORCE_NO, Daemon, complete, control_pb, stream
from live_browser import DESKTOP, PHONE, Page, load, start_chromium
from test_chat import TEMPLATE, tiny_model

KEY = "sk-live-0123456789"
HOSTILE = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>&lt;b&gt;"
PARTS = ("queue", "prefill", "decode", "interference", "pause", "delivery")


@pytest.fixture(scope="module")
def driver():
    chromium = start_chromium()
    yield chromium
    chromium.quit()


@pytest.fixture(scope="module")
def server():
    daemon = Daemon({"kv": {"memory": "48MiB"}, "scheduler": {"max_running": 4, "tpot_target_ms": 60}})
    yield daemon
    assert daemon.stop() == 0


@pytest.fixture
def open_page(driver):
    """open_page(server): its page. At the end nothing may have complained, and nobody else may have been asked for anything."""
    pages = []

    def opener(daemon):
        pages.append(Page(driver, daemon))
        return pages[-1]

    yield opener
    for page in pages:
        assert page.console() == [] or page.may_complain
        for address in page.requested():
            assert address.startswith((f"http://{page.server.http_address}/", "data:")), address
        assert page.run("return window.hacked") is None
    driver.get("about:blank")


@pytest.fixture
def page(open_page, server):
    return open_page(server)


def ask(page, prompt, max_tokens=16, temperature=0):
    page.set("prompt", prompt)
    page.set("max-tokens", str(max_tokens))
    page.set("temperature", str(temperature))
    page.click("send")


def ask_to_end(page, *args, **options):
    ask(page, *args, **options)
    page.until(lambda: page.text("play-status").startswith(("Done", "Failed")), 60)
    assert page.text("play-status").startswith("Done"), page.text("log")


def answers(page):
    return page.run("return [...document.querySelectorAll('.turn.answered span')].map((each) => each.textContent)")


def bucket_of(metrics, name, share):
    """The bounds, in ms, of the bucket of /metrics that holds this share of the samples."""
    bounds = sorted((float(found[1]), value) for key, value in metrics.items() if (found := re.fullmatch(name + r'_bucket\{le="([^"]+)"\}', key)))
    rank = math.ceil(share * metrics[name + "_count"])
    below = 0.0
    for bound, count in bounds:
        if count >= rank:
            return below * 1000, bound * 1000
        below = bound
    raise AssertionError(name)


# --- what it shows ------------------------------------------------------------------------------------------------------------------------------


def test_under_load_every_part_moves_and_is_right(page, server):
    with load(server, 6):
        page.until(lambda: page.numbers("waiting", "running", "queue-rows", "queue-kv") == [2, 4, 2, 0])
        page.until(lambda: page.numbers("running") == [server.metrics()["sluice_requests_running"]] == [4])
        before = page.run("return steps.newest()")
        page.until(lambda: page.run("return steps.newest()") > before + 5)
        page.until(lambda: (page.number("drawn-rate") or 0) > 0 and page.number("tpot-p50") is not None)
        shown = page.run("return steps.kept")
        assert [step["number"] for step in shown] == list(range(shown[0]["number"], shown[0]["number"] + len(shown))), "no step is left out"
        assert {step["decode_rows"] for step in shown} <= {0, 1, 2, 3, 4} and max(step["prefill_tokens"] for step in shown) > 1
        assert all(step["took_ms"] > 0 for step in shown) and any(step["predicted_ms"] for step in shown)
        assert page.number("blocks-used") > 0 and page.number("blocks-reserved") > 0
        assert_blocks_add_up(page, server)
        page.until(lambda: page.run("return steps.kept.length") > 150)
        page.shoot("live-light-under-load")
        assert "decode rows" in page.text("steps-readout")
        assert page.run("return [...document.querySelectorAll('canvas')].every(hasInk)"
                        "; function hasInk(c) { return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v > 0) }")
    server.wait_idle()
    page.until(lambda: page.number("running") == 0 and page.number("waiting") == 0 and page.number("blocks-used") == 0)
    assert page.number("queue-rows") == 0
    assert_blocks_add_up(page, server)
    metrics = server.metrics()
    assert page.run("return steps.newest()") == metrics["sluice_steps_total"]
    for name, family in (("ttft", "time_to_first_token"), ("tpot", "time_per_output_token"), ("itl", "inter_token_latency")):
        count = json.loads(server.get("/live")[1])["latency"][name + "_ms"]["count"]
        if count < metrics[f"sluice_{family}_seconds_count"]:
            continue  # on a slow machine some are older than the page looks back
        for quantile, share in (("p50", 0.5), ("p99", 0.99)):
            low, high = bucket_of(metrics, f"sluice_{family}_seconds", share)
            assert 0.97 * low <= page.milliseconds(f"{name}-{quantile}") <= 1.03 * high, (name, quantile, low, high)


def assert_blocks_add_up(page, server):
    """What the page says of blocks, in one look, is a whole."""
    total = server.metrics()["sluice_kv_blocks_capacity"]
    counts, squares = page.run(
        "const count = (kind) => Number(document.getElementById('blocks-' + kind).textContent.replaceAll(',', ''));"
        "return [blocks.kinds.map(count), blocks.kinds.map((kind) => document.querySelectorAll('#blocks i.' + kind).length)]")
    assert sum(counts) == total
    assert squares == counts, "a small pool has a square for each block"


def test_a_large_pools_map_keeps_its_proportions(page):
    squares = page.run("return blocks.squares({used: 5, reserved: 1500, cached: 8495, free: 0}, 10000, blocks.blocksPerSquare(10000))")
    assert page.run("return blocks.blocksPerSquare(10000)") == 50 and len(squares) == 200
    assert [squares.count(kind) for kind in ("used", "reserved", "cached", "free")] == [1, 30, 169, 0]


def test_a_limit_that_changes_is_shown(page, server):
    assert page.number("limit-max_running") == 4
    server.control.SetLimits(control_pb.Limits(max_running=3))
    page.until(lambda: page.number("limit-max_running") == 3 and page.number("running-max") == 3)
    server.control.SetLimits(control_pb.Limits(max_running=4))
    page.until(lambda: page.number("limit-max_running") == 4)
    assert page.text("limit-admission") == "adaptive" and page.text("limit-tpot_target_ms") == "60.0 ms"


def test_arrow_keys_walk_over_the_steps(page, server):
    stream(server.stub, "Hi", max_tokens=8, bias=FORCE_NO)
    server.wait_idle()
    page.until(lambda: page.run("return steps.newest()") == server.metrics()["sluice_steps_total"])
    newest = page.run("return steps.newest()")
    page.run("document.getElementById('steps').focus()")
    ActionChains(page.driver).send_keys(Keys.ARROW_LEFT).perform()
    assert page.text("steps-readout").startswith(f"Step {newest:,.0f}: 1 decode row,")
    ActionChains(page.driver).send_keys(Keys.ARROW_LEFT).perform()
    assert page.text("steps-readout").startswith(f"Step {newest - 1:,.0f}: ")
    page.run("document.querySelector('details').open = true")
    stream(server.stub, "Hi", max_tokens=2, bias=FORCE_NO)
    page.until(lambda: f"{server.metrics()['sluice_steps_total']:,.0f}" in page.text("steps-rows"))


def test_the_timeline_marks_where_the_daemon_had_nothing_to_do(page):
    before, at_once, later, unseen = ({"number": number, "ended_s": ended, "took_ms": 10} for number, ended in ((1, 5), (2, 5.02), (2, 6), (9, 5.02)))
    is_gap = "return steps.isGap(arguments[0], arguments[1])"
    assert [page.run(is_gap, before, step) for step in (at_once, later, unseen)] == [False, True, True]


def test_live_answers_quickly_and_with_what_metrics_say(server):
    complete(server.stub, "Hi", max_tokens=4, bias=FORCE_NO)
    server.wait_idle()
    status, body = server.get("/live?since=0")
    answer, metrics = json.loads(body), server.metrics()
    assert status == 200 and len(body) < 64 << 10
    assert answer["state"] == "ready"
    assert answer["totals"]["decode_tokens"] == metrics["sluice_decode_tokens_total"]
    assert answer["blocks"]["total"] == metrics["sluice_kv_blocks_capacity"]
    assert answer["blocks"]["cached"] == metrics["sluice_kv_blocks_cached"]
    status, body = server.get("/live?since=-1")
    assert status == 400 and json.loads(body)["error"]["param"] == "since"


# --- the playground -----------------------------------------------------------------------------------------------------------------------------


def test_the_playground_streams_and_its_ledger_adds_up(page, server):
    page.run("window.lengths = new Set(); new MutationObserver(() => window.lengths.add(document.getElementById('log').textContent.length))"
             ".observe(document.getElementById('log'), {childList: true, subtree: true, characterData: true})")
    with load(server, 5):
        ask_to_end(page, "Tell me a long story about a river, a mill and its sluice gate.", max_tokens=48)
        # The question, the answer that begins, and its text: a slow browser sees many tokens at once, but never all of them.
        assert page.run("return window.lengths.size") > 5, "the text came in pieces"
        parts = {name: page.run("return parseFloat(document.querySelector(`[data-part='${arguments[0]}']`).textContent)", name)
                 for name in (*PARTS, "end to end")}
        whole = parts.pop("end to end")
        assert whole > 0 and sum(parts.values()) == pytest.approx(whole, abs=1)
        assert parts["decode"] > 0 and parts["prefill"] > 0
        assert re.search(r"\d+ prompt tokens, \d+ of them cached; \d+ tokens? answered", page.text("usage"))
        page.prefer("dark")
        page.shoot("live-dark-under-load")
    server.wait_idle()


def test_a_second_turn_finds_the_first_in_the_cache(page, server):
    page.click("fresh")
    ask_to_end(page, "Count from one to twenty in words, please, and do not leave any of them out.", max_tokens=24)
    ask_to_end(page, "And now back to one.", max_tokens=8)
    assert len(answers(page)) == 2
    assert int(re.search(r"(\d+) of them cached", page.text("usage"))[1]) > 0
    page.click("fresh")
    assert answers(page) == []
    server.wait_idle()


def test_stop_ends_the_answer_and_gives_its_blocks_back(page, server):
    # The model may end its answer after a word; this one goes on until it is stopped.
    page.run("const real = window.fetch; window.fetch = (path, options) => real(path, options?.body ? "
             "{...options, body: JSON.stringify({...JSON.parse(options.body), ignore_eos: true})} : options)")
    ask(page, "Once upon a time", max_tokens=1500, temperature=1)
    page.until(lambda: page.text("play-status") == "Answering.")
    page.click("stop")
    page.until(lambda: page.text("play-status").startswith("Stopped"))
    assert page.run("return document.getElementById('ledger').hidden && !document.getElementById('send').disabled")
    server.wait_idle()


def test_hostile_text_stays_text(page, server):
    ask_to_end(page, HOSTILE, max_tokens=4)
    assert HOSTILE in page.text("log")
    event = {"choices": [{"delta": {"content": HOSTILE}}], "sluice": {name + "_ms": 1 for name in (*PARTS, "end_to_end", "ttft", "tpot")},
             "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
    # A model that says what a person would have to be talked into; the page reads it as it reads every stream.
    page.run("const body = arguments[0]; const real = window.fetch;"
             "window.fetch = (path, options) => path.startsWith('/v1') ? Promise.resolve(new Response(body)) : real(path, options)",
             f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n")
    ask_to_end(page, "Say it")
    assert answers(page)[-1] == HOSTILE
    page.run("window.fetch = () => Promise.resolve(new Response(JSON.stringify({error: {message: arguments[0], param: arguments[0]}}), {status: 400}))",
             HOSTILE)
    page.run("live.take({...arguments[0], state: arguments[1], model: arguments[1], version: arguments[1]})",
             json.loads(server.get("/live")[1]), HOSTILE)
    assert page.text("model") == HOSTILE
    assert page.run("return document.querySelectorAll('img, main script, iframe').length") == 0


def test_a_refusal_is_told_in_its_own_words(page):
    page.may_complain = True  # the browser itself tells of an answer with 400
    page.run("document.getElementById('max-tokens').removeAttribute('max')")
    ask(page, "Hi", max_tokens=99_000_000)
    page.until(lambda: page.text("play-status").startswith("Failed: 400"))
    assert "max_tokens" in page.text("play-status")


def test_a_model_without_a_chat_template_continues_text(open_page, start, tmp_path):
    daemon = start(model=tiny_model(tmp_path, TEMPLATE.replace(b"{% for", b"{% fof")), config={"kv": {"memory": "16MiB"}})
    page = open_page(daemon)
    page.until(lambda: page.text("prompt-label") == "Text to continue")
    ask_to_end(page, "abc", max_tokens=3)
    page.until(lambda: page.number("ttft-p50") is not None)


def test_the_page_is_open_to_all_and_its_playground_wants_the_key(open_page, start, tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"{KEY} live\n")
    page = open_page(start({"security": {"api_keys_path": str(path)}, "kv": {"memory": "48MiB"}}))
    page.may_complain = True  # the browser itself tells of an answer with 401
    ask(page, "Hi", max_tokens=2)
    page.until(lambda: page.text("play-status").startswith("Failed: 401"))
    assert "API key" in page.text("play-status")
    page.set("key", KEY)
    ask_to_end(page, "Hi", max_tokens=2)
    assert page.run("return document.getElementById('key').type") == "password"
    assert KEY not in page.run("return document.documentElement.outerHTML + JSON.stringify({...localStorage, ...sessionStorage}) + document.cookie")


# --- how it can be used -------------------------------------------------------------------------------------------------------------------------

CONTRASTS = """
const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] === 1) return c; } return [255, 255, 255]; };
return [...document.querySelectorAll('body *')]
  .filter((e) => e.checkVisibility() && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) && !e.disabled && e.closest('svg') === null)
  .map((e) => { const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x); return [(a + 0.05) / (b + 0.05), e.tagName + ' ' + e.textContent.slice(0, 30)]; })
  .filter(([contrast]) => contrast < 4.5);
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(page, scheme):
    page.prefer(scheme)
    ask_to_end(page, "Hi", max_tokens=4)
    assert page.run(CONTRASTS) == []


def test_the_theme_follows_the_system_until_a_person_chooses(page):
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(ground)
    page.prefer("dark")
    dark = page.run(ground)
    assert light != dark
    page.click("theme")
    assert page.text("theme") == "Theme: light" and page.run(ground) == light
    page.click("theme")
    page.prefer("light")
    assert page.text("theme") == "Theme: dark" and page.run(ground) == dark
    page.driver.refresh()
    page.until(lambda: page.text("theme") == "Theme: dark")
    page.click("theme")
    assert page.text("theme") == "Theme: auto" and page.run(ground) == light


def test_a_phone_needs_no_sideways_scrolling(page, server):
    page.resize(PHONE)
    with load(server, 5):
        ask_to_end(page, "x" * 400 + " " + HOSTILE, max_tokens=16)
        page.until(lambda: page.run("return steps.kept.length") > 90)
        assert page.run("document.querySelector('details').open = true; return [document.documentElement.scrollWidth, innerWidth]") == [PHONE[0]] * 2
        page.run("document.querySelector('details').open = false")
        page.shoot("live-phone-under-load")
        page.prefer("dark")
        page.shoot("live-phone-dark-under-load")
    server.wait_idle()
    page.resize(DESKTOP)
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")


def test_tab_reaches_every_control_and_shows_where_it_is(page):
    page.run("document.getElementById('stop').disabled = false; document.querySelector('details').open = true")
    wanted = set(page.run("return [...document.querySelectorAll('a, button, input, textarea, summary, [tabindex=\"0\"]')].map(name)"
                          "; function name(e) { return e.id || e.tagName + e.textContent }"))
    reached = []
    for _ in range(len(wanted) + 3):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        name, outline = page.run("const e = document.activeElement; return [e.id || e.tagName + e.textContent, getComputedStyle(e).outlineStyle]")
        if name.startswith("BODY"):
            break
        assert outline != "none", name
        reached.append(name)
    assert set(reached) >= wanted, wanted - set(reached)
    assert reached.index("prompt") < reached.index("send") < reached.index("log")


def test_every_control_and_picture_has_a_name(page):
    unnamed = page.run("return [...document.querySelectorAll('button, input, textarea, canvas, [role=img]')].filter(isUnnamed).map((e) => e.outerHTML)"
                       "; function isUnnamed(e) { return !e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby') && !e.textContent.trim() && !(e.labels && e.labels.length) }")
    assert unnamed == []
    assert page.run("return document.querySelectorAll('[role=status]').length") >= 2
    page.prefer("light", motion="reduce")
    assert page.run("return getComputedStyle(document.getElementById('queue-bar-kv')).transitionDuration") == "0s"


def test_without_an_answer_it_says_so_and_comes_back_by_itself(open_page, start):
    page = open_page(start({"kv": {"memory": "48MiB"}}))
    page.may_complain = True
    page.run("live.patience = 300")
    page.server.signal(signal.SIGSTOP)
    try:
        page.until(lambda: page.text("state-text") == "no answer")
        assert "has not answered since" in page.text("notice")
        assert not page.run("return document.getElementById('notice').hidden")
        page.shoot("live-no-answer")
    finally:
        page.server.signal(signal.SIGCONT)
    page.run("live.patience = 20000")
    page.until(lambda: page.text("state-text") == "ready")
    assert page.run("return document.getElementById('notice').hidden")


def test_another_daemon_at_the_same_address_begins_a_new_timeline(page, server):
    complete(server.stub, "Hi", max_tokens=2, bias=FORCE_NO)
    page.until(lambda: page.run("return steps.newest()") > 0)
    page.run("live.uptime = 1e9; steps.kept.push({...steps.kept[0], number: 1e9})")
    page.until(lambda: page.run("return steps.newest()") == server.metrics()["sluice_steps_total"])


def test_nobody_is_asked_while_nobody_looks(page):
    asked = "return performance.getEntriesByType('resource').filter((each) => each.name.includes('/live')).length"
    page.run("Object.defineProperty(document, 'hidden', {value: true, configurable: true}); document.dispatchEvent(new Event('visibilitychange'))")
    page.until(lambda: not page.run("return live.isAsking"))
    assert page.run("live.schedule(0); return live.isAsking") is False
    before = page.run(asked)
    page.driver.execute_async_script("setTimeout(arguments[0], 1500)")
    assert page.run(asked) == before
    page.run("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    page.until(lambda: page.run(asked) > before)


def test_hold_keeps_the_figures(page):
    page.click("hold")
    assert page.run("return document.getElementById('hold').getAttribute('aria-pressed')") == "true"
    page.until(lambda: not page.run("return live.isAsking"))
    facts = page.text("facts")
    page.driver.execute_async_script("setTimeout(arguments[0], 1500)")
    assert page.text("facts") == facts
    page.click("hold")
    page.until(lambda: page.text("facts") != facts)
