// The first generation of the TypeScript SDK, which knows the legacy era alone.
// Arguments: the server, and "plain" or "tasks".
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { Inbox, asked, check, finish, rejection } from "./report.mjs";
import { TASKS, count, fail, long, quick, ticking } from "./commands.mjs";
import { ends, walk } from "./walk.mjs";

const [, , command, mode] = process.argv;
const transport = new StdioClientTransport({ command, stderr: "ignore" });
const client = new Client({ name: "sdk1", version: "1" },
  { capabilities: mode === "tasks" ? { extensions: { [TASKS]: {} } } : {} });
const faults = [], updates = new Inbox(), notes = new Inbox();
client.onerror = (e) => faults.push(e.message);
client.fallbackNotificationHandler = async (n) => notes.put(n);
client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => updates.put(n.params.uri));

const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const ask = (method, params) => client.request({ method, params }, z.looseObject({}));

await check("connect", () => client.connect(transport));
if (mode === "tasks") await tasks();
else {
  await walk({ client, call, tools: async () => (await client.listTools()).tools });
  await subscribing();
}
await check("nothing on the wire that the client could not place", async () => assert.deepEqual(faults, []));
await check("a line that is not JSON is answered and changes nothing", async () => {
  const answered = new Promise((resolve) => { client.onerror = resolve; });
  transport._process.stdin.write("{not json}\n");
  await answered;
  await client.listTools();
});
await ends(client, transport);
finish();

async function subscribing() {
  await check("a subscribed resource tells of its changes until unsubscribed", async () => {
    const { job_id } = (await call("run", { command: ticking })).structuredContent;
    const record = `belfry://jobs/${job_id}`, output = `${record}/output`;
    await client.subscribeResource({ uri: record });
    await client.subscribeResource({ uri: output });
    await updates.first((uri) => uri === output);
    await call("kill", { job_id });
    await updates.first((uri) => uri === record);
    await client.unsubscribeResource({ uri: record });
    await client.unsubscribeResource({ uri: output });
  });
}

async function tasks() {
  const mint = async (cmd) => {
    const r = await ask("tools/call", { name: "run", arguments: { command: cmd } });
    assert.equal(typeof r.taskId, "string");
    return r;
  };
  const endOf = (taskId) => asked(() => ask("tasks/get", { taskId }), (t) => t.status !== "working");
  const ofTask = (id) => (n) => n.method === "notifications/tasks" && n.params.taskId === id && n.params.status !== "working";

  await check("the server declares the extension", async () => {
    assert.deepEqual(client.getServerCapabilities().extensions?.[TASKS], {});
  });
  await check("plain callTool gets the job as without the extension", async () => {
    await client.listTools(); // from here on the client checks replies against the schemas
    assert.equal(typeof (await call("run", { command: quick })).structuredContent.job_id, "string");
  });
  await check("run mints a task, and its end is told", async () => {
    const r = await mint(count);
    assert.deepEqual([r.status, r.task], ["working", undefined]);
    assert.equal(r.ttlMs === null || r.ttlMs > 0, true);
    const { params } = await notes.first(ofTask(r.taskId));
    assert.equal(params.status, "completed");
    const t = await ask("tasks/get", { taskId: r.taskId });
    assert.deepEqual([t.status, t.result.structuredContent.exit_code, t.result.isError], ["completed", 0, false]);
  });
  await check("output wakes before the end", async () => {
    const { taskId } = await mint(count);
    await notes.first(ofTask(taskId));
    const wakes = notes.all.filter((n) => n.method === "notifications/belfry/outputWake" && n.params.taskId === taskId);
    assert.equal(wakes.flatMap((n) => n.params.stdout ?? []).map((l) => l.text).join(), "1,2,3");
    assert.ok(notes.all.indexOf(wakes.at(-1)) < notes.all.findIndex(ofTask(taskId)));
  });
  await check("a failing command completes with isError", async () => {
    const t = await endOf((await mint(fail)).taskId);
    assert.deepEqual([t.status, t.result.isError, t.result.structuredContent.exit_code], ["completed", true, 3]);
  });
  await check("cancel kills the job, and again is acknowledged", async () => {
    const { taskId } = await mint(long);
    await ask("tasks/cancel", { taskId });
    assert.equal((await endOf(taskId)).status, "cancelled");
    await ask("tasks/cancel", { taskId });
    assert.equal((await call("status", { job_id: taskId })).structuredContent.state, "killed");
  });
  await check("twenty jobs that end together are told each once, each with its code", async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, async (_, i) =>
      (await mint(["sh", "-c", `sleep .3; exit ${i}`])).taskId));
    for (const [i, id] of ids.entries()) {
      const { params } = await notes.first(ofTask(id));
      assert.equal(params.result.exitCode, i);
    }
    await client.listTools(); // what was sent before this reply has arrived
    for (const id of ids) assert.equal(notes.count(ofTask(id)), 1);
  });
  await check("an unknown task is -32602", async () => {
    assert.equal((await rejection(ask("tasks/get", { taskId: "no-such-task" }))).code, -32602);
  });
}
