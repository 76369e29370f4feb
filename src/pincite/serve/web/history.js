/** The list of conversations in the rail: open, rename, export, delete. */

import { save } from "./api.js";
import * as conversations from "./conversations.js";
import { button, confirmed, current as markCurrent, dialog, el, field, fill, form, icon } from "./dom.js";

let list = el("ul");
let current = "";

/** @param {HTMLElement} root @param {import("./app.js").App} app */
export function mount(root, app) {
  const none = el("p.none.small.muted", { text: "Your questions will be kept here, in this browser only." });
  const anew = el("a.new", { href: "#/", "aria-label": "New conversation", title: "New conversation (n)" }, icon("plus"));
  fill(root, el("div.row.spread", el("h2", { text: "Conversations" }), anew), none, list);
  const show = async () => {
    const all = await conversations.list();
    none.hidden = all.length > 0;
    fill(list, all.map((one) => row(one, app)));
    mark(current);
  };
  document.addEventListener("pincite:conversations", show); // the first comes when it is known who asks
}

/** Mark the one that is open. @param {string} id "" when none is */
export function mark(id) {
  current = id;
  for (const item of list.children) {
    const here = /** @type {HTMLElement} */ (item).dataset.id === id;
    item.classList.toggle("current", here);
    markCurrent(item.firstElementChild, here);
  }
}

/** @param {conversations.Conversation} one @param {import("./app.js").App} app */
function row(one, app) {
  return el(
    "li",
    { data: { id: one.id } },
    el("a", { href: `#/c/${one.id}`, title: one.title }, el("span", { dir: "auto", text: one.title || "Untitled" })),
    button(`More on “${one.title}”`, { icon: "more", bare: true, kind: "quiet", "aria-haspopup": "dialog", on: () => manage(one.id, app) }),
  );
}

/** Rename, export or delete one. @param {string} id @param {import("./app.js").App} app */
async function manage(id, app) {
  const one = await conversations.load(id);
  if (!one) return;
  const action = await dialog("This conversation", (close) => {
    const name = el("input.input", { id: "rename", value: one.title, maxlength: 80, dir: "auto" });
    const closing = (label, sign, title, act, kind = "") => button(label, { icon: sign, title, kind, on: () => close(act) });
    return [
      form("Rename", field("Name", name), () => close(() => conversations.rename(id, name.value))),
      el(
        "div.row",
        closing("Export Markdown", "download", "Save as Markdown with footnotes", () => exportAs(one, "md")),
        closing("Export JSON", "download", "Save everything as JSON", () => exportAs(one, "json")),
        closing("Delete", "trash", null, () => erase(one, app), "danger"),
      ),
    ];
  });
  if (action) await action();
}

/** @param {conversations.Conversation} one @param {"md" | "json"} form */
function exportAs(one, form) {
  const { asMarkdown, asJson } = conversations;
  const [text, type] = form === "md" ? [asMarkdown(one), "text/markdown"] : [asJson(one), "application/json"];
  const name = one.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "conversation";
  save(new Blob([text], { type: `${type};charset=utf-8` }), `${name}.${form}`);
}

/** @param {conversations.Conversation} one @param {import("./app.js").App} app */
async function erase(one, app) {
  if (!(await confirmed("Delete this conversation?", "It is kept in this browser only, so it cannot be brought back.", "Delete")))
    return;
  await conversations.remove(one.id);
  if (app.route.id === one.id) app.go("/");
}
