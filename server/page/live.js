// Asks for /live once a second while somebody looks, and hands what it tells to the parts.

const live = {
  period: 1000,
  patience: 5000, // for one answer
  retryMax: 5000,
  rateSpan: 5, // seconds over which tokens a second are counted
  failures: 0,
  uptime: -1,
  goneSince: null,
  isHeld: false,
  timer: null,
  isAsking: false,
  totals: [], // of the last polls, to see rates

  reasons: [
    ["kv", "KV blocks"],
    ["rows", "a free row"],
    ["tenant", "its tenant's share"],
    ["prefix", "a prompt to share"],
  ],
  limits: [
    ["max_running", "running sequences", formatCount],
    ["max_running_per_tenant", "running, a tenant", (value) => (value === 0 ? "no limit" : formatCount(value))],
    ["tokens_per_step", "tokens a step", formatCount],
    ["tpot_target_ms", "TPOT target", (value) => (value === 0 ? "none" : formatMs(value))],
    ["admission", "admission", String],
    ["max_queued_requests", "queued requests", formatCount],
    ["max_queued_tokens", "queued prompt tokens", formatCount],
    ["max_queued_per_tenant", "queued, a tenant", (value) => (value === 0 ? "no limit" : formatCount(value))],
  ],

  start() {
    byId("hold").addEventListener("click", () => this.setHeld(!this.isHeld));
    document.addEventListener("visibilitychange", () => this.schedule(0));
    this.buildQueue();
    this.schedule(0);
  },

  setHeld(isHeld) {
    this.isHeld = isHeld;
    byId("hold").setAttribute("aria-pressed", String(isHeld));
    this.schedule(0);
  },

  schedule(delay) {
    clearTimeout(this.timer);
    if (document.hidden || this.isHeld || this.isAsking) return;
    this.timer = setTimeout(() => this.ask(), delay);
  },

  async ask() {
    this.isAsking = true;
    try {
      const response = await fetch("/live?since=" + steps.newest(), { cache: "no-store", signal: AbortSignal.timeout(this.patience) });
      if (!response.ok) throw new Error("status " + response.status);
      this.take(await response.json());
      this.failures = 0;
    } catch {
      this.failures += 1;
      this.showGone();
    } finally {
      this.isAsking = false;
      this.schedule(Math.min(this.retryMax, this.period * 2 ** Math.max(0, this.failures - 1)));
    }
  },

  take(answer) {
    const isYounger = "uptime_s" in answer && answer.uptime_s < this.uptime;
    if (isYounger || (answer.steps && answer.steps.newest < steps.newest())) this.beginAnew();
    this.showState(answer);
    if (!answer.latency) return; // there is no model yet
    this.uptime = answer.uptime_s;
    this.showLatency(answer.latency);
    this.showRates(answer.totals, answer.uptime_s);
    this.showRequests(answer.requests, answer.limits);
    this.showLimits(answer.limits);
    steps.take(answer.steps, answer.uptime_s, answer.limits.tpot_target_ms);
    blocks.show(answer.blocks);
    playground.setMode(answer.chat);
    this.showTotals(answer.totals);
  },

  /** Another daemon answers now. */
  beginAnew() {
    steps.clear();
    this.totals = [];
  },

  showState(answer) {
    this.goneSince = null;
    setText("notice", answer.reason ?? "");
    byId("notice").hidden = !answer.reason;
    byId("state").dataset.state = answer.state;
    setText("state-text", answer.state);
    if (!answer.model) return setText("facts", "version " + answer.version);
    setText("model", answer.model);
    setText("facts", `${answer.device} · context ${formatCount(answer.context_length)} · version ${answer.version} · up ${formatSpan(answer.uptime_s)}`);
    document.title = answer.model + " · Sluice";
  },

  showGone() {
    if (this.goneSince === null) this.goneSince = new Date();
    byId("state").dataset.state = "gone";
    setText("state-text", "no answer");
    setText("notice", `The daemon has not answered since ${this.goneSince.toLocaleTimeString()}. What is shown is from before; this page tries again by itself.`);
    byId("notice").hidden = false;
  },

  showLatency(latency) {
    for (const name of ["ttft", "tpot", "itl"]) {
      const quantiles = latency[name + "_ms"];
      setBig(name + "-p50", ...splitMs(quantiles.p50));
      setText(name + "-p90", formatMs(quantiles.p90));
      setText(name + "-p99", formatMs(quantiles.p99));
    }
    const counts = ["ttft", "tpot", "itl"].map((name) => formatCount(latency[name + "_ms"].count));
    setText("window-note",
      `Latencies of the last ${latency.window_s} s, p50 large: ${counts[0]} first tokens, ${counts[1]} answers that ended, ${counts[2]} gaps.`);
  },

  showRates(totals, uptime) {
    this.totals.push({ uptime, ...totals });
    while (this.totals.length > 2 && uptime - this.totals[1].uptime >= this.rateSpan) this.totals.shift();
    const before = this.totals[0];
    const rate = (name) => (uptime > before.uptime ? (totals[name] - before[name]) / (uptime - before.uptime) : null);
    setBig("drawn-rate", formatCount(rate("decode_tokens")));
    setText("prefill-rate", formatCount(rate("prefill_tokens")));
    setText("step-rate", formatCount(rate("steps")));
  },

  showRequests(requests, limits) {
    setBig("running", formatCount(requests.running));
    setText("running-max", formatCount(limits.max_running));
    setBig("waiting", formatCount(requests.waiting));
    setText("waiting-max", formatCount(limits.max_queued_requests));
    setText("waiting-tokens", formatCount(requests.waiting_prompt_tokens));
    for (const [name] of this.reasons) {
      const count = requests.waiting_by_reason[name] || 0;
      setText("queue-" + name, formatCount(count));
      byId("queue-bar-" + name).style.width = Math.min(100, (100 * count) / Math.max(1, requests.waiting)) + "%";
    }
  },

  buildQueue() {
    for (const [name, words] of this.reasons) {
      const term = make("dt", "", words);
      const bar = make("div", "bar");
      bar.append(Object.assign(make("i"), { id: "queue-bar-" + name }));
      bar.setAttribute("aria-hidden", "true");
      const count = Object.assign(make("dd", "", "–"), { id: "queue-" + name });
      byId("queue").append(term, bar, count);
    }
  },

  showLimits(limits) {
    const list = byId("limits");
    if (list.children.length === 0) {
      for (const [name, words] of this.limits) {
        const term = make("dt", "", words);
        term.title = "scheduler." + name;
        list.append(term, Object.assign(make("dd"), { id: "limit-" + name }));
      }
    }
    for (const [name, , format] of this.limits) setText("limit-" + name, format(limits[name]));
  },

  showTotals(totals) {
    const share = totals.prompt_tokens > 0 ? Math.round((100 * totals.cached_tokens) / totals.prompt_tokens) : 0;
    setText("totals",
      `Since the start: ${formatCount(totals.steps)} steps, ${formatCount(totals.decode_tokens)} tokens drawn, ` +
      `${share} % of prompt tokens from the cache, ${formatCount(totals.refused)} refused, ` +
      `${formatCount(totals.pauses)} pauses, ${formatCount(totals.preemptions)} preemptions.`);
  },
};

theme.start();
steps.start();
blocks.start();
playground.start();
live.start();
