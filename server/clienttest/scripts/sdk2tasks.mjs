// Tasks and their subscriptions through the second generation of the TypeScript
// SDK, whose listen passes task ids on. Argument: the server.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Inbox, asked, check, finish, rejection } from "./report.mjs";
import { MODERN, TASKS, count, fail, long, quick, soon } from "./commands.mjs";
import { Side } from "./side.mjs";
import { ends } from "./walk.mjs";

const [, , command] = process.argv;
const framing = { clientInfo: { name: "sdk2tasks", version: "1" }, clientCapabilities: { extensions: { [TASKS]: {} } } };
const transport = new StdioClientTransport({ command, stderr: "ignore" });
const client = new Client(framing.clientInfo,
  { capabilities: framing.clientCapabilities, versionNegotiation: { mode: { pin: MODERN } } });
const faults = [], notes = new Inbox();
client.onerror = (e) => faults.push(e.message);
client.fallbackNotificationHandler = async (n) => notes.put(n);

const listenerOf = (n) => n.params._meta?.["io.modelcontextprotocol/subscriptionId"];
const about = (id) => (n) => n.method === "notifications/tasks" && n.params.taskId === id;
const endOf = (id) => (n) => about(id)(n) && n.params.status !== "working";

await check("connect", () => client.connect(transport));
const side = new Side(transport);
const ask = (method, params) => side.ask(method, params, framing);
const mint = async (cmd) => (await ask("tools/call", { name: "run", arguments: { command: cmd } })).taskId;
const settled = (taskId) => asked(() => ask("tasks/get", { taskId }), (t) => t.status !== "working");

await check("run mints a task in the strict form", async () => {
  const r = await ask("tools/call", { name: "run", arguments: { command: quick } });
  const members = ["_meta", "createdAt", "lastUpdatedAt", "pollIntervalMs", "resultType", "status", "statusMessage", "taskId", "ttlMs"];
  assert.deepEqual(Object.keys(r).filter((k) => !members.includes(k)), []);
  assert.deepEqual([r.resultType, r.status], ["task", "working"]);
  assert.ok(Date.parse(r.createdAt) <= Date.parse(r.lastUpdatedAt));
  assert.ok(r.ttlMs === null || r.ttlMs > 0);
});
await check("a finished task holds the result of run", async () => {
  const t = await settled(await mint(fail));
  assert.deepEqual([t.resultType, t.status, t.result.resultType], ["complete", "completed", "complete"]);
  assert.deepEqual([t.result.isError, t.result.structuredContent.exit_code], [true, 3]);
});
await check("a listen brings the end, under its own id", async () => {
  const id = await mint(count);
  const subscription = await client.listen({ taskIds: [id] });
  const n = await notes.first(endOf(id));
  assert.deepEqual([n.params.status, n.params.result.isError], ["completed", false]);
  assert.ok(listenerOf(n) !== undefined);
  await subscription.close();
});
await check("a listen after the end brings it once", async () => {
  const id = await mint(quick);
  await settled(id);
  const subscription = await client.listen({ taskIds: [id] });
  await notes.first(endOf(id));
  await listened(soon); // and nothing more comes while another task lives
  assert.equal(notes.count(endOf(id)), 1);
  await subscription.close();
});
await check("two listens at once bring each its own", async () => {
  const ids = [await mint(soon), await mint(soon)];
  const subscriptions = [];
  for (const id of ids) subscriptions.push(await client.listen({ taskIds: [id] }));
  const ends = [];
  for (const id of ids) ends.push(listenerOf(await notes.first(endOf(id))));
  assert.notEqual(ends[0], ends[1]);
  for (const [i, id] of ids.entries())
    assert.deepEqual([...new Set(notes.all.filter(about(id)).map(listenerOf))], [ends[i]]);
  for (const s of subscriptions) await s.close();
});
await check("a closed listen brings nothing more", async () => {
  const id = await mint(long);
  const first = await client.listen({ taskIds: [id] });
  const state = await notes.first(about(id)); // the state at its beginning
  await first.close();
  const second = await client.listen({ taskIds: [id] });
  await ask("tasks/cancel", { taskId: id });
  const end = await notes.first(endOf(id));
  assert.notEqual(listenerOf(end), listenerOf(state));
  assert.equal(notes.count((n) => about(id)(n) && listenerOf(n) === listenerOf(state)), 1);
  await second.close();
});
await check("a task that nobody listens to is not told", async () => {
  const id = await mint(quick);
  await settled(id);
  await listened(soon);
  assert.equal(notes.count(about(id)), 0);
});
await check("cancel kills the job", async () => {
  const id = await mint(long);
  const ack = await ask("tasks/cancel", { taskId: id });
  assert.deepEqual([ack.resultType, ack.taskId], ["complete", undefined]);
  assert.equal((await settled(id)).status, "cancelled");
});
await check("without the capability there are no tasks", async () => {
  const id = await mint(quick);
  const without = { ...framing, clientCapabilities: {} };
  const e = await rejection(side.ask("tasks/get", { taskId: id }, without));
  assert.equal(e.code, -32021);
  assert.ok(e.data.requiredCapabilities.extensions[TASKS]);
  const r = await side.ask("tools/call", { name: "run", arguments: { command: quick } }, without);
  assert.deepEqual([r.resultType, typeof r.structuredContent.job_id], ["complete", "string"]);
});
await check("an unknown task is -32602", async () => {
  assert.equal((await rejection(ask("tasks/get", { taskId: "no-such-task" }))).code, -32602);
});
await check("nothing on the wire that the client could not place", async () => assert.deepEqual(faults, []));
await ends(client, transport);
finish();

// listened runs a command and waits for its end in a listen.
async function listened(cmd) {
  const id = await mint(cmd);
  const subscription = await client.listen({ taskIds: [id] });
  await notes.first(endOf(id));
  await subscription.close();
}
