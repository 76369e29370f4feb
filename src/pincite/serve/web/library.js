/** The library: adding documents, and finding, judging and removing those that are there. */

import * as api from "./api.js";
import * as document_ from "./document.js";
import * as documents from "./documents.js";
import { button, el, emptyState, failed, fill, icon, loading, notice } from "./dom.js";
import { ago, decoded, documentName, line, plural, size } from "./text.js";
import { tray } from "./tray.js";
import * as uploads from "./upload.js";
import { watched } from "./watch.js";

const PAGE = 100;
const SORTS = { name: "By name", "-added": "Newest first", "-modified": "Last changed first", "-size": "Largest first" };

/** Take files that were dropped anywhere on the page. @param {DataTransfer} transfer @param {import("./app.js").App} app */
export function receive(transfer, app) {
  if (app.canEdit) uploads.start(uploads.dropped(transfer), app);
}

/** @param {HTMLElement} root @param {import("./app.js").App} app */
export function mount(root, app) {
  return app.route.id ? document_.mount(root, app) : new List(root, app).end;
}

/** The list of documents. */
class List {
  /** @param {HTMLElement} root @param {import("./app.js").App} app */
  constructor(root, app) {
    const { params } = app.route;
    this.app = app;
    this.query = { q: params.get("q") || "", status: params.get("status") || "", media_type: params.get("kind") || "", label: params.get("label") || "", sort: params.get("sort") || "name" };
    this.cursor = null;
    this.shown = 0;
    this.total = 0;
    this.asking = new AbortController();
    this.tray = el("div.tray");
    this.buttons = el("div.row", { hidden: true }, app.canEdit && [uploads.addButtons(app), button("Followed folders", { icon: "follow", kind: "quiet", on: () => watched(app), title: "Folders of this computer that are kept up to date" })]);
    this.tools = el("div.tools");
    this.banner = el("div.stack.tight");
    this.rows = el("ul.docs", { "aria-label": "Documents" });
    this.count = el("p.small.muted", { id: "count" });
    this.more = el("div.more");
    this.body = el("div.stack");
    fill(root, el("div.page", this.head(), this.tray, this.body));
    this.endTray = tray(this.tray, app);
    this.onDocuments = ({ detail }) => {
      if (detail !== "more" || (this.shown < PAGE && !this.rows.contains(document.activeElement))) this.load();
    };
    document.addEventListener("pincite:documents", this.onDocuments);
    this.end = () => {
      this.asking.abort();
      this.endTray();
      this.watcher?.disconnect();
      document.removeEventListener("pincite:documents", this.onDocuments);
    };
    fill(this.body, loading("Reading the list …"));
    this.load();
    uploads.adopt(app).catch(() => {}); // the list says what is wrong
  }

  head() {
    return el(
      "header.page-head",
      el("div", el("h1", { text: "Library" }), el("p", { text: "The documents that answers come from." })),
      this.buttons,
    );
  }

  /** Read the first page of the list. */
  async load() {
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    try {
      const found = await this.page(null, signal);
      if (found.counts) this.counts = found.counts;
      if (!this.counts?.all && !found.documents.length && !this.filtered()) return this.showEmpty();
      this.shown = 0;
      this.buttons.hidden = !this.app.canEdit;
      if (!this.tools.contains(document.activeElement)) this.drawTools(); // there may be other kinds now
      if (!this.rows.isConnected) {
        fill(this.body, this.banner, this.tools, this.count, this.rows, this.more);
      }
      this.drawBanner();
      fill(this.rows);
      this.add(found);
      this.app.say(this.count.textContent);
    } catch (failure) {
      const there = this.rows.isConnected; // what is there stays
      if (there) this.banner.hidden = false;
      documents.troubled(there ? this.banner : this.body, failure, () => this.load(), signal);
    }
  }

  /** @param {string | null} cursor @param {AbortSignal} signal */
  page(cursor, signal) {
    const { status, ...rest } = this.query;
    const state = status === "stale" ? { stale: true } : { status };
    return api.get("/v1/documents", { ...rest, ...state, cursor, limit: PAGE }, signal);
  }

  filtered() {
    const { q, status, media_type, label } = this.query;
    return Boolean(q || status || media_type || label);
  }

  /** Show one more page. */
  add({ documents: found, next }) {
    this.cursor = next;
    this.shown += found.length;
    for (const one of found) this.rows.append(this.row(one));
    const all = this.counts?.all ?? this.shown;
    const words = this.filtered() ? `${this.shown.toLocaleString("en")}${next ? "+" : ""} of ${plural(all, "document")}` : next ? `${this.shown.toLocaleString("en")} of ${plural(all, "document")}` : plural(this.shown, "document");
    this.count.textContent = words;
    this.watcher?.disconnect();
    if (!this.shown) return fill(this.more, emptyState("search", "Nothing matches", el("p", { text: "No document fits these words and filters." }), button("Show all", { on: () => this.clear() })));
    if (!next) return fill(this.more);
    const control = button("Show more", { on: () => this.further() });
    fill(this.more, control);
    this.watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.further(), { rootMargin: "600px" });
    this.watcher.observe(control);
    return undefined;
  }

  async further() {
    const cursor = this.cursor;
    if (!cursor) return;
    this.cursor = null;
    fill(this.more, loading("Reading more…"));
    try {
      this.add(await this.page(cursor, this.asking.signal));
    } catch (failure) {
      if (failure.name === "AbortError") return;
      fill(this.more, failed(failure, () => ((this.cursor = cursor), this.further())));
    }
  }

  clear() {
    Object.assign(this.query, { q: "", status: "", media_type: "", label: "" });
    this.drawTools();
    this.changed();
  }

  /** The query has changed: keep it in the address, without leaving the view, and ask again. */
  changed() {
    const { q, status, media_type, label, sort } = this.query;
    const address = api.address("#/library", { q, status, kind: media_type, label, sort: sort === "name" ? "" : sort });
    history.replaceState(null, "", address);
    this.load();
  }

  drawTools() {
    const search = el("input.input", { type: "search", placeholder: "Search names and titles", "aria-label": "Search names and titles", value: this.query.q });
    search.addEventListener("input", documents.later(() => ((this.query.q = search.value.trim()), this.changed())));
    const { status = {}, media_type: kinds = {}, labels = {}, stale = 0 } = this.counts || {};
    const states = { "": "Any state" };
    if (stale) states.stale = `Stale (${stale})`;
    for (const [key, [, , words]] of Object.entries(documents.STATES)) if (status[key]) states[key] = `${words} (${status[key]})`;
    const counted = (of, words) => Object.fromEntries(Object.entries(of).map(([key, count]) => [key, `${words(key)} (${count})`]));
    fill(
      this.tools,
      el("div.search", icon("search"), search),
      this.choice("State", "status", states, 2),
      this.choice("Kind", "media_type", { "": "Any kind", ...counted(kinds, documents.kind) }, 2),
      this.choice("Label", "label", { "": "Any label", ...counted(labels, (label) => line(label, 40)) }, 1),
      this.choice("Order", "sort", SORTS, 1),
    );
  }

  /** A choice; with no more than `least` options besides "any" there is nothing to choose. */
  choice(label, key, options, least) {
    if (Object.keys(options).length <= least && !this.query[key]) return null;
    if (this.query[key] && !(this.query[key] in options)) options[this.query[key]] = line(this.query[key], 40);
    const select = el("select.input", { "aria-label": label }, Object.entries(options).map(([value, words]) => el("option", { value, text: words })));
    select.value = this.query[key];
    select.addEventListener("change", () => ((this.query[key] = select.value), this.changed()));
    return select;
  }

  drawBanner() {
    const { stale = 0, status = {} } = this.counts || {};
    const show = (state) => button("Show", { on: () => ((this.query.status = state), this.drawTools(), this.changed()) });
    const notices = [];
    if (stale && this.query.status !== "stale") {
      notices.push(notice("warn", `${plural(stale, "document")} ${stale === 1 ? "is" : "are"} stale: answers come from an older version, because the newest could not be read.`, { actions: [show("stale")] }));
    }
    const failed = (status.failed || 0) - stale; // what is stale has failed, too
    if (failed > 0 && this.query.status !== "failed") {
      notices.push(notice("info", `${plural(failed, "document")} could not be read.`, { actions: [show("failed")] }));
    }
    fill(this.banner, notices);
    this.banner.hidden = !notices.length;
  }

  /** @param {any} one a document */
  row(one) {
    const name = documentName(one);
    const file = line(one.name || "", 120);
    const about = [
      file && file !== name ? el("bdi", { text: file }) : documents.kind(one.media_type),
      size(one.size || 0),
      one.passages > 0 && plural(one.passages, "passage"),
      one.version > 1 && `version ${one.version}`,
      one.added && `added ${ago(one.added)}`,
    ].filter(Boolean);
    const node = el("li.doc", { class: one.stale ? "stale" : documents.stateOf(one) });
    const bare = (label, sign, on) => button(`${label} ${name}`, { icon: sign, bare: true, kind: "quiet", on });
    const redo = async () => (await documents.retry(one, this.app), this.load());
    const drop = async () => {
      if (!(await documents.remove(one, this.app))) return;
      const next = node.nextElementSibling || node.previousElementSibling;
      /** @type {HTMLElement | null} */ (next?.querySelector("a"))?.focus();
      node.remove();
      if (this.counts) this.counts.all -= 1;
      if (!this.counts?.all) this.showEmpty();
    };
    fill(
      node,
      el("span.doc-kind", { "aria-hidden": "true", text: documents.ending(one) }),
      el("div.doc-main", el("a.doc-name", { href: `#/library/${encodeURIComponent(one.id)}`, title: line(decoded(one.uri), 300), dir: "auto", text: name }), el("p.small.muted.doc-about", about.map((part, at) => [at > 0 && " · ", part])), documents.problemOf(one)),
      el("div.doc-signs", documents.labelTags(one), documents.stateTag(one)),
      this.app.canEdit && el("div.doc-actions", documents.canRetry(one) && bare("Read again:", "retry", redo), bare("Remove", "trash", drop)),
    );
    return node;
  }

  showEmpty() {
    this.buttons.hidden = true;
    if (uploads.batches.some((batch) => !uploads.ended(batch))) return fill(this.body); // they are on their way
    fill(this.body, this.app.canEdit ? newcomer(this.app) : emptyState("library", "There is nothing here for you yet", el("p", { text: "No document is open to you. Whoever runs this library can add some, or give your key a label." })));
  }
}

/** What someone sees who has nothing in his library. @param {import("./app.js").App} app */
function newcomer(app) {
  return el(
    "section.card.newcomer",
    emptyState(
      "upload",
      "Add your first documents",
      el("p", { text: "Drop files or a whole folder here: PDF, Word, Markdown, web pages, mail, tables, notebooks, code. Then ask, and see for each sentence where it stands." }),
      el("div.row", uploads.addButtons(app)),
      el("p.small", "They are read on this machine and stay on it. To keep a folder up to date by itself, ", el("button.link", { type: "button", text: "follow it", on: { click: () => watched(app) } }), "."),
    ),
  );
}
