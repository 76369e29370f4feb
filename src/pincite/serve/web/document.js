/** One document: what is known of it, its outline, its versions, its text with the passages, its pages as images. */

import * as api from "./api.js";
import * as documents from "./documents.js";
import { button, el, emptyState, failed, fill, flowing, icon, loading, notice, tabs } from "./dom.js";
import { CODE, picture, unpainted } from "./passage.js";
import { ago, day, decoded, documentName, length, line, plural, size, units, visible } from "./text.js";

const WINDOW = 12_000; // code points that are read at a time
const LANGUAGES = typeof Intl.DisplayNames === "function" ? new Intl.DisplayNames(["en"], { type: "language" }) : null;

/** @param {HTMLElement} root @param {import("./app.js").App} app */
export function mount(root, app) {
  let view = null;
  const stop = documents.opened(root, back, "Opening the document…", async (signal, again) => {
    const one = await api.get(path(app.route.id), {}, signal);
    app.title(documentName(one));
    view = new View(one, app, again, signal);
    fill(root, view.node);
    await view.open();
  });
  return () => {
    stop();
    view?.end();
  };
}

const WIDE = () => matchMedia("(min-width: 901px)").matches; // otherwise the text comes first
const path = (id, more = "") => `/v1/documents/${encodeURIComponent(id)}${more}`;
const back = () => el("a.back", { href: "#/library" }, icon("back"), "Library");

/** A number in the address. */
function numberOf(params, name) {
  const value = Number.parseInt(params.get(name) ?? "", 10);
  return Number.isNaN(value) ? null : value;
}

class View {
  /** @param {any} one @param {import("./app.js").App} app @param {() => void} reload @param {AbortSignal} signal */
  constructor(one, app, reload, signal) {
    Object.assign(this, { one, app, reload, signal });
    const { params } = app.route;
    this.version = numberOf(params, "version") || one.version;
    this.span = [numberOf(params, "start"), numberOf(params, "end")];
    this.reader = new Reader(one, signal);
    this.pages = el("div.pages", { hidden: true });
    this.labels = el("span.row");
    this.drawLabels();
    this.node = el(
      "div.page.document", back(), this.head(), documents.problemOf(one) && notice(one.stale ? "warn" : "info", documents.problemOf(one)),
      el("div.document-columns", el("div.stack.document-about", this.outline(), this.facts()), one.version ? el("section.stack", { "aria-label": "Text" }, this.bar(), this.reader.node, this.pages) : emptyState("file", "Nothing of it could be read", el("p", { text: "It is not searched, and answers do not come from it." }))),
    );
  }

  end() {
    this.reader.end();
    this.watcher?.disconnect();
  }

  head() {
    const { one, app } = this;
    const name = documentName(one);
    const original = () => api.download(path(one.id, "/original"), one.name || "document").catch(app.failed);
    const redo = async () => (await documents.retry(one, app), this.reload());
    const drop = async () => (await documents.remove(one, app)) && app.go("/library");
    return el(
      "header.page-head",
      el("div.grow", el("h1", { dir: "auto", text: name }), el("div.row", documents.stateTag(one), this.labels)),
      el(
        "div.row",
        one.version > 0 && el("a.button", { href: api.address("#/", { in: line(one.name).split("/").pop() }) }, icon("ask"), "Ask about it"),
        button("Original file", { icon: "download", on: original }),
        app.canEdit && documents.canRetry(one) && button("Read again", { icon: "retry", on: redo }),
        app.canEdit && button("Remove", { icon: "trash", kind: "danger", on: drop }),
      ),
    );
  }

  drawLabels() {
    const { one, app } = this;
    const edit = async () => {
      const labels = await documents.editLabels(one, app);
      if (labels === null) return;
      one.labels = labels;
      this.drawLabels();
    };
    const may = app.me.role === "admin" && !app.me.read_only;
    fill(this.labels, documents.labelTags(one), may && button(one.labels?.length ? "Edit labels" : "Add labels", { icon: "key", kind: "quiet", on: edit }));
  }

  facts() {
    const { one } = this;
    const rows = [
      ["File", el("bdi", { text: line(one.uri.includes("/uploads/") ? one.name : decoded(one.uri), 400) })],
      ["Kind", documents.kind(one.media_type)],
      ["Size", size(one.size || 0)],
      ["Language", one.language && (LANGUAGES?.of(one.language) || one.language)],
      ["Pages", one.pages > 0 && one.pages.toLocaleString("en")],
      ["Passages", one.passages > 0 && one.passages.toLocaleString("en")],
      ["Changed", one.modified && day(one.modified)],
      ["Added", one.added && ago(one.added)],
      ["Last checked", one.checked && ago(one.checked)],
      ...Object.entries(one.metadata || {}).filter(([name]) => name !== "name").map(([name, value]) => [line(name, 60), el("bdi", { text: line(String(value), 400) })]),
    ];
    return el("details.facts", { open: WIDE() }, el("summary", { text: "About this document" }), el("dl", rows.filter(([, value]) => value).map(([name, value]) => [el("dt", { text: name, dir: "auto" }), el("dd", value)])));
  }

  outline() {
    const { outline = [] } = this.one;
    if (!outline.length) return null;
    const go = (start) => (event) => {
      event.preventDefault();
      this.tabs.choose("Text");
      this.reader.open(this.version, start, null);
    };
    return el("details.outline", { open: WIDE() && outline.length < 60 }, el("summary", { text: "Outline" }), el("ul", outline.map((part) => el("li", { style: { "--level": Math.min(Math.max(part.level - 1, 0), 5) } }, el("a", { href: `#/library/${encodeURIComponent(this.one.id)}?start=${part.start}`, dir: "auto", text: line(part.title, 120), on: { click: go(part.start) } })))));
  }

  /** Above the text: which version, passages, text or pages. */
  bar() {
    const { one } = this;
    const versions = one.versions || [];
    const select = versions.length > 1 && el("select.input", { "aria-label": "Version", on: { change: () => this.changeVersion(Number(select.value)) } }, versions.map((each) => el("option", { value: each.version, text: `Version ${each.version}${each.version === one.version ? " (newest)" : ""}${each.added ? `, ${day(each.added)}` : ""}` })));
    if (select) select.value = String(this.version);
    this.old = el("p.small.muted", { hidden: true });
    this.tabs = tabs("How to see it", { Text: () => this.show(false), Pages: () => this.show(true) });
    const passages = (this.passagesButton = button("Show passages", { kind: "quiet", "aria-pressed": "false", on: () => {
      const on = passages.getAttribute("aria-pressed") !== "true";
      passages.setAttribute("aria-pressed", String(on));
      this.reader.showPassages(on);
    } }));
    return el("div.stack.tight", el("div.row.spread", el("div.row", one.pages > 0 && this.tabs.node, select), passages), this.old);
  }

  async open() {
    if (!this.one.version) return;
    this.tabs.choose("Text");
    const [start, end] = this.span;
    await this.changeVersion(this.version, start, end);
  }

  async changeVersion(version, start = null, end = null) {
    this.version = version;
    this.old.hidden = version === this.one.version;
    this.old.textContent = `You are reading version ${version}; answers come from version ${this.one.version}.`;
    fill(this.pages);
    this.show(!this.pages.hidden);
    await this.reader.open(version, start ?? 0, end);
  }

  /** Show the pages as they look, or the text. @param {boolean} painted */
  show(painted) {
    this.reader.node.hidden = painted;
    this.pages.hidden = !painted;
    this.passagesButton.hidden = painted;
    if (!painted || this.pages.childElementCount) return;
    const { one, version } = this;
    const load = (seen) => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue;
        this.watcher.unobserve(target);
        image(target, one, version, this.signal);
      }
    };
    this.watcher?.disconnect();
    this.watcher = new IntersectionObserver(load, { rootMargin: "400px" });
    for (let n = 1; n <= one.pages; n += 1) {
      const figure = el("figure.page-image", { data: { page: n } }, el("div.blank", loading(`Page ${n}`)), el("figcaption.small.muted", { text: `Page ${n} of ${one.pages}` }));
      this.pages.append(figure);
      this.watcher.observe(figure);
    }
  }
}

/** Put the image of a page into its figure. */
async function image(figure, one, version, signal) {
  const n = figure.dataset.page;
  const place = figure.firstElementChild;
  try {
    place.replaceWith(await picture(api.address(path(one.id, `/pages/${n}.png`), { version }), `Page ${n} of ${documentName(one)}`, signal));
  } catch (failure) {
    const again = () => (fill(place, loading(`Page ${n}`)), image(figure, one, version, signal));
    if (failure.name !== "AbortError") fill(place, failure.status === 404 ? unpainted() : failed(failure, again));
  }
}

/** The canonical text of one version, a window at a time, with the passages and a marked span. */
class Reader {
  /** @param {any} one @param {AbortSignal} signal */
  constructor(one, signal) {
    Object.assign(this, { one, signal, version: one.version, passages: [], from: 0, to: 0, length: 0, span: [null, null], busy: false });
    this.text = el("div.reading.text", { tabindex: "0", role: "region", "aria-label": `Text of ${documentName(one)}`, dir: "auto" });
    this.before = el("div.more");
    this.after = el("div.more");
    this.node = el("div.reader.card", this.before, this.text, this.after);
    this.watcher = new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && this.further());
    this.watcher.observe(this.after);
  }

  end() {
    this.watcher.disconnect();
  }

  showPassages(on) {
    this.text.classList.toggle("with-passages", on);
  }

  /** Show a version around a place. @param {number} version @param {number} start @param {number | null} end of a span to mark */
  async open(version, start, end) {
    this.version = version;
    this.span = end === null ? [null, null] : [start, end];
    this.from = this.to = Math.max(0, start - (end === null ? 0 : 1500));
    fill(this.text);
    fill(this.before);
    fill(this.after, loading("Reading …"));
    try {
      [this.passages] = await Promise.all([this.passagesOf(version), this.read(false)]);
    } catch (failure) {
      if (failure.name !== "AbortError") fill(this.after, failed(failure, () => this.open(version, start, end)));
      return;
    }
    this.draw();
    const mark = this.text.querySelector("mark");
    if (mark) mark.scrollIntoView({ block: "center" });
    else if (start > 0) this.text.scrollIntoView({ block: "start" });
    if (start > 0) this.text.focus({ preventScroll: true });
  }

  /** Where the passages are; the text is worth reading without them. */
  async passagesOf(version) {
    try {
      return (await api.get(path(this.one.id, "/passages"), { version }, this.signal)).passages;
    } catch (failure) {
      if (failure.name === "AbortError") throw failure;
      return [];
    }
  }

  /** Read a window after, or before, what is there. @param {boolean} earlier */
  async read(earlier) {
    const start = earlier ? Math.max(0, this.from - WINDOW) : this.to;
    const end = earlier ? this.from : this.to + WINDOW;
    const part = await api.get(path(this.one.id, "/text"), { version: this.version, start, end }, this.signal);
    if (earlier) this.from = part.start;
    else this.to = part.end;
    this.length = part.length;
    this.parts = earlier ? part.text + this.parts : start === this.from ? part.text : this.parts + part.text;
  }

  further = async (earlier = false) => {
    if (this.busy || (earlier ? this.from === 0 : this.to >= this.length)) return;
    this.busy = true;
    const place = earlier ? this.before : this.after;
    fill(place, loading("Reading …"));
    try {
      await this.read(earlier);
      this.draw();
    } catch (failure) {
      if (failure.name !== "AbortError") fill(place, failed(failure, () => this.further(earlier)));
    } finally {
      this.busy = false;
    }
  };

  draw() {
    const pieces = this.pieces();
    fill(this.text, pieces);
    if (!this.length) fill(this.text, el("p.muted", { text: "There is no text in this document." }));
    fill(this.before, this.from > 0 && button("Show earlier text", { kind: "quiet", on: () => this.further(true) }));
    fill(this.after, this.to < this.length && button(`Show more (${plural(this.length - this.to, "character")} left)`, { kind: "quiet", on: () => this.further() }));
  }

  /** Cut the window where passages and the marked span begin and end. */
  pieces() {
    const { from, to, parts = "" } = this;
    const [start, end] = this.span;
    const inside = this.passages.filter((passage) => passage.end > from && passage.start < to);
    const edges = [from, to, ...inside.flatMap((passage) => [passage.start, passage.end]), ...(end === null ? [] : [start, end])];
    const cuts = [...new Set(edges.filter((edge) => edge >= from && edge <= to))].sort((a, b) => a - b);
    const whole = Math.min(to, from + length(parts));
    const at16 = units(parts);
    const flow = CODE.test(this.one.media_type || "") ? (start, end) => visible(parts.slice(start, end)) : flowing(parts);
    let next = 0;
    return cuts.slice(0, -1).map((at, n) => {
      const until = Math.min(cuts[n + 1], whole);
      while (next < inside.length && inside[next].end <= at) next += 1;
      const passage = inside[next] && inside[next].start <= at ? inside[next] : null;
      const words = flow(at16(at - from), at16(until - from));
      const marked = end !== null && at >= start && until <= end;
      const node = marked ? el("mark", words) : words;
      return passage ? el("span.passage", { class: next % 2 ? "odd" : "even", title: passage.page ? `Passage on page ${passage.page}` : null }, node) : node;
    });
  }
}
