/**
 * Conversations, kept in this browser only (IndexedDB; in memory where that is forbidden), and their export.
 *
 * @typedef {{question: string, asked: string, options: Record<string, any>, answer: any, error?: {message: string, fix: string},
 *   stopped?: boolean}} Turn  `answer` is what /v1/ask gave, null when there is none
 * @typedef {{id: string, owner: string, title: string, created: string, updated: string, turns: Turn[]}} Conversation
 */

import { decoded, fileName, line, uploaded, visible } from "./text.js";

const NAME = "pincite";
const STORE = "conversations";
const CONTEXT_TURNS = 8; // that travel with a follow-up; the server looks at the last ones

/** @type {Map<string, Conversation>} what this page has seen, and all there is without a database */
const memory = new Map();
/** @type {Promise<Map<string, Conversation>> | null} all without their turns: for the list */
let heads = null;
const removed = new Set();
let owner = ""; // whose conversations are shown: who comes with another key sees his own
let database = null;

/** @returns {Promise<IDBDatabase | null>} */
function open() {
  database ??= new Promise((resolve) => {
    try {
      const request = indexedDB.open(NAME, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "id" });
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => resolve(null);
    } catch {
      resolve(null); // storage is forbidden here: memory will do
    }
  });
  return database;
}

/** Run one request on the store. @param {IDBTransactionMode} mode @param {(store: IDBObjectStore) => IDBRequest} ask */
async function request(mode, ask) {
  const store = (await open())?.transaction(STORE, mode).objectStore(STORE);
  if (!store) return undefined;
  return new Promise((resolve, reject) => {
    const sent = ask(store);
    sent.onsuccess = () => resolve(sent.result);
    sent.onerror = () => reject(sent.error);
  });
}

/** Show the conversations of one key's holder. @param {string} name "" where no key is needed */
export function belongTo(name) {
  owner = name;
  changed();
}

const changed = () => document.dispatchEvent(new CustomEvent("pincite:conversations"));

/** A new one, which is kept once it is saved. @returns {Conversation} */
export function begin() {
  const now = new Date().toISOString();
  const random = crypto.getRandomValues(new Uint8Array(8));
  return {
    id: [...random].map((byte) => byte.toString(36).padStart(2, "0")).join(""),
    owner,
    title: "",
    created: now,
    updated: now,
    turns: [],
  };
}

/** All of them without their turns, the last used first. @returns {Promise<Conversation[]>} */
export async function list() {
  const all = [...(await known()).values()];
  return all.filter((one) => one.owner === owner).sort((a, b) => (a.updated < b.updated ? 1 : -1));
}

/** Read all once; what changes afterwards is written into what was read. */
function known() {
  const read = async () => new Map(((await request("readonly", (store) => store.getAll())) || []).map((one) => [one.id, head(one)]));
  return (heads ??= read());
}

const head = (conversation) => ({ ...conversation, turns: [] });

/** @param {string} id @returns {Promise<Conversation | undefined>} */
export async function load(id) {
  const found = memory.get(id) || (await request("readonly", (store) => store.get(id)));
  return found?.owner === owner ? found : undefined;
}

/** Keep a conversation; where the browser has no room, this page still has it. @param {Conversation} conversation */
export async function save(conversation) {
  if (removed.has(conversation.id)) return; // an answer may still come in
  conversation.updated = new Date().toISOString();
  conversation.title ||= line(conversation.turns[0]?.question || "", 80);
  memory.set(conversation.id, conversation);
  (await known()).set(conversation.id, head(conversation));
  try {
    await request("readwrite", (store) => store.put(conversation));
  } catch {
    document.dispatchEvent(new CustomEvent("pincite:unkept"));
  }
  changed();
}

/** @param {string} id @param {string} title */
export async function rename(id, title) {
  const conversation = await load(id);
  if (!conversation || !title.trim()) return;
  conversation.title = line(title, 80);
  await save(conversation);
}

/** @param {string} id */
export async function remove(id) {
  memory.delete(id);
  removed.add(id);
  (await known()).delete(id);
  await request("readwrite", (store) => store.delete(id));
  changed();
}

/** What the server needs to understand a follow-up. @param {Turn[]} turns */
export function history(turns) {
  return turns
    .filter((turn) => turn.answer)
    .slice(-CONTEXT_TURNS)
    .map(({ question, answer }) => ({
      question,
      answer: answer.outcome === "not_in_documents" ? "" : answer.text,
      citations: answer.citations,
    }));
}

// --- export

/** @param {Conversation} conversation */
export function asJson({ title, created, updated, turns }) {
  return JSON.stringify({ pincite_conversation: 1, title, created, updated, turns }, null, 2);
}

const VERDICTS = { partly: "partly supported", unsupported: "not supported", conflicting: "sources conflict" };

/** Markdown with a footnote for each citation, numbered through. @param {Conversation} conversation */
export function asMarkdown(conversation) {
  const parts = [`# ${escaped(conversation.title)}`];
  let before = 0;
  for (const turn of conversation.turns) {
    parts.push(`## ${escaped(line(turn.question))}`);
    if (turn.answer) parts.push(...answerParts(turn.answer, before));
    else parts.push(turn.stopped ? "*(stopped)*" : `*(no answer: ${escaped(turn.error?.message || "")})*`);
    before += turn.answer?.citations.length || 0;
  }
  return `${parts.join("\n\n")}\n`;
}

/** @param {any} answer @param {number} before footnotes so far */
function answerParts(answer, before) {
  const place = new Map(answer.citations.map((citation, index) => [citation.number, before + index + 1]));
  const notes = answer.citations.map((citation) => `[^${place.get(citation.number)}]: ${reference(citation)}`);
  if (!answer.claims.length) return [escaped(visible(answer.text)), ...notes];
  const sentences = answer.claims.map((claim) => {
    const words = escaped(visible(claim.text.replace(/(\s*\[\d+\])+\s*$/, "")));
    const marks = claim.citations.map((number) => `[^${place.get(number)}]`).join("");
    const doubt = VERDICTS[claim.verdict] ? ` *(${[VERDICTS[claim.verdict], ...claim.problems].map(escaped).join("; ")})*` : "";
    return `${words}${marks}${doubt}`;
  });
  return [sentences.join("  \n"), notes.join("\n")];
}

/** Name a place and its words as a lawyer would: quote, document, place, version. @param {any} citation */
export function reference(citation) {
  const file = uploaded(citation.uri) ? fileName(citation.uri) : visible(decoded(citation.uri));
  return `“${escaped(line(citation.quote))}” ${escaped(placeOf(citation))} (${escaped(file)}, version ${citation.version}, characters ${citation.start}–${citation.end})`;
}

/** Title, page or line, and heading of a citation or passage. @param {any} citation */
export function placeOf(citation) {
  const headings = citation.heading_path || [];
  const title = line(citation.title || "") || line(decoded(citation.uri).split("/").pop() || citation.uri);
  const spot = citation.page ? `page ${citation.page}` : `line ${citation.line_from}`;
  const below = headings.filter((heading) => line(heading) !== title).map((heading) => line(heading, 60));
  return [title, spot, below.join(" › ")].filter(Boolean).join(", ");
}

/** Keep Markdown readers from making anything of the words. @param {string} text */
function escaped(text) {
  return text.replace(/[\\`*_[\]<>#|~]/g, "\\$&").replace(/(https?):/gi, "$1\\:");
}
