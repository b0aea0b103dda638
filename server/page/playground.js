// The playground: a conversation over the same API that every client uses, and its ledger. All that a person types and
// a model answers is hostile text.

const playground = {
  parts: ["queue", "prefill", "decode", "interference", "pause", "delivery"],
  turnsMax: 20, // of a conversation that are sent again
  hasChat: true,
  turns: [],
  aborter: null,

  start() {
    byId("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    byId("prompt").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.send();
    });
    byId("stop").addEventListener("click", () => this.aborter && this.aborter.abort());
    byId("fresh").addEventListener("click", () => this.forget());
  },

  setMode(hasChat) {
    if (hasChat === this.hasChat) return;
    this.hasChat = hasChat;
    setText("play-mode", hasChat ? "a conversation with the model" : "this model has no chat template: it continues your text");
    setText("prompt-label", hasChat ? "Message" : "Text to continue");
  },

  forget() {
    if (this.aborter) this.aborter.abort();
    this.turns = [];
    const empty = make("p", "empty", "Nothing asked yet.");
    byId("log").replaceChildren(empty);
    byId("ledger").hidden = true;
    setText("play-status", "A new conversation.");
    byId("prompt").focus();
  },

  addTurn(kind, name, text) {
    const empty = byId("log").querySelector(".empty");
    if (empty) empty.remove();
    const turn = make("div", "turn " + kind);
    turn.append(make("b", "", name));
    const body = make("span", "", text);
    turn.append(body);
    byId("log").append(turn);
    byId("log").scrollTop = byId("log").scrollHeight;
    return body;
  },

  body(prompt) {
    const common = {
      max_tokens: byId("max-tokens").valueAsNumber,
      temperature: byId("temperature").valueAsNumber,
      stream: true,
      stream_options: { include_usage: true },
    };
    if (!this.hasChat) return ["/v1/completions", { prompt, ...common }];
    const messages = [...this.turns.slice(-this.turnsMax), { role: "user", content: prompt }];
    return ["/v1/chat/completions", { messages, ...common }];
  },

  async send() {
    const prompt = byId("prompt").value;
    if (this.aborter || !byId("ask").reportValidity()) return;
    if (prompt === "") {
      setText("play-status", "Write something first.");
      byId("prompt").focus();
      return;
    }
    const [path, body] = this.body(prompt);
    const key = byId("key").value;
    this.aborter = new AbortController();
    this.setBusy(true);
    byId("ledger").hidden = true;
    byId("prompt").value = "";
    this.addTurn("asked", this.hasChat ? "You" : "Text", prompt);
    const answer = { text: "", pieces: 0, began: performance.now(), first: null, end: null, out: this.addTurn("answered", "Model", "") };
    try {
      const headers = { "Content-Type": "application/json", ...(key ? { Authorization: "Bearer " + key } : {}) };
      const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal: this.aborter.signal });
      if (!response.ok) throw new Error(await this.reason(response));
      await this.read(response.body, (event) => this.takeEvent(event, answer));
      this.finish(prompt, answer);
    } catch (failure) {
      this.fail(failure, answer);
    } finally {
      this.aborter.abort(); // nothing of a failed answer is read on
      this.aborter = null;
      this.setBusy(false);
    }
  },

  setBusy(isBusy) {
    const stop = byId("stop");
    byId("send").disabled = isBusy;
    if (!isBusy && document.activeElement === stop) byId("prompt").focus(); // a disabled button would lose the focus
    stop.disabled = !isBusy;
    if (isBusy) setText("play-status", "Waiting for the first token.");
  },

  async reason(response) {
    try {
      const { error } = await response.json();
      const field = error.param ? ` (${error.param})` : "";
      return `${response.status}: ${error.message}${field}`;
    } catch {
      return `${response.status}: the daemon gave no reason`;
    }
  },

  /** Server-sent events: each is lines, an empty line ends it, and only `data:` counts here. */
  async read(stream, take) {
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    let held = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const events = (held + value).split("\n\n");
      held = events.pop();
      for (const event of events) {
        const data = event.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
        if (data !== "" && data !== "[DONE]") take(JSON.parse(data));
      }
    }
  },

  takeEvent(event, answer) {
    if (event.error) throw new Error(event.error.message);
    if (event.sluice) answer.end = event;
    for (const choice of event.choices || []) {
      const piece = (choice.delta ? choice.delta.content : choice.text) || "";
      if (piece !== "") this.addPiece(piece, answer);
    }
  },

  addPiece(piece, answer) {
    if (answer.first === null) {
      answer.first = performance.now();
      setText("play-status", "Answering.");
    }
    const log = byId("log");
    const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 24;
    answer.text += piece;
    answer.out.append(piece);
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  },

  finish(prompt, answer) {
    if (this.hasChat) this.turns.push({ role: "user", content: prompt }, { role: "assistant", content: answer.text });
    if (!answer.end) throw new Error("the answer ended without its last event");
    const first = answer.first === null ? "" : `; the first token was here after ${formatMs(answer.first - answer.began)}`;
    setText("play-status", `Done: ${counted(answer.end.usage.completion_tokens, "token")}${first}.`);
    this.showLedger(answer.end);
  },

  fail(failure, answer) {
    if (answer.text === "") answer.out.parentElement.remove();
    if (failure.name === "AbortError") {
      setText("play-status", "Stopped. The ledger comes with an answer's last event, so there is none.");
      return;
    }
    const text = failure instanceof TypeError ? "The daemon can't be reached." : failure.message;
    this.addTurn("failed", "No answer", text);
    setText("play-status", "Failed: " + text);
  },

  showLedger({ sluice, usage }) {
    const segments = this.parts.map((part) => {
      const segment = make("i", "part-" + part);
      segment.style.flexGrow = String(sluice[part + "_ms"]);
      return segment;
    });
    byId("stack").replaceChildren(...segments);
    byId("stack").setAttribute("aria-label", this.parts.map((part) => `${part} ${formatMs(sluice[part + "_ms"])}`).join(", "));
    const entries = this.parts.map((part) => this.entry(part, sluice[part + "_ms"], "key part-" + part));
    const whole = this.entry("end to end", sluice.end_to_end_ms);
    whole.className = "whole";
    byId("parts").replaceChildren(...entries, whole);
    const details = usage.prompt_tokens_details || {};
    setText("usage",
      `${counted(usage.prompt_tokens, "prompt token")}, ${formatCount(details.cached_tokens || 0)} of them cached; ` +
      `${counted(usage.completion_tokens, "token")} answered; TTFT ${formatMs(sluice.ttft_ms)}, TPOT ${formatMs(sluice.tpot_ms)}.`);
    byId("ledger").hidden = false;
  },

  entry(name, ms, key) {
    const entry = make("div");
    const term = make("dt", "", name);
    if (key) term.prepend(make("i", key));
    const value = make("dd", "", ms.toFixed(2) + " ms");
    value.dataset.part = name;
    entry.append(term, value);
    return entry;
  },
};
