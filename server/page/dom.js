"use strict";
// What every part of the page uses. Text from anywhere reaches the document through textContent alone.

const byId = (id) => document.getElementById(id);

function setText(id, text) {
  const element = byId(id);
  if (element.textContent !== text) element.textContent = text;
}

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

const wholeFormat = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const formatCount = (value) => (value === null || value === undefined ? "–" : wholeFormat.format(value));

const counted = (count, noun) => `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;

/** A duration as [number, unit], with three digits or so. */
function splitMs(ms) {
  if (ms === null || ms === undefined) return ["–", ""];
  if (ms >= 1000) return [(ms / 1000).toFixed(ms < 100000 ? 2 : 0), "s"];
  return [ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0), "ms"];
}
const formatMs = (ms) => splitMs(ms).join(" ").trim();

function setBig(id, number, unit) {
  const element = byId(id);
  element.replaceChildren(number);
  if (unit) element.append(make("span", "unit", unit));
}

function formatSpan(seconds) {
  if (seconds < 100) return seconds.toFixed(seconds < 10 ? 1 : 0) + " s";
  if (seconds < 6000) return Math.floor(seconds / 60) + " min";
  const hours = Math.floor(seconds / 3600);
  return hours < 48 ? hours + " h" : Math.floor(hours / 24) + " days";
}

const formatAge = (seconds) => (seconds < 1 ? "now" : formatSpan(seconds) + " ago");

/** Makes a canvas as fine as the screen is, and empties it; its context, in CSS pixels. */
function openCanvas(canvas) {
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((length) => Math.round(length * scale));
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  context.font = "12px " + getComputedStyle(canvas).fontFamily;
  context.textBaseline = "top";
  return context;
}

/** What custom properties of the style are worth now, as colours that a canvas understands. */
function coloursOf(element, names) {
  const colours = {};
  for (const name of names) {
    element.style.color = `var(--${name})`;
    colours[name] = getComputedStyle(element).color;
  }
  element.style.color = "";
  return colours;
}

const theme = {
  choices: ["auto", "light", "dark"],
  chosen: "auto",
  listeners: [],

  start() {
    try {
      this.choose(localStorage.getItem("sluice-theme"));
    } catch {
      this.choose("auto"); // storage may be forbidden
    }
    byId("theme").addEventListener("click", () => {
      const next = (this.choices.indexOf(this.chosen) + 1) % this.choices.length;
      this.choose(this.choices[next]);
      try {
        localStorage.setItem("sluice-theme", this.chosen);
      } catch {
        // then it holds until the page is left
      }
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.tell());
  },

  choose(name) {
    this.chosen = this.choices.includes(name) ? name : "auto";
    document.documentElement.dataset.theme = this.chosen;
    setText("theme", "Theme: " + this.chosen);
    this.tell();
  },

  tell() {
    for (const listener of this.listeners) listener();
  },
};
