// The map of KV blocks: squares of equally many blocks, in the proportions of what the blocks are doing.

const blocks = {
  kinds: ["used", "reserved", "cached", "free"],
  squaresMax: 420,
  mapHeight: 150, // pixels, about
  map: byId("blocks"),
  course: byId("blocks-course"),
  total: 0,

  start() {
    new ResizeObserver(() => this.drawCourse()).observe(this.course);
    theme.listeners.push(() => this.drawCourse());
  },

  show(figures) {
    this.total = figures.total;
    const counts = this.counts(figures);
    const each = this.blocksPerSquare(figures.total);
    this.fill(this.squares(counts, figures.total, each));
    for (const kind of this.kinds) setText("blocks-" + kind, formatCount(counts[kind]));
    setText("blocks-scale", `a square is ${each === 1 ? "a block" : each + " blocks"} of ${figures.size} tokens; ${formatCount(figures.total)} blocks`);
    this.map.setAttribute("aria-label", "Map of KV blocks: " + this.kinds.map((kind) => `${formatCount(counts[kind])} ${kind}`).join(", "));
    setText("blocks-note", this.note(figures, counts));
    this.drawCourse();
  },

  /** How used, cached and reserved blocks went over the steps of the timeline, column by column. */
  drawCourse() {
    const [width, height] = [this.course.clientWidth, this.course.clientHeight];
    const context = openCanvas(this.course);
    const colours = coloursOf(this.course, ["used", "cached", "tick", "line"]);
    const shown = steps.kept.slice(-Math.max(1, Math.floor(width / steps.column)));
    const tallOf = (count) => Math.min(height, (count / Math.max(1, this.total)) * height);
    shown.forEach((step, i) => {
      const x = width - (shown.length - i) * steps.column;
      const [used, cached] = [tallOf(step.blocks_used), tallOf(step.blocks_cached)];
      context.fillStyle = colours.used;
      context.fillRect(x, height - used, steps.column, used);
      context.fillStyle = colours.cached;
      context.globalAlpha = 0.45;
      context.fillRect(x, height - used - cached, steps.column, cached);
      context.globalAlpha = 1;
      context.fillStyle = colours.tick;
      context.fillRect(x, height - Math.max(1.5, tallOf(step.blocks_reserved)), steps.column, 1.5);
    });
    context.fillStyle = colours.line;
    context.fillRect(0, 0, width, 1);
    context.fillRect(0, height - 1, width, 1);
  },

  /**
   * Parts that add up to the pool. What is reserved beyond the used blocks will be taken from free ones, and cached
   * content goes only when no other block is left, so it counts as reserved last.
   */
  counts({ total, used, reserved, cached }) {
    const promised = Math.max(0, Math.min(reserved - used, total - used));
    const kept = Math.max(0, Math.min(cached, total - used - promised));
    return { used, reserved: promised, cached: kept, free: Math.max(0, total - used - promised - kept) };
  },

  note({ total, used, reserved, cached, shared }, counts) {
    const parts = [`${Math.round((100 * used) / Math.max(1, total))} % used`];
    parts.push(`${Math.round((100 * reserved) / Math.max(1, total))} % reserved at all sequences' caps`);
    if (reserved > total) parts.push("more than there are, as most answers end before their cap");
    if (cached > counts.cached) parts.push(`${formatCount(cached - counts.cached)} more cached ones are among the reserved`);
    if (shared > 0) parts.push(`${formatCount(shared)} of the used are shared`);
    return parts.join("; ") + ".";
  },

  blocksPerSquare(total) {
    const least = Math.max(1, Math.ceil(total / this.squaresMax));
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((digit) => digit * power).find((each) => each >= least);
  },

  /** Squares of each kind, by largest remainder; a kind that has blocks has a square. */
  squares(counts, total, each) {
    const all = Math.ceil(total / each);
    const shares = this.kinds.map((kind) => ({ kind, exact: total > 0 ? (counts[kind] / total) * all : 0 }));
    for (const share of shares) share.count = share.exact > 0 ? Math.max(1, Math.floor(share.exact)) : 0;
    let left = all - shares.reduce((sum, share) => sum + share.count, 0);
    const need = (share) => share.exact - share.count;
    while (left > 0) {
      shares.reduce((a, b) => (need(b) > need(a) ? b : a)).count += 1;
      left -= 1;
    }
    while (left < 0) {
      shares.filter((share) => share.count > 1).reduce((a, b) => (need(b) < need(a) ? b : a)).count -= 1;
      left += 1;
    }
    return shares.flatMap(({ kind, count }) => Array(count).fill(kind));
  },

  /** As large as they can be without the map getting higher than it should. */
  fill(squares) {
    const side = Math.sqrt((this.map.clientWidth * this.mapHeight) / Math.max(1, squares.length)) - 3;
    this.map.style.setProperty("--side", Math.floor(Math.min(24, Math.max(9, side))) + "px");
    while (this.map.children.length > squares.length) this.map.lastChild.remove();
    while (this.map.children.length < squares.length) this.map.append(make("i"));
    squares.forEach((kind, i) => {
      const square = this.map.children[i];
      if (square.className !== kind) square.className = kind;
    });
  },
};
