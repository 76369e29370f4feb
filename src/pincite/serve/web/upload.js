/** Files on their way into the library: found, sent in parcels, followed until each is in or refused. It outlives the view. */

import * as api from "./api.js";
import { button, el } from "./dom.js";
import { line, plural } from "./text.js";

const PARCEL_FILES = 100; // of one request; the server takes more, and a small parcel is in sooner
const PARCEL_BYTES = 64e6;
const TRIES = 30; // to follow a job whose stream broke off

/** What became of a source, in words. */
export const WORDS = {
  indexed: "added",
  updated: "new version",
  unchanged: "unchanged",
  removed: "removed",
  partly: "read in part",
  failed: "failed",
  unsupported: "not supported",
  skipped: "skipped",
  stopped: "not sent or not read",
};

/**
 * @typedef {object} Item one file
 * @property {string} name with its folders
 * @property {number} size
 * @property {File | null} file null where it is not known here, as after a reload
 * @property {string} status "waiting", "sent", or a key of WORDS
 * @property {string} reason
 * @property {string} fix
 * @property {string} id the document's, once it is known
 * @property {() => Promise<File | null>} [fresh] gets the file as it is now
 *
 * @typedef {{name: string, file: File | null, fresh?: () => Promise<File | null>}} Found
 *
 * @typedef {object} Batch what was dropped or chosen at once
 * @property {string} name
 * @property {Item[]} items
 * @property {number} left files that were left out because they are hidden
 * @property {"finding" | "sending" | "reading" | "done" | "stopped"} state
 * @property {number} sent bytes
 * @property {Map<string, any>} progress of each job, as its last event said
 * @property {Set<string>} jobs those that still run
 * @property {AbortController} stop
 * @property {any} failure of the batch as a whole
 */

/** @type {Batch[]} newest first */
export const batches = [];
export const listeners = new Set();
let waiting = false;

/** Tell those who show the batches, ten times a second at most. */
export function changed() {
  if (waiting) return;
  waiting = true;
  setTimeout(() => {
    waiting = false;
    for (const listener of listeners) listener();
  }, 100);
}

/** Take what was dropped, before the browser forgets it. @param {DataTransfer} transfer */
export function dropped(transfer) {
  const things = [...transfer.items].filter((item) => item.kind === "file").map((item) => item.webkitGetAsEntry?.() || item.getAsFile());
  const found = { files: /** @type {Found[]} */ ([]), left: 0 };
  return (async () => {
    for (const thing of things) {
      if (thing instanceof File) found.files.push({ name: thing.name, file: thing });
      else if (thing) await walk(thing, "", found);
    }
    return found;
  })();
}

/** Buttons that open the dialogs for files and folders. @param {import("./app.js").App} app @param {() => void} [then] */
export function addButtons(app, then = () => {}) {
  const pick = (label, sign, kind, attributes) => {
    const input = /** @type {HTMLInputElement} */ (el("input", { type: "file", multiple: true, hidden: true, tabindex: "-1", "aria-label": label, ...attributes }));
    input.addEventListener("change", () => input.files?.length && (start(chosen(input), app), then()));
    return [button(label, { icon: sign, kind, on: () => input.click() }), input];
  };
  return [pick("Add files", "upload", "primary", {}), pick("Add a folder", "folder", "", { webkitdirectory: true })];
}

/** Take what was chosen in a file dialog. @param {HTMLInputElement} input */
function chosen(input) {
  const all = [...input.files].map((file) => ({ name: file.webkitRelativePath || file.name, file }));
  const files = all.filter(({ name }) => !name.split("/").some((part) => part.startsWith(".")));
  input.value = "";
  return Promise.resolve({ files, left: all.length - files.length });
}

/** @param {any} entry @param {string} path @param {any} found */
async function walk(entry, path, found) {
  if (entry.name.startsWith(".")) found.left += 1;
  else if (entry.isDirectory) {
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!some.length) return;
      for (const inner of some) await walk(inner, `${path}${entry.name}/`, found);
    }
  } else {
    const fresh = () => new Promise((resolve) => entry.file(resolve, () => resolve(null)));
    found.files.push({ name: path + entry.name, file: await fresh(), fresh });
  }
}

/**
 * Send files to the library and follow them.
 * @param {Promise<{files: Found[], left: number}>} finding
 * @param {import("./app.js").App} app
 */
export async function start(finding, app) {
  const batch = newBatch("Looking for files …");
  try {
    const { files, left } = await finding;
    batch.items = files.map(({ name, file, fresh }) => item(name, file, fresh));
    batch.left = left;
    batch.name = nameOf(batch.items);
    await deliver(batch, batch.items, app);
  } catch (failure) {
    batch.failure = failure;
    settle(batch, app);
  }
}

/** @param {string} name @returns {Batch} */
function newBatch(name) {
  /** @type {Batch} */
  const batch = {
    name, items: [], left: 0, state: "finding", sent: 0, progress: new Map(), jobs: new Set(), stop: new AbortController(), failure: null,
  };
  batches.unshift(batch);
  changed();
  return batch;
}

/** @param {string} name @param {File | null} file @param {() => Promise<File | null>} [fresh] @returns {Item} */
function item(name, file, fresh = undefined) {
  const lost = file || !fresh ? { status: "waiting", reason: "", fix: "" } : UNREADABLE;
  return { name, size: file?.size || 0, file, fresh, id: "", ...lost };
}

const UNREADABLE = { status: "failed", reason: "It has changed or gone since it was chosen, or may not be read.", fix: "Add it again." };

/** @param {Item[]} items */
function nameOf(items) {
  const tops = new Set(items.map(({ name }) => (name.includes("/") ? name.split("/")[0] : "")));
  if (items.length === 1) return line(items[0].name, 80);
  const [top] = tops;
  return tops.size === 1 && top ? `${line(top, 60)} (${plural(items.length, "file")})` : plural(items.length, "file");
}

/** Send items in parcels, one after the other, and wait until all are in. @param {Batch} batch @param {Item[]} items */
async function deliver(batch, items, app) {
  batch.state = "sending";
  batch.failure = null;
  batch.stop = new AbortController();
  batch.sent = 0;
  batch.progress.clear();
  const following = [];
  for (const parcel of parcels(items.filter((one) => one.file))) {
    if (batch.stop.signal.aborted || batch.failure) break;
    await send(batch, parcel, following, app);
  }
  if (batch.state === "sending") batch.state = "reading";
  changed();
  await Promise.all(following);
  settle(batch, app);
}

/** @param {Item[]} items */
function* parcels(items) {
  let parcel = /** @type {Item[]} */ ([]);
  let bytes = 0;
  for (const one of items) {
    if (parcel.length && (parcel.length >= PARCEL_FILES || bytes + one.size > PARCEL_BYTES)) {
      yield parcel;
      [parcel, bytes] = [[], 0];
    }
    parcel.push(one);
    bytes += one.size;
  }
  if (parcel.length) yield parcel;
}

/** Send one parcel; one that is too large is sent in halves, so that a single file is refused, not all. */
async function send(batch, parcel, following, app) {
  const before = batch.sent;
  const form = new FormData();
  for (const one of parcel) form.append("files", /** @type {File} */ (one.file), one.name);
  const onProgress = (sent) => {
    batch.sent = before + sent;
    changed();
  };
  try {
    const { job } = await api.upload("/v1/documents", form, { onProgress, signal: batch.stop.signal });
    for (const one of parcel) one.status = "sent";
    following.push(follow(batch, job.id, parcel, app));
  } catch (failure) {
    batch.sent = before;
    await sendFailed(batch, parcel, failure, (some) => send(batch, some, following, app));
  }
}

async function sendFailed(batch, parcel, failure, again) {
  if (failure.name === "AbortError") return;
  const lost = failure.status === 0 ? await unreadable(parcel) : new Set();
  if (lost.size) {
    for (const one of lost) Object.assign(one, UNREADABLE);
    const rest = parcel.filter((one) => !lost.has(one));
    if (rest.length) await again(rest);
  } else if (failure.status === 413 && parcel.length > 1) {
    const half = Math.ceil(parcel.length / 2);
    await again(parcel.slice(0, half));
    await again(parcel.slice(half));
  } else if ([429, 503].includes(failure.status) && !batch.stop.signal.aborted) {
    await pause(1000 * (failure.retryAfter || 2));
    await again(parcel);
  } else {
    for (const one of parcel) Object.assign(one, { status: "failed", reason: failure.message, fix: failure.fix || "" });
    if (failure.status === 0 || failure.status === 401 || failure.status === 403) batch.failure = failure;
  }
}

/** The files that the browser cannot read any more, which fails like a server that is gone. @param {Item[]} parcel */
async function unreadable(parcel) {
  const found = await Promise.all(parcel.map((one) => /** @type {File} */ (one.file).slice(0, 1).arrayBuffer().then(() => null, () => one)));
  return new Set(found.filter(Boolean));
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Follow a job until it ends; a stream that breaks off is taken up again. */
async function follow(batch, job, parcel, app) {
  batch.jobs.add(job);
  const byName = new Map(parcel.map((one) => [one.name, one]));
  const on = (name, data) => {
    if (name === "source") (take(batch, byName, data), tell(app));
    else if (name === "progress") batch.progress.set(job, data);
    else if (name === "done") finished(batch, byName, data);
    changed();
  };
  for (let tries = 0; batch.jobs.has(job) && tries < TRIES; tries += 1) {
    try {
      await api.stream(`/v1/jobs/${encodeURIComponent(job)}`, { on });
      break;
    } catch (failure) {
      if (failure.status !== 0) {
        batch.failure = failure;
        break;
      }
      await pause(2000);
    }
  }
  batch.jobs.delete(job);
}

let told = 0;

/** While files come in, let the list be read again now and then. */
function tell(app) {
  if (Date.now() - told < 3000) return;
  told = Date.now();
  document.dispatchEvent(new CustomEvent("pincite:documents", { detail: "more" }));
  app.refresh().catch(() => {}); // the shell says when the server is gone
}

/** Note what became of one source. */
function take(batch, byName, report) {
  const name = report.name || report.uri || "";
  const known = byName.get(name) || batch.items.find((one) => one.name === name);
  const one = known || item(name, null);
  if (!known) batch.items.push(one);
  Object.assign(one, { status: report.status, reason: report.reason || "", fix: report.fix || "", id: report.id || "" });
}

/** Note how a job ended. */
function finished(batch, byName, job) {
  for (const report of job.sources || []) take(batch, byName, report);
  const { state, error } = job;
  for (const one of byName.values()) {
    if (one.status !== "sent") continue;
    if (state === "cancelled") one.status = "stopped";
    else if (error) Object.assign(one, { status: "failed", reason: error.message || "It was not read.", fix: error.fix || "" });
    else one.status = "skipped";
  }
  if (error && !byName.size) batch.failure = error;
}

/** A batch has ended: say so, and let the library be read again. */
function settle(batch, app) {
  const stopped = batch.stop.signal.aborted;
  for (const one of batch.items) if (["waiting", "sent"].includes(one.status)) one.status = "stopped";
  batch.state = stopped ? "stopped" : "done";
  changed();
  app.say(`${batch.name}: ${outcome(batch)}`);
  document.dispatchEvent(new CustomEvent("pincite:documents"));
  app.refresh().catch(() => {}); // the shell says when the server is gone
}

/** Show the jobs that run already, as after a reload. @param {import("./app.js").App} app */
export async function adopt(app) {
  const { jobs } = await api.get("/v1/jobs");
  const known = new Set(batches.flatMap((batch) => [...batch.jobs]));
  for (const job of jobs || []) {
    if (job.kind === "evaluate" || known.has(job.id) || !["queued", "running"].includes(job.state)) continue;
    join(job, app);
  }
}

/** Show a job that was started otherwise. @param {{id: string, name: string}} job @param {import("./app.js").App} app */
export function join(job, app) {
  const batch = newBatch(line(job.name || "Files", 80));
  batch.state = "reading";
  follow(batch, job.id, [], app).then(() => settle(batch, app));
}

/** Stop sending and reading; what is in stays. @param {Batch} batch */
export function cancel(batch) {
  batch.stop.abort();
  for (const job of batch.jobs) api.del(`/v1/jobs/${encodeURIComponent(job)}`).catch(() => {}); // it has ended by itself
  changed();
}

/** @param {Batch} batch @param {import("./app.js").App} app */
export async function retry(batch, app) {
  const again = batch.items.filter((one) => one.file && ["failed", "partly", "stopped"].includes(one.status));
  for (const one of again) {
    const file = one.fresh ? await one.fresh() : one.file; // it may have been mended since
    Object.assign(one, file ? { file, size: file.size, status: "waiting", reason: "", fix: "" } : UNREADABLE);
  }
  await deliver(batch, again.filter((one) => one.status === "waiting"), app);
}

/** @param {Batch} batch */
export const ended = (batch) => ["done", "stopped"].includes(batch.state);

/** What became of a batch, in words. @param {Batch} batch */
export function outcome(batch) {
  const counts = Object.entries(WORDS).map(([status, word]) => [batch.items.filter((one) => one.status === status).length, word]);
  const parts = counts.filter(([count]) => count).map(([count, word]) => `${count} ${word}`);
  return parts.join(", ") || (batch.state === "stopped" ? "stopped" : "nothing to add");
}
