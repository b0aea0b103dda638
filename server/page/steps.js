// The step timeline: three lanes over the same steps, one column each, the newest on the right.

const steps = {
  kept: [], // oldest first
  keptMax: 2048,
  now: 0, // seconds since the daemon began
  target: 0, // scheduler.tpot_target_ms
  chosen: null, // number of the step that is pointed at
  canvas: byId("steps"),
  column: 4, // pixels, the gap included
  idleMin: 0.25, // seconds without a step that are marked

  start() {
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    theme.listeners.push(() => this.draw());
    this.canvas.addEventListener("pointermove", (event) => this.choose(this.at(event.offsetX)));
    this.canvas.addEventListener("pointerdown", (event) => this.choose(this.at(event.offsetX)));
    this.canvas.addEventListener("pointerleave", () => this.choose(null));
    this.canvas.addEventListener("blur", () => this.choose(null));
    this.canvas.addEventListener("keydown", (event) => this.walk(event));
  },

  clear() {
    this.kept = [];
    this.chosen = null;
  },

  newest() {
    return this.kept.length > 0 ? this.kept[this.kept.length - 1].number : 0;
  },

  /** Takes the columns of an answer. */
  take(columns, now, target) {
    const names = Object.keys(columns).filter((name) => Array.isArray(columns[name]));
    columns.number.forEach((number, i) => {
      if (number <= this.newest()) return;
      this.kept.push(Object.fromEntries(names.map((name) => [name, columns[name][i]])));
    });
    this.kept.splice(0, Math.max(0, this.kept.length - this.keptMax));
    this.now = now;
    this.target = target;
    this.draw();
    this.describe();
    if (byId("steps-rows").closest("details").open) this.fillTable();
  },

  shown() {
    const count = Math.max(1, Math.floor(this.canvas.clientWidth / this.column));
    return this.kept.slice(-count);
  },

  /** The shown step under this place, if there is one. */
  at(x) {
    const shown = this.shown();
    const fromRight = Math.floor((this.canvas.clientWidth - x) / this.column);
    const step = shown[shown.length - 1 - fromRight];
    return step ? step.number : null;
  },

  choose(number) {
    if (number === this.chosen) return;
    this.chosen = number;
    this.draw();
    this.describe();
  },

  walk(event) {
    const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") return this.choose(null);
    if (!(event.key in moves)) return undefined;
    event.preventDefault();
    const shown = this.shown();
    if (shown.length === 0) return undefined;
    const from = shown.findIndex((step) => step.number === this.chosen);
    const to = (from < 0 ? shown.length : from) + moves[event.key];
    return this.choose(shown[Math.min(shown.length - 1, Math.max(0, to))].number);
  },

  /** Says in words what is drawn: of the chosen step, or of all that are shown. */
  describe() {
    const step = this.kept.find((each) => each.number === this.chosen);
    setText("steps-readout", step ? this.sentence(step) : this.summary());
    const shown = this.shown();
    this.canvas.setAttribute("aria-label", "Timeline of steps. " + this.summary() + " Arrow keys go from step to step.");
    const oldest = shown[0];
    const newest = shown[shown.length - 1];
    const age = (each) => formatAge(this.now - each.ended_s);
    // Under the first column, as long as there are too few steps to fill the picture.
    const begin = Math.max(0, this.canvas.clientWidth - this.column * shown.length);
    byId("steps-from").style.paddingLeft = Math.min(begin, Math.max(0, this.canvas.clientWidth - 330)) + "px";
    setText("steps-from", oldest ? `step ${formatCount(oldest.number)}, ${age(oldest)}` : "");
    setText("steps-to", newest ? `step ${formatCount(newest.number)}, ${age(newest)}` : "");
  },

  sentence(step) {
    const foretold = step.predicted_ms === null ? "" : ` (predicted ${formatMs(step.predicted_ms)})`;
    return (
      `Step ${formatCount(step.number)}: ${counted(step.decode_rows, "decode row")}, ` +
      `${counted(step.prefill_tokens, "prefill token")}, ${formatMs(step.took_ms)}${foretold}; ` +
      `${formatCount(step.running)} running, ${formatCount(step.waiting)} waiting, ` +
      `${counted(step.blocks_used, "block")} used.`
    );
  },

  summary() {
    const shown = this.shown();
    if (shown.length === 0) return "No step yet.";
    const sum = (name) => shown.reduce((total, step) => total + step[name], 0);
    const times = shown.map((step) => step.took_ms).sort((a, b) => a - b);
    return (
      `${counted(shown.length, "step")}: ${(sum("decode_rows") / shown.length).toFixed(1)} decode rows each, ` +
      `${formatCount(sum("prefill_tokens"))} prefill tokens in all, ` +
      `median ${formatMs(times[Math.floor(times.length / 2)])}, longest ${formatMs(times[times.length - 1])}.`
    );
  },

  fillTable() {
    const cells = (step) => [
      formatCount(step.number), formatCount(step.decode_rows), formatCount(step.prefill_tokens), formatMs(step.took_ms),
      formatMs(step.predicted_ms), formatCount(step.running), formatCount(step.waiting), formatCount(step.blocks_used),
    ];
    const rows = this.kept.slice(-12).reverse().map((step) => {
      const row = make("tr");
      for (const text of cells(step)) row.append(make("td", "", text));
      return row;
    });
    byId("steps-rows").replaceChildren(...rows);
  },

  draw() {
    const height = this.canvas.clientHeight;
    const paint = {
      context: openCanvas(this.canvas),
      width: this.canvas.clientWidth,
      shown: this.shown(),
      colours: coloursOf(this.canvas, ["ink", "soft", "line", "card", "decode", "prefill", "took", "tick", "target"]),
    };
    const lane = height / 3;
    this.drawGaps(paint, height);
    this.drawChoice(paint, height);
    this.drawLane(paint, { top: 0, height: lane, title: "decode rows", name: "decode_rows", colour: () => "decode" });
    this.drawLane(paint, { top: lane, height: lane, title: "prefill tokens", name: "prefill_tokens", colour: () => "prefill" });
    this.drawLane(paint, {
      top: 2 * lane, height: lane, title: "ms a step", name: "took_ms", tick: "predicted_ms", target: this.target,
      colour: (step) => (step.prefill_tokens > 0 ? "prefill" : "took"),
    });
  },

  x(paint, index) {
    return paint.width - (paint.shown.length - index) * this.column;
  },

  /** Between these two the daemon had nothing to do for a while, or steps went by that nobody looked at. */
  isGap(before, step) {
    const idle = step.ended_s - step.took_ms / 1000 - before.ended_s;
    return step.number !== before.number + 1 || idle > this.idleMin;
  },

  drawGaps(paint, height) {
    paint.context.fillStyle = paint.colours.soft;
    paint.shown.forEach((step, i) => {
      if (i === 0 || !this.isGap(paint.shown[i - 1], step)) return;
      for (let y = 0; y < height - 6; y += 6) paint.context.fillRect(this.x(paint, i) - 1, y, 1, 3);
    });
  },

  drawChoice(paint, height) {
    const index = paint.shown.findIndex((step) => step.number === this.chosen);
    if (index < 0) return;
    paint.context.fillStyle = paint.colours.line;
    paint.context.fillRect(this.x(paint, index) - 1, 0, this.column + 1, height);
  },

  drawLane(paint, lane) {
    const { context, shown, colours, width } = paint;
    const head = 17; // of the lane, for its words
    const base = Math.round(lane.top + lane.height) - 6;
    const room = base - lane.top - head;
    const most = Math.max(0, ...shown.map((step) => step[lane.name]));
    const top = this.topOf(shown, lane, most);
    const heightOf = (value) => (value <= 0 ? 0 : Math.min(room, Math.max(1, (value / top) * room)));
    shown.forEach((step, i) => {
      const x = this.x(paint, i);
      const tall = heightOf(step[lane.name]);
      context.fillStyle = colours[lane.colour(step)];
      context.fillRect(x, base - tall, this.column - 1, tall);
      if (step[lane.name] > top) {
        context.fillStyle = colours.card; // a notch: this one goes on beyond the lane
        context.fillRect(x, base - tall + 5, this.column - 1, 2);
      }
      const tick = lane.tick ? step[lane.tick] : null;
      if (tick === null || tick > top) return;
      context.fillStyle = colours.tick;
      context.fillRect(x - 0.5, base - heightOf(tick) - 0.75, this.column, 1.5);
    });
    context.fillStyle = colours.line;
    context.fillRect(0, base, width, 1);
    if (lane.target > 0 && lane.target <= top) this.drawTarget(paint, base - heightOf(lane.target));
    this.drawWords(paint, lane, most);
  },

  /** The value at a lane's top. One slow step must not flatten all others, so the lane ends at three times what most reach. */
  topOf(shown, lane, most) {
    if (lane.name !== "took_ms") return Math.max(1, most);
    const sorted = shown.map((step) => step.took_ms).sort((a, b) => a - b);
    const usual = sorted.length > 0 ? sorted[Math.floor(0.9 * (sorted.length - 1))] : 0;
    const target = lane.target < 4 * usual ? 1.05 * lane.target : 0;
    return Math.max(1, target, Math.min(most, 3 * usual));
  },

  drawTarget(paint, y) {
    const { context, colours, width } = paint;
    context.strokeStyle = colours.target;
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(0, y);
    context.lineTo(width, y);
    context.stroke();
    context.setLineDash([]);
  },

  drawWords(paint, lane, most) {
    const { context, colours, width } = paint;
    const peak = lane.name === "took_ms" ? formatMs(most) : formatCount(most);
    context.fillStyle = colours.soft;
    context.textAlign = "left";
    context.fillText(lane.title, 0, lane.top + 1);
    context.textAlign = "right";
    context.fillText("peak " + peak, width, lane.top + 1);
    if (!(lane.target > 0)) return;
    context.textAlign = "center";
    context.fillStyle = colours.target;
    context.fillText((width < 420 ? "target " : "TPOT target ") + formatMs(lane.target), width / 2, lane.top + 1);
  },
};
