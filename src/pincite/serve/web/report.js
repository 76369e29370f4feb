/** One run: at which stage answers were lost, case by case, and what changed since another run. */

import * as api from "./api.js";
import { MODES } from "./composer.js";
import { opened } from "./documents.js";
import { button, el, fill, icon, loading, notice } from "./dom.js";
import { day, decoded, duration, line, plural, visible } from "./text.js";

const RIGHT = ["answered", "refused_rightly"];
const VERDICTS = { better: "good", worse: "bad" };

/** @param {HTMLElement} root @param {import("./app.js").App} app */
export function mount(root, app) {
  const { id, params } = app.route;
  const other = params.get("against");
  const path = (run) => `/v1/evaluations/${encodeURIComponent(run)}`;
  return opened(root, back, "Reading the report…", async (signal) => {
    const [run, { evaluations }, difference] = await Promise.all([
      api.get(path(id), {}, signal),
      api.get("/v1/evaluations", {}, signal),
      other && api.get(`${path(other)}/against/${encodeURIComponent(id)}`, {}, signal),
    ]);
    app.title(difference ? "Two runs compared" : "Report");
    fill(root, page(run, evaluations, difference, app));
  });
}

const back = () => el("a.back", { href: "#/evaluation" }, icon("back"), "Evaluation");
const percent = (value) => `${(100 * value).toFixed(value && value < 0.1 ? 1 : 0)} %`;
const when = (run) => `${day(run.started)}${run.started ? `, ${new Date(run.started).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}` : ""}`;

function page(run, runs, difference, app) {
  const cases = el("div.stack");
  const show = (stage) => caseList(cases, run, stage, app);
  show("");
  return el(
    "div.page", back(),
    el("header.page-head", el("div", el("h1", { text: headline(run) }), el("p", { text: `${when(run)} · ${plural(run.questions, "question")} · search ${(MODES[run.mode] || run.mode).toLowerCase()} · ${run.generator === "extractive" ? "answers of quotes" : `answers by ${line(run.generator, 60)}`} · ${duration(run.seconds || 0)}` })), against(run, runs, app)),
    difference && comparison(difference),
    run.left_out > 0 && notice("info", `${plural(run.left_out, "case")} ${run.left_out === 1 ? "was" : "were"} left out: without a question, or without what a right answer is.`),
    ceiling(run, show),
    measures(run),
    cases,
  );
}

function headline(run) {
  return run.questions ? `${run.right} of ${run.questions} right` : "No question was asked";
}

/** Choose a run to compare with. */
function against(run, runs, app) {
  const others = runs.filter((each) => each.id !== run.id);
  if (!others.length) return null;
  const select = el("select.input", { id: "against" }, el("option", { value: "", text: "no other run" }), others.map((each) => el("option", { value: each.id, text: `${when(each)}: ${each.right} of ${each.questions}` })));
  select.value = app.route.params.get("against") || "";
  select.addEventListener("change", () => app.go(api.address(`/evaluation/${encodeURIComponent(run.id)}`, { against: select.value })));
  return el("label.field", { for: "against" }, "Compare with", select);
}

/** The stages as bars, in a table that says the same. @param {any} run @param {(stage: string) => void} show */
function ceiling(run, show) {
  const stages = run.stages.filter((stage) => stage.count > 0);
  const row = (stage) => {
    const good = RIGHT.includes(stage.stage);
    const bar = el("span.bar", { class: good ? "good" : "bad", style: { "inline-size": `${100 * stage.share}%` }, "aria-hidden": "true" });
    return el("tr", el("th", { scope: "row" }, el("button.link", { type: "button", text: stage.label, on: { click: () => show(stage.stage) } })), el("td.number", { text: stage.count }), el("td.number", { text: percent(stage.share) }), el("td.bar-cell", bar));
  };
  const empty = run.stages.filter((stage) => !stage.count && !RIGHT.includes(stage.stage)).map((stage) => stage.label);
  return el(
    "section.card.stack", { "aria-labelledby": "ceiling" },
    el("h2", { id: "ceiling", text: "Where answers were lost" }),
    el("div.scroll-x", el("table.table.ceiling", el("thead", el("tr", el("th", { scope: "col", text: "Stage" }), el("th.number", { scope: "col", text: "Cases" }), el("th.number", { scope: "col", text: "Share" }), el("th", { scope: "col" }, el("span.visually-hidden", { text: "As a bar" })))), el("tbody", stages.map(row)))),
    empty.length > 0 && el("p.small.muted", { text: `Nothing was lost to: ${empty.join(", ")}.` }),
  );
}

/** Means with their intervals. */
function measures(run) {
  const rows = Object.entries(run.metrics || {}).filter(([, value]) => typeof value === "number");
  if (!rows.length) return null;
  const interval = (name) => (run.intervals?.[name] ? `${run.intervals[name][0].toFixed(3)} to ${run.intervals[name][1].toFixed(3)}` : "");
  return el(
    "details.card", el("summary", { text: "Measures of the search" }),
    el("table.table", el("thead", el("tr", el("th", { scope: "col", text: "Measure" }), el("th.number", { scope: "col", text: "Mean" }), el("th.number", { scope: "col", text: "95 % interval" }))), el("tbody", rows.map(([name, value]) => el("tr", el("th", { scope: "row", text: line(name, 40) }), el("td.number", { text: value.toFixed(3) }), el("td.number", { text: interval(name) }))))),
  );
}

/** What differs from another run. @param {any} difference of `a` (earlier) and `b` (this one); b less a */
function comparison({ a, b, differences, changed, only_a: onlyA, only_b: onlyB }) {
  const signed = (value) => `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(3)}`;
  const names = { right: "right answers (share)" };
  const unlike = [onlyA && `${plural(onlyA, "case")} only in the other run`, onlyB && `${plural(onlyB, "case")} only in this run`].filter(Boolean);
  return el(
    "section.card.stack", { "aria-labelledby": "comparison" },
    el("h2", { id: "comparison", text: `Against the run of ${when(a)}` }),
    el("p", { text: `There ${a.right} of ${a.questions} right, here ${b.right} of ${b.questions}.${unlike.length ? ` Compared is what both asked: ${unlike.join(", ")}.` : ""}` }),
    el("div.scroll-x", el("table.table", el("thead", el("tr", el("th", { scope: "col", text: "Measure" }), ["Difference", "95 % interval", "p"].map((words) => el("th.number", { scope: "col", text: words })), el("th", { scope: "col", text: "What is shown" }))), el("tbody", Object.entries(differences).map(([name, one]) => el("tr", el("th", { scope: "row", text: names[name] || line(name, 40) }), el("td.number", { text: signed(one.difference) }), el("td.number", { text: `${signed(one.low)} to ${signed(one.high)}` }), el("td.number", { text: one.p.toFixed(3) }), el("td", el("span.tag", { class: VERDICTS[one.verdict] || "", text: one.verdict }))))))),
    el("h3", { text: changed.length ? `${plural(changed.length, "case")} changed` : "No case changed" }),
    changed.length > 0 && el("ul.changed", changed.map(change)),
  );
}

/** @param {any} one */
function change({ question, before, after }) {
  const side = (words, each) => el("div.side", el("p.small.muted", words, " ", stageTag(each)), el("p", { dir: "auto", text: line(each.answer || "no answer", 400) }));
  return el("li", el("p.asked", { dir: "auto", text: line(question, 300) }), el("div.sides", side("Before", before), side("Now", after)));
}

const stageTag = ({ stage, label }) => el("span.tag", { class: RIGHT.includes(stage) ? "good" : "bad", text: label });

/** The cases, all or those of one stage. */
function caseList(node, run, stage, app) {
  const label = Object.fromEntries(run.stages.map((each) => [each.stage, each.label]));
  const chosen = run.cases.filter((one) => !stage || one.stage === stage);
  const lost = (one) => (RIGHT.includes(one.stage) ? 1 : 0);
  const sorted = [...chosen].sort((x, y) => lost(x) - lost(y));
  fill(
    node,
    el("div.row.spread", el("h2", { tabindex: "-1", text: stage ? `${plural(chosen.length, "case")}: ${label[stage]}` : "Cases" }), stage && button("Show all", { kind: "quiet", on: () => caseList(node, run, "", app) })),
    el("div.case-list", sorted.map((one) => caseDetails(one, label[one.stage] || one.stage))),
  );
  if (stage) node.querySelector("h2").focus();
}

/** A case with its why; built when it is opened. */
function caseDetails(one, label) {
  const inside = el("div.stack");
  const box = el("details.card.case", el("summary", el("bdi", { class: "asked", text: line(one.question, 300) }), stageTag({ stage: one.stage, label })), inside);
  box.addEventListener("toggle", () => box.open && !inside.childElementCount && fill(inside, why(one)), { once: true });
  return box;
}

/** @param {any} one */
function why(one) {
  const facts = [
    ["Expected", one.expected?.length ? one.expected.join(" / ") : one.quote ? `“${one.quote}”` : "that the documents do not answer"],
    ["Answer", one.answer || "none"],
    ["Document", one.uri && decoded(one.uri)],
    ["Terms it lacks", one.lacking?.join(", ")],
  ];
  return [
    el("p", { text: one.reason }),
    one.fix && el("p.fix", el("strong", { text: "What to do: " }), one.fix),
    el("dl", facts.filter(([, words]) => words).map(([name, words]) => [el("dt", { text: name }), el("dd", { dir: "auto", text: visible(String(words)) })])),
    places(one.places || []),
    passages("Its evidence", one.evidence || []),
    passages("Found instead", (one.ahead || []).map((hit) => `${line(hit.title || decoded(hit.uri), 80)}: ${hit.text}`)),
    el("div.row", el("a.button", { href: api.address("#/", { q: one.question }) }, icon("ask"), "Ask it"), one.uri && el("a.button", { href: api.address("#/library", { q: line(decoded(one.uri), 300).split("/").pop() }) }, icon("file"), "Find the document")),
  ];
}

/** Where the passage stood in each list. */
function places(all) {
  if (!all.length) return null;
  return el("table.table.places-table", el("thead", el("tr", el("th", { scope: "col", text: "List" }), el("th.number", { scope: "col", text: "Rank" }), el("th.number", { scope: "col", text: "Score" }))), el("tbody", all.map((place) => el("tr", el("th", { scope: "row", text: place.stage }), el("td.number", { text: place.rank ? `${place.rank}` : `beyond ${place.depth}` }), el("td.number", { text: place.score === null || place.score === undefined ? "" : place.score.toFixed(3) })))));
}

/** @param {string} title @param {string[]} texts */
function passages(title, texts) {
  if (!texts.length) return null;
  return el("details", el("summary", { text: `${title} (${texts.length})` }), el("ul.quotes", texts.map((text) => el("li.small", { dir: "auto", text: line(text, 500) }))));
}
