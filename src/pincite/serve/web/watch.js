/** Folders of the server's computer that are kept up to date: shown, added, let go. */

import * as api from "./api.js";
import { button, dialog, el, failed, field, fill, form, icon, loading, notice } from "./dom.js";
import { line, plural } from "./text.js";
import * as uploads from "./upload.js";

/** @param {import("./app.js").App} app */
export function watched(app) {
  const body = el("div.stack");
  const draw = async () => {
    try {
      const { folders, allowed } = await api.get("/v1/watch");
      fill(body, list(folders, draw, app), allowed ? another(() => close(null), app) : notice("info", "Only whoever runs this server can add folders.", { fix: "Upload files instead: what is dropped on the page is copied into the library." }));
    } catch (failure) {
      fill(body, failed(failure, draw));
    }
  };
  let close = (_) => {};
  fill(body, loading("Looking …"));
  return dialog("Followed folders", (closed) => {
    close = closed;
    draw();
    return [el("p.muted", { text: "Folders of the computer that Pincite runs on. Their files are read where they are; what changes there changes in the library." }), body];
  });
}

/** @param {any[]} folders @param {() => Promise<void>} draw */
function list(folders, draw, app) {
  if (!folders.length) return el("p.small.muted", { text: "No folder is followed yet." });
  const drop = async (path) => {
    await app.tried(api.del("/v1/watch", { path }));
    await draw();
  };
  return el(
    "ul.folders",
    folders.map(({ path, documents, reason }) =>
      el("li", icon("folder"), el("div.grow", el("bdi", { text: line(path, 200) }), el("p.small.muted", { text: plural(documents, "document") }), reason && el("p.small.problem", { text: `Not followed now: ${line(reason)}` })), button(`Stop following ${line(path, 200)}`, { icon: "close", bare: true, kind: "quiet", on: () => drop(path) })),
    ),
  );
}

/** @param {() => void} close @param {import("./app.js").App} app */
function another(close, app) {
  const input = el("input.input", { id: "folder", required: true, autocomplete: "off", spellcheck: "false", placeholder: "/home/me/papers" });
  const problem = el("div");
  const add = async () => {
    fill(problem, loading("Adding …"));
    try {
      const { job } = await api.post("/v1/watch", { path: input.value.trim() });
      close();
      uploads.join(job, app);
      app.toast("The folder is read, and then followed.", "good");
    } catch (failure) {
      fill(problem, failed(failure));
    }
  };
  return form("Follow this folder", [field("Another folder, by its whole path", input), problem], add);
}
