/** What the list of documents and the page of one have in common: kinds, states, and what can be done with a document. */

import * as api from "./api.js";
import { button, confirmed, dialog, el, emptyState, failed, field, fill, form, icon, loading } from "./dom.js";
import { documentName, line } from "./text.js";

const KINDS = {
  "application/pdf": "PDF",
  "text/markdown": "Markdown",
  "text/plain": "Text",
  "text/html": "Web page",
  "text/csv": "Table",
  "text/tab-separated-values": "Table",
  "application/json": "JSON",
  "application/x-ndjson": "JSON lines",
  "application/xml": "XML",
  "message/rfc822": "Mail",
  "application/mbox": "Mailbox",
  "application/epub+zip": "Book",
  "application/rtf": "RTF",
  "application/msword": "Word",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Spreadsheet",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "Slides",
  "application/vnd.oasis.opendocument.text": "OpenDocument",
  "application/x-ipynb+json": "Notebook",
};

/** A media type in words. @param {string} type */
export function kind(type) {
  if (!type) return "Unknown kind";
  if (KINDS[type]) return KINDS[type];
  const [group, name] = line(type, 60).split("/");
  const plain = (name || group).replace(/^(x-|vnd\.)/, "").replace(/\+.*$/, "");
  return group === "image" ? "Image" : group === "text" ? `${plain} text` : plain;
}

/** How a file's name ends, for a small sign. @param {any} document */
export function ending({ name = "", uri, media_type: type }) {
  const [, end = ""] = /\.(\w{1,5})$/.exec(name || uri) || [];
  return (end || kind(type)).slice(0, 5).toUpperCase();
}

/** The states of a document: the words for them, the colour, and what the filter says. */
export const STATES = {
  indexed: ["ready", "good", "Ready"],
  partly: ["read in part", "warn", "Read in part"],
  failed: ["failed", "bad", "Failed"],
  unsupported: ["not supported", "", "Not supported"],
  skipped: ["skipped", "", "Skipped"],
};

/** @param {any} document @returns {string} the key of STATES */
export function stateOf({ status }) {
  return status in STATES ? status : "indexed";
}

/** The state as a tag; "ready" is not said, as it is what everyone expects. @param {any} document */
export function stateTag(document) {
  if (document.stale) return el("span.tag.warn", icon("clock"), "stale");
  const [words, colour] = STATES[stateOf(document)];
  return stateOf(document) === "indexed" ? null : el("span.tag", { class: colour, text: words });
}

/** @param {any} document */
export function labelTags(document) {
  return (document.labels || []).map((label) => el("span.tag.label", { title: "Label: only keys that hold it see this document" }, icon("key"), el("bdi", { text: line(label, 40) })));
}

/** A reason without the file's name, which stands before it already. @param {string} reason @param {string} name */
export function plainReason(reason, name) {
  const at = name ? reason.indexOf(`${name}: `) : -1;
  return at < 0 ? reason : reason.slice(at + name.length + 2);
}

/** Why a document is not as it should be, and what to do. @param {any} document */
export function problemOf(document) {
  if (!document.reason && !document.stale) return null;
  const reason = plainReason(document.reason, document.name);
  const what = document.stale ? `Answers still come from version ${document.version}; the newest could not be read: ${reason || "it is not known why."}` : reason;
  return el("div.doc-problem.small", el("p", { text: line(what) }), document.fix && el("p.muted", { text: line(document.fix) }));
}

/** @param {any} document */
export const canRetry = (document) => document.stale || ["failed", "partly", "unsupported"].includes(document.status);

/** Ask, then remove. @param {any} document @param {import("./app.js").App} app @returns {Promise<boolean>} whether it is gone */
export async function remove(document, app) {
  const name = documentName(document);
  const words = `“${name}” leaves the library with its text and all its versions; answers no longer come from it. ` +
    "A copy that was uploaded here is deleted. A file in a folder of yours stays where it is, and is not added again until you ask for it.";
  if (!(await confirmed("Remove this document?", words, "Remove"))) return false;
  if (!(await app.tried(api.del(`/v1/documents/${encodeURIComponent(document.id)}`)))) return false;
  app.toast(`Removed “${name}”.`, "good");
  app.refresh().catch(() => {}); // the shell says when the server is gone
  return true;
}

/** Read a document again. @param {any} document @param {import("./app.js").App} app @returns {Promise<void>} when it has been read */
export async function retry(document, app) {
  let report = {};
  const on = (name, data) => (report = name === "source" ? data : report);
  const follow = ({ job }) => api.stream(`/v1/jobs/${encodeURIComponent(job.id)}`, { on });
  if (!(await app.tried(api.post(`/v1/documents/${encodeURIComponent(document.id)}/retry`).then(follow)))) return;
  const bad = ["failed", "partly", "unsupported"].includes(report.status);
  app.toast(bad ? `Still not: ${report.reason} ${report.fix || ""}` : `“${documentName(document)}” has been read.`, bad ? "error" : "good");
}

/**
 * Edit the labels of a document.
 * @param {any} document @param {import("./app.js").App} app
 * @returns {Promise<string[] | null>} the new ones, null when they stay
 */
export async function editLabels(document, app) {
  const input = el("input.input", { id: "labels", value: (document.labels || []).join(", "), autocomplete: "off", spellcheck: "false" });
  const words = await dialog("Labels", (close) => [
    el("p.muted", { text: "A document with labels is seen only by keys that hold at least one of them. Without labels every key sees it." }),
    form("Save", field("Labels, separated by commas", input), () => close(input.value), button("Cancel", { on: () => close(null) })),
  ]);
  if (words === null) return null;
  const labels = [...new Set(words.split(",").map((word) => word.trim()).filter(Boolean))];
  return (await app.tried(api.put(`/v1/documents/${encodeURIComponent(document.id)}/labels`, { labels }))) ? labels : null;
}

/**
 * Show a failure, with a way to try again; it is tried by itself once a server that was gone is back.
 * @param {Element} place @param {any} failure @param {() => void} again @param {AbortSignal} signal ends it
 */
export function troubled(place, failure, again, signal) {
  if (failure.name === "AbortError") return;
  if (failure.status === 404) {
    fill(place, emptyState("search", "This is not here", el("p", { text: "It was removed, or it is not open to you." })));
    return;
  }
  const stop = new AbortController();
  const retry = () => (stop.abort(), again());
  if (failure.status === 0) document.addEventListener("pincite:library", retry, { signal: AbortSignal.any([signal, stop.signal]) });
  fill(place, failed(failure, retry));
}

/**
 * Fill a view with what the server gives: a way back and a sign that it is on its way, then the thing, or what is wrong.
 * @param {Element} root
 * @param {() => HTMLElement} back
 * @param {string} words while it is on its way
 * @param {(signal: AbortSignal, again: () => void) => Promise<void>} read asks, and fills the view
 * @returns {() => void} ends it
 */
export function opened(root, back, words, read) {
  const stop = new AbortController();
  const load = async () => {
    fill(root, el("div.page", back(), loading(words)));
    try {
      await read(stop.signal, load);
    } catch (failure) {
      const place = el("div");
      fill(root, el("div.page", back(), place));
      troubled(place, failure, load, stop.signal);
    }
  };
  load();
  return () => stop.abort();
}

/**
 * Let documents be suggested while a name is typed.
 * @param {HTMLInputElement} input with an id
 * @param {(document: any, all: any[]) => string} [value] what is typed for a document that is chosen: its name, if it has it alone
 * @returns {[HTMLInputElement, HTMLElement]} the input and its list
 */
export function suggested(input, value = (one, all) => (all.filter(({ name }) => name === one.name).length > 1 ? one.uri : one.name)) {
  const list = el("datalist", { id: `${input.id}-documents` });
  const suggest = async () => {
    try {
      const { documents } = await api.get("/v1/documents", { q: input.value.trim(), limit: 20 });
      fill(list, documents.map((one) => el("option", { value: value(one, documents), text: documentName(one) })));
    } catch {
      fill(list); // a name can be typed all the same
    }
  };
  input.setAttribute("list", list.id);
  input.autocomplete = "off";
  input.addEventListener("focus", suggest, { once: true });
  input.addEventListener("input", later(suggest));
  return [input, list];
}

/** The id of the document that a person calls so; what was typed, if none is. @param {string} typed */
export async function lookUp(typed) {
  const { documents } = await api.get("/v1/documents", { q: typed.split("/").pop(), limit: 20 });
  const called = ({ name, title, uri }) => [name, title, uri].some((each) => each === typed) || `${name}`.endsWith(`/${typed}`);
  return documents.find(called)?.id || typed;
}

/** Do something once nothing more has come for a moment. @param {() => void} work */
export function later(work) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(work, 200);
  };
}

/** A bar of progress: `set(share)` from 0 to 1, null when it cannot be said. @param {string} label */
export function progress(label) {
  const part = el("span");
  const node = el("div.progress", { role: "progressbar", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 100 }, part);
  const set = (share) => {
    node.classList.toggle("unknown", share === null);
    part.style.setProperty("inline-size", `${Math.round(100 * (share ?? 1))}%`);
    if (share === null) node.removeAttribute("aria-valuenow");
    else node.setAttribute("aria-valuenow", String(Math.round(100 * share)));
  };
  set(0);
  return { node, set };
}
