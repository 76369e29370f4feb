/**
 * The one way to the server. Every failure is an ApiError that says what happened and what to do.
 * The key, where one is needed, lives in sessionStorage and travels in the Authorization header only.
 */

const KEY = "pincite.key";

/** A request that failed: `status` 0 means that the server could not be reached. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {{code?: string, message?: string, fix?: string}} error
   * @param {number} retryAfter seconds, 0 when not said
   */
  constructor(status, error, retryAfter = 0) {
    super(error.message || "The request failed.");
    this.name = "ApiError";
    this.status = status;
    this.code = error.code || "";
    this.fix = error.fix || "";
    this.retryAfter = retryAfter;
  }
}

/** Asked when a key is needed; the shell puts its dialog here. Gives true when there is a new key. */
let askForKey = async () => false;

/** @param {(failure: ApiError) => Promise<boolean>} ask */
export function onKeyNeeded(ask) {
  askForKey = ask;
}

/** @param {string} key "" forgets it */
export function setKey(key) {
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
}

/** @returns {boolean} whether this tab holds a key */
export function hasKey() {
  return Boolean(sessionStorage.getItem(KEY));
}

/** @param {Record<string, string>} more */
function headers(more = {}) {
  const key = sessionStorage.getItem(KEY);
  return { "X-Pincite": "1", ...(key ? { Authorization: `Bearer ${key}` } : {}), ...more };
}

/** @param {string} path @param {Record<string, unknown>} params null, undefined and "" are left out */
export function address(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  }
  return query.size ? `${path}?${query}` : path;
}

const UNREACHABLE = {
  code: "unreachable",
  message: "Pincite cannot be reached.",
  fix: "See that `pincite serve` still runs on this machine; the page goes on by itself once it does.",
};

/**
 * Send a request; ask for a key as often as the server wants another one, until the person gives up.
 * @param {string} path
 * @param {RequestInit} init
 * @returns {Promise<Response>} one that is ok
 */
async function send(path, init) {
  let response;
  try {
    const { headers: more, ...rest } = init;
    response = await fetch(path, { ...rest, headers: headers(/** @type {any} */ (more)), credentials: "omit" });
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") throw error;
    document.dispatchEvent(new CustomEvent("pincite:unreachable"));
    throw new ApiError(0, UNREACHABLE);
  }
  if (response.ok) return response;
  const failure = failureOf(response.status, await response.text(), response.headers.get("Retry-After"));
  if (response.status === 401 && (await askForKey(failure))) return send(path, init);
  throw failure;
}

/** @param {number} status @param {string} body @param {string | null} retryAfter */
function failureOf(status, body, retryAfter) {
  let error = {};
  try {
    error = JSON.parse(body).error || {};
  } catch {
    error = { message: `The server answered with status ${status}.` };
  }
  return new ApiError(status, error, Number(retryAfter) || 0);
}

/** What `fetch` takes to send JSON. @param {string} method @param {unknown} value @param {AbortSignal} [signal] */
const json = (method, value, signal) => {
  const headers = { "Content-Type": "application/json" };
  return { method, signal, headers, body: JSON.stringify(value ?? {}) };
};

/** GET JSON. @param {string} path @param {Record<string, unknown>} [params] @param {AbortSignal} [signal] */
export async function get(path, params = {}, signal = undefined) {
  return (await send(address(path, params), { signal })).json();
}

/** @param {string} method @returns {(path: string, value?: unknown, signal?: AbortSignal) => Promise<any>} */
const sender = (method) => async (path, value = {}, signal = undefined) => {
  const text = await (await send(path, json(method, value, signal))).text();
  return text ? JSON.parse(text) : null;
};

// Each sends JSON, and gives JSON, or null when there is no body.
export const post = sender("POST");
export const put = sender("PUT");
export const del = sender("DELETE");

/** GET bytes: an image, an original. @param {string} path @param {AbortSignal} [signal] */
export async function blob(path, signal = undefined) {
  return (await send(path, { signal })).blob();
}

/** Let the person save a file that the server gives. @param {string} path @param {string} name */
export async function download(path, name) {
  save(await blob(path), name);
}

/** Let the person save bytes under a name. @param {Blob} bytes @param {string} name */
export function save(bytes, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/**
 * Put text on the clipboard; where the browser forbids that, let the person save it.
 * @param {string} text
 * @param {string} said what to tell when it is done
 * @param {{toast: (words: string, kind?: any) => void}} app
 */
export async function copy(text, said, app) {
  try {
    await navigator.clipboard.writeText(text);
    app.toast(said, "good");
  } catch {
    save(new Blob([text], { type: "text/plain;charset=utf-8" }), "quote.txt");
    app.toast("The browser keeps the clipboard closed here; the text is saved as a file.");
  }
}

/**
 * Read server-sent events until the stream ends; aborting the signal stops the server's work too.
 * @param {string} path
 * @param {{body?: unknown, signal?: AbortSignal, on: (name: string, data: any) => void}} how a body makes it a POST
 */
export async function stream(path, { body, signal, on }) {
  const init = body === undefined ? { signal } : json("POST", body, signal);
  init.headers = { ...init.headers, Accept: "text/event-stream" };
  const response = await send(path, init);
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await read(reader);
    rest += decoder.decode(value, { stream: !done }).replaceAll("\r\n", "\n");
    const blocks = rest.split("\n\n");
    rest = /** @type {string} */ (blocks.pop());
    for (const block of blocks) tell(block, on);
    if (done) return;
  }
}

/** Read a piece; a connection that breaks is an ApiError. */
async function read(reader) {
  try {
    return await reader.read();
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") throw error;
    throw new ApiError(0, { ...UNREACHABLE, message: "The connection broke off." });
  }
}

/** @param {string} block @param {(name: string, data: any) => void} on */
function tell(block, on) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  if (data.length) on(name, JSON.parse(data.join("\n")));
}

/**
 * Upload a form with progress; asks for a key where one is needed.
 * @param {string} path
 * @param {FormData} form
 * @param {{onProgress?: (sent: number, total: number) => void, signal?: AbortSignal}} [how]
 * @returns {Promise<any>} the JSON of the answer
 */
export async function upload(path, form, how = {}) {
  const request = new XMLHttpRequest();
  request.open("POST", path);
  for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
  request.upload.onprogress = (event) => how.onProgress?.(event.loaded, event.total);
  how.signal?.addEventListener("abort", () => request.abort());
  await new Promise((resolve, reject) => {
    request.onload = resolve;
    request.onerror = () => reject(new ApiError(0, UNREACHABLE));
    request.onabort = () => reject(new DOMException("The upload was stopped.", "AbortError"));
    request.send(form);
  });
  if (request.status >= 200 && request.status < 300) return JSON.parse(request.responseText || "null");
  const failure = failureOf(request.status, request.responseText, request.getResponseHeader("Retry-After"));
  if (request.status === 401 && (await askForKey(failure))) return upload(path, form, how);
  throw failure;
}
