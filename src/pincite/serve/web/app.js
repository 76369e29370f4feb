/**
 * The shell: it knows who asks, routes, and holds what views share. The page is ES modules and plain DOM.
 *
 * THE CONTRACT OF A VIEW. A view is a module with `export function mount(root, app)`; it fills `root` (an empty element that
 * is its own) and returns a function that takes down what would outlive it (timers, streams, listeners on the document).
 * The library view has `export function receive(dataTransfer, app)` too: files dropped anywhere on the page; it must take
 * the files before it returns, as the browser forgets them then; the shell opens the library view after it.
 *
 * Routes are hashes: #/ (a new question), #/c/ID (a conversation), #/library, #/library/ID (a document),
 * #/evaluation, #/evaluation/ID. A view reads `app.route` and goes elsewhere by `app.go("/library/abc?start=5")`.
 *
 * Helpers: dom.js (el, fill, icon, button, notice, failed, emptyState, loading, dialog, confirmed), api.js (get, post, put,
 * del, blob, download, save, stream, upload, ApiError), text.js (code points, visible characters, names, dates, sizes).
 * CSS classes for all views are in style.css: .page .page-head .card .table .chip .tag .notice .empty .loading .row .field
 * .input .button(.primary .quiet .danger .bare) .progress .muted .small .reading .visually-hidden; colours are its variables only.
 *
 * @typedef {object} App
 * @property {{name: string, role: "reader" | "editor" | "admin", grants: string[] | null, keys: boolean, read_only: boolean}} me
 * @property {{documents: number, passages: number, [more: string]: any} | null} library GET /v1/library; null until it is known
 * @property {{view: string, id: string, params: URLSearchParams}} route
 * @property {(path: string) => void} go open a route
 * @property {(title: string) => void} title name the page, in the tab and for screen readers
 * @property {(words: string) => void} say read out politely; for what ends, not for each step
 * @property {(words: string, kind?: "info" | "good" | "error", action?: {label: string, on: () => void}) => void} toast
 * @property {(failure: any) => void} failed tell of a failure that leaves what is shown as it is
 * @property {<T>(promise: Promise<T>) => Promise<T | true | undefined>} tried what a promise gives (true for nothing); undefined, and told, when it fails
 * @property {() => Promise<void>} refresh ask for `library` again, as after an upload; then the event "pincite:library" is
 *   dispatched on the document
 * @property {boolean} canEdit whether this person may add documents
 */

import * as api from "./api.js";
import * as ask from "./ask.js";
import { showKeys } from "./composer.js";
import { belongTo } from "./conversations.js";
import * as conversations from "./history.js";
import { button, current, dialog, el, failed, field, fill, form, icon } from "./dom.js";
import * as library from "./library.js";
import { plural } from "./text.js";

const VIEWS = { "": ask, c: ask, library, evaluation: null };
const TITLES = { "": "Ask", c: "Ask", library: "Library", evaluation: "Evaluation" };
const $ = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @type {App} */
const app = {
  me: { name: "", role: "reader", grants: [], keys: false, read_only: true },
  library: null,
  route: { view: "", id: "", params: new URLSearchParams() },
  go: (path) => {
    location.hash = path;
  },
  title: (title) => {
    document.title = title ? `${title} · Pincite` : "Pincite";
  },
  say,
  toast,
  failed: (failure) => toast(`${failure.message} ${failure.fix || ""}`, "error"),
  tried: (promise) => promise.then((value) => value ?? true, app.failed),
  refresh,
  get canEdit() {
    return this.me.role !== "reader" && !this.me.read_only;
  },
};

let unmount = () => {};

/** Read the hash. */
function routeNow() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/");
  return { view: view in VIEWS ? view : "", id: rest.map(decodeURIComponent).join("/"), params: new URLSearchParams(query) };
}

/** Show the view that the hash names. */
async function show() {
  app.route = routeNow();
  const { view } = app.route;
  closeRail();
  unmount();
  unmount = () => {};
  const root = el("div.view", { class: `view-${view || "ask"}` });
  fill($("view"), root);
  document.documentElement.dataset.view = view || "ask";
  app.title(TITLES[view]);
  markCurrent();
  try {
    const module = VIEWS[view] || (VIEWS[view] = await import(`./${view}.js`));
    if (root.isConnected) unmount = module.mount(root, app) || unmount;
  } catch (failure) {
    fill(root, failed(failure, show));
    throw failure;
  }
}

/** Mark where the person is, in the rail. */
function markCurrent() {
  const { view, id } = app.route;
  for (const link of document.querySelectorAll("#rail a[data-view]")) {
    const here = /** @type {HTMLElement} */ (link).dataset.view === (view === "c" ? "" : view);
    current(link, here);
  }
  conversations.mark(view === "c" ? id : "");
}

let saying = 0;

/** @param {string} words */
function say(words) {
  const live = $("live");
  live.textContent = "";
  clearTimeout(saying);
  saying = setTimeout(() => (live.textContent = words), 80);
}

/** @param {string} words @param {string} [kind] @param {{label: string, on: () => void}} [action] */
function toast(words, kind = "info", action = undefined) {
  const signs = { info: "info", good: "check", error: "warn" };
  const note = el("div.toast", { class: kind }, icon(signs[kind]), el("span", { text: words }));
  const gone = () => note.remove();
  if (action) note.append(button(action.label, { kind: "quiet", on: () => (gone(), action.on()) }));
  $("toasts").append(note);
  setTimeout(gone, action ? 10_000 : 5_000);
}

/** Ask who this is and what the library holds. */
async function refresh() {
  const [me, library] = await Promise.all([api.get("/v1/me"), api.get("/v1/library")]);
  app.me = me;
  app.library = library;
  const { documents, passages } = library;
  fill(
    $("status"),
    el("b", { text: documents ? plural(documents, "document") : "No documents yet" }),
    documents > 0 && el("div.muted", { text: plural(passages, "passage") }),
  );
  belongTo(me.keys ? me.name : "");
  const forget = button("Forget the key", { icon: "key", bare: true, kind: "quiet", on: () => (api.setKey(""), location.reload()) });
  $("who").hidden = !me.keys;
  fill($("who"), el("span", { text: `${me.name} · ${me.role}` }), forget);
  document.dispatchEvent(new CustomEvent("pincite:library"));
}

let asking = null;

/** Ask for a key, once however many requests need it. @param {api.ApiError} failure */
function keyDialog(failure) {
  asking ??= dialog("This library needs a key", (close) => {
    const input = el("input.input", { type: "password", autocomplete: "off", id: "key", required: true, spellcheck: "false" });
    return [
      el("p.muted", { text: "Whoever runs this server can give you one. It stays in this tab and is forgotten when you close it." }),
      api.hasKey() && el("p.problem", { role: "alert", text: failure.message }),
      form("Open the library", field("Key", input), () => input.value.trim() && close(input.value.trim())),
    ];
  }).then((key) => {
    asking = null;
    if (!key) return false;
    api.setKey(key);
    return true;
  });
  return asking;
}

/** Say that the server is gone, and go on when it is back. */
function watchConnection() {
  let waiting = false;
  const again = async () => {
    try {
      if (!(await fetch("/health", { cache: "no-store" })).ok) throw new Error("not yet");
      waiting = false;
      $("offline").hidden = true;
      const asking = ["", "c"].includes(app.route.view);
      await (asking && app.library ? refresh() : start()); // what is being written stays as it is
    } catch {
      setTimeout(again, 2000);
    }
  };
  document.addEventListener("pincite:unreachable", () => {
    $("offline").hidden = false;
    if (!waiting) setTimeout(again, 2000);
    waiting = true;
  });
}

// --- the rail: a column, or a drawer on narrow screens

function openRail() {
  rail(true);
  /** @type {HTMLElement} */ ($("rail").querySelector("a, button")).focus();
}

function closeRail() {
  if (!document.documentElement.hasAttribute("data-rail")) return;
  rail(false);
  $("menu").focus();
}

/** @param {boolean} open */
function rail(open) {
  document.documentElement.toggleAttribute("data-rail", open);
  $("menu").setAttribute("aria-expanded", String(open));
  $("main").inert = open;
}

/** Go round light, dark and what the system has. */
function theme() {
  const root = document.documentElement;
  const signs = { "": ["system", "Colours: as the system"], light: ["sun", "Colours: light"], dark: ["moon", "Colours: dark"] };
  const after = { "": "light", light: "dark", dark: "" };
  const control = button("Colours", { bare: true, kind: "quiet", on: () => turn(after[root.dataset.theme || ""]) });
  const turn = (chosen) => {
    if (chosen) root.dataset.theme = chosen;
    else delete root.dataset.theme;
    localStorage.setItem("pincite.theme", chosen);
    const [sign, label] = signs[chosen];
    fill(control, icon(sign));
    control.setAttribute("aria-label", label);
    control.title = label;
  };
  turn(root.dataset.theme || "");
  return control;
}

/** Files may be dropped anywhere, and pasted. */
function takeDrops() {
  let depth = 0;
  const files = (event) => app.canEdit && event.dataTransfer?.types.includes("Files");
  const over = (on) => document.documentElement.classList.toggle("dropping", on);
  document.addEventListener("dragenter", (event) => files(event) && ++depth && over(true));
  document.addEventListener("dragleave", (event) => files(event) && --depth <= 0 && over(false));
  document.addEventListener("dragover", (event) => files(event) && event.preventDefault());
  const take = (event, transfer) => {
    event.preventDefault();
    library.receive(transfer, app);
    app.go("/library");
  };
  document.addEventListener("drop", (event) => {
    if (!files(event) || event.defaultPrevented) return;
    depth = 0;
    over(false);
    take(event, event.dataTransfer);
  });
  document.addEventListener("paste", (event) => {
    const { files: pasted = [], types = [] } = event.clipboardData || {};
    const words = types.includes("text/plain") && typesIn(event); // office programs copy words with a picture of them
    if (app.canEdit && pasted.length && !words) take(event, event.clipboardData);
  });
}

/** Whether the person is writing something. @param {Event} event */
const typesIn = ({ target }) => /** @type {Element} */ (target).closest?.("input, textarea, select, dialog, [contenteditable]");

/** Keys that work everywhere, except while typing. @param {KeyboardEvent} event */
function onKey(event) {
  if (event.key === "Escape") closeRail();
  if (typesIn(event) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    if (["", "c"].includes(app.route.view)) document.getElementById("question")?.focus();
    else app.go("/");
  } else if (event.key === "n") app.go("/");
  else if (event.key === "?") showKeys();
}

async function start() {
  try {
    await refresh();
    await show();
  } catch (failure) {
    if (!$("view").childElementCount) fill($("view"), el("div.page", failed(failure, start)));
    if (!(failure instanceof api.ApiError)) throw failure;
  }
}

function wire() {
  api.onKeyNeeded(keyDialog);
  watchConnection();
  takeDrops();
  $("theme").append(theme());
  $("menu").append(icon("menu"));
  $("menu").addEventListener("click", openRail);
  $("scrim").addEventListener("click", closeRail);
  for (const link of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#rail a[data-icon]")))
    link.prepend(icon(link.dataset.icon));
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the hash is the route
    $("main").focus();
  });
  document.addEventListener("keydown", onKey);
  conversations.mount($("conversations"), app);
  document.addEventListener("pincite:unkept", () =>
    toast("This browser has no room to keep the conversation. Export it, or delete others.", "error"),
  );
  addEventListener("hashchange", show);
}

wire();
start();
