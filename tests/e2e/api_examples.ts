// The examples of docs/api.md as a program in TypeScript, over the types that are generated from the description (`./api`).
import type { components, paths } from "./api";

declare const process: { argv: string[] };
const [, , url, token] = process.argv;
type Schemas = components["schemas"];
type Method = "get" | "post" | "put" | "patch" | "delete";
type PathOf<M extends Method> = { [P in keyof paths]: paths[P][M] extends { responses: unknown } ? P : never }[keyof paths];
type BodyOf<O> = O extends { requestBody?: infer R } ? (NonNullable<R> extends { content: { "application/json": infer B } } ? B : never) : never;
type QueryOf<O> = O extends { parameters: { query?: infer Q } } ? Q : never;
type Content<R> = R extends { content: { "application/json": infer A } } ? A : R extends { content: { "text/plain": infer A } } ? A : unknown;
type AnswerOf<O> = O extends { responses: { 200: infer R } } ? Content<R> : O extends { responses: { 201: infer R } } ? Content<R> : undefined;
interface Given<O> {
  place?: Record<string, string | number>;
  query?: QueryOf<O>;
  body?: BodyOf<O>;
  headers?: Record<string, string>;
}

const called = new Set<string>();

async function call<M extends Method, P extends PathOf<M>>(method: M, path: P, given: Given<paths[P][M]> = {}): Promise<AnswerOf<paths[P][M]>> {
  called.add(`${method.toUpperCase()} ${path}`);
  const place = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(`${given.place?.[name]}`));
  const query = Object.entries(given.query ?? {}).flatMap(([name, value]) => [value].flat().map((each) => [name, `${each}`]));
  const answer = await fetch(`${url}${place}?${new URLSearchParams(query)}`, {
    method: method.toUpperCase(),
    headers: { authorization: `Bearer ${token}`, ...(given.body === undefined ? {} : { "content-type": "application/json" }), ...given.headers },
    body: given.body === undefined ? undefined : JSON.stringify(given.body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${place}: ${answer.status} ${text}`);
  const isJson = (answer.headers.get("content-type") ?? "").includes("json");
  return (isJson ? JSON.parse(text) : text) as AnswerOf<paths[P][M]>;
}

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(`it does not hold: ${what}`);
}

async function untilPaused(loop_id: string): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if ((await call("get", "/api/v1/loops/{loop_id}", { place: { loop_id } })).status === "paused") return;
    await new Promise((go) => setTimeout(go, 100));
  }
  throw new Error("it does not pause");
}

// Only what the program says is sent: the settings file of the project keeps its gates.
const plain: Schemas["Settings"] = { agent: "scripted" };
const gated = await call("post", "/api/v1/loops", { body: { task: "A job", settings: plain } });
// @ts-expect-error A misspelt gate does not compile.
const misspelt: Schemas["Settings"] = { require_changes: true };
check(misspelt !== undefined, "the line above is there for its types");

await call("put", "/api/v1/settings", { body: { max_iterations: 8, checks: ["pytest -q"] } });
check((await call("get", "/api/v1/settings")).max_iterations === 8, "settings");
check("properties" in (await call("get", "/api/v1/settings/schema")), "schema");

const created: Schemas["NewLoop"] = {
  task: "Write a report in steps",
  start: true,
  settings: { agent: "scripted", checks: ["test $(wc -l < scripted-work.md) -ge 3"] },
};
const { loop_id } = await call("post", "/api/v1/loops", { body: created });
const place = { loop_id };
await call("get", "/api/v1/loops/{loop_id}", { place });
await call("get", "/api/v1/loops", { query: { status: ["running"], limit: 10 } });
check(`${await call("get", "/api/v1/loops/{loop_id}/events", { place })}`.includes("loop_end"), "the stream ends");
check((await call("get", "/api/v1/loops/{loop_id}/receipt", { place })).outcome === "verified", "receipt");
const verified = await call("post", "/api/v1/loops/{loop_id}/verify", { place, body: { room: "plain" } });
check(verified.checks[0].agrees, "verify");
await call("get", "/api/v1/loops/{loop_id}/output/{name}", { place: { loop_id, name: 1 }, query: { offset: 0, limit: 1000 } });
const third = { loop_id, number: 3 };
check((await call("get", "/api/v1/loops/{loop_id}/rounds/{number}", { place: third })).gates[0].passed, "round");
const diff = await call("get", "/api/v1/loops/{loop_id}/rounds/{number}/diff", { place: third });
check(diff.includes("+++ b/scripted-work.md"), "diff");

const slow = await call("post", "/api/v1/loops", {
  body: { task: "A long job", start: true, settings: { agent: "scripted", max_iterations: 5, args: ["--scenario", "slow", "--seconds", "60"] } },
});
const long = { loop_id: slow.loop_id };
await call("post", "/api/v1/loops/{loop_id}/messages", { place: long, body: { text: "[r+5] mind the tests" } });
const raised = await call("post", "/api/v1/loops/{loop_id}/budget", { place: long, body: { iterations: "+5", cost: 10, minutes: "none" } });
check(raised.max_iterations === 15, "budget");
await call("patch", "/api/v1/loops/{loop_id}", { place: long, body: { title: "Another title" } });
for (const _ of [1, 2]) {
  const once = { place: long, body: { iterations: "+1" }, headers: { "Idempotency-Key": "7f3c" } };
  check((await call("post", "/api/v1/loops/{loop_id}/budget", once)).max_iterations === 16, "once");
}
await call("post", "/api/v1/loops/{loop_id}/pause", { place: long, body: { now: true } });
await untilPaused(slow.loop_id);
check((await call("post", "/api/v1/loops/{loop_id}/resume", { place: long, body: {} })).status === "running", "resume");
await call("post", "/api/v1/loops/{loop_id}/stop", { place: long, body: { now: true } });
await call("delete", "/api/v1/loops/{loop_id}", { place: long, query: { force: true } });

const flow = await call("post", "/api/v1/loops", { body: { task: "Write a parser", settings: { agent: "scripted", mode: "workflow" } } });
const tasks = { loop_id: flow.loop_id };
const one = await call("post", "/api/v1/loops/{loop_id}/tasks", { place: tasks, body: { text: "Write the tests" } });
const two = await call("post", "/api/v1/loops/{loop_id}/tasks", { place: tasks, body: { text: "Write the grammar" } });
const ordered = await call("put", "/api/v1/loops/{loop_id}/tasks/order", { place: tasks, body: { order: [two.task_id, one.task_id] } });
check(ordered.tasks[0].text === "Write the grammar", "order");
await call("patch", "/api/v1/loops/{loop_id}/tasks/{task_id}", { place: { ...tasks, task_id: one.task_id }, body: { status: "completed" } });
await call("delete", "/api/v1/loops/{loop_id}/tasks/{task_id}", { place: { ...tasks, task_id: two.task_id } });
check((await call("get", "/api/v1/loops/{loop_id}/tasks", { place: tasks })).tasks.length === 1, "tasks");

console.log(JSON.stringify({ gated: gated.loop_id, called: [...called] }));
