// A walk through the seven tools, resources and prompts, for any client that
// has call(name, arguments, options), tools(), and client.
import assert from "node:assert/strict";
import { check, rejection } from "./report.mjs";
import { content, count, fail, long, texts } from "./commands.mjs";

const seven = ["run", "status", "list", "output", "tail", "kill", "follow"];
const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

export async function walk(session) {
  const call = async (name, args, options) => {
    const r = await session.call(name, args, options);
    assert.ok(!r.isError, `${name} is an error: ${content(r)}`);
    assert.equal(typeof r.structuredContent, "object", `${name} has no structuredContent`);
    return r.structuredContent;
  };
  const run = async (command, more) => (await call("run", { command, ...more })).job_id;
  const toEnd = async (job_id) => {
    const events = [];
    for (let cursor = 0; ; ) {
      const r = await call("follow", { job_id, cursor, timeout_ms: 10_000 });
      events.push(...r.events);
      cursor = r.next_cursor;
      if (r.reason === "terminal") return { ...r, events };
    }
  };

  await check("tools/list is the seven tools, the same each time", async () => {
    const tools = await session.tools();
    assert.deepEqual(tools.map((t) => t.name).sort(), [...seven].sort());
    assert.deepEqual(await session.tools(), tools);
    for (const t of tools) {
      assert.equal(t.inputSchema.type, "object", t.name);
      assert.equal(t.outputSchema?.type, "object", `${t.name} has no outputSchema`);
      assert.ok(t.title && t.description, `${t.name} has no title or description`);
      for (const h of hints) assert.equal(typeof t.annotations?.[h], "boolean", `${t.name} ${h}`);
    }
  });
  await check("run answers while its job runs", async () => {
    const r = await call("run", { command: long });
    assert.ok(["starting", "running"].includes(r.state), r.state);
    assert.ok(["starting", "running"].includes((await call("status", { job_id: r.job_id })).state));
    await call("kill", { job_id: r.job_id });
  });
  const job = await check("run takes a label", () => run(count, { label: "counting" }));
  await check("follow brings the lines and the end", async () => {
    const r = await toEnd(job);
    assert.equal(texts(r), "1,2,3");
    assert.deepEqual([r.state, r.exit_code], ["exited", 0]);
  });
  await check("output in pages, and nothing behind the last", async () => {
    const seen = [];
    let after_cursor = 0;
    for (;;) {
      const r = await call("output", { job_id: job, after_cursor, limit: 2 });
      assert.ok(r.events.length <= 2);
      for (const e of r.events) {
        assert.ok(e.seq > after_cursor && e.stream === "stdout", JSON.stringify(e));
        after_cursor = e.seq;
      }
      assert.equal(r.next_cursor, after_cursor);
      if (r.events.length === 0) break;
      seen.push(texts(r));
    }
    assert.deepEqual(seen, ["1,2", "3"]);
  });
  await check("tail gives the newest", async () => {
    assert.equal(texts(await call("tail", { job_id: job, lines: 2 })), "2,3");
  });
  await check("list shows the job with its label", async () => {
    const of = (await call("list", {})).jobs.find((j) => j.job_id === job);
    assert.deepEqual([of?.state, of?.label], ["exited", "counting"]);
  });
  await check("a failing command ends with its code and its words", async () => {
    const r = await toEnd(await run(fail));
    assert.deepEqual([r.state, r.exit_code], ["exited", 3]);
    assert.deepEqual(r.events.map((e) => [e.stream, e.text]), [["stderr", "broken"]]);
  });
  await check("a command that the policy does not name is a failed job", async () => {
    const r = await call("status", { job_id: await run(["/usr/bin/env", "true"]) });
    assert.equal(r.state, "failed");
    assert.match(JSON.stringify(r), /policy/);
  });
  await check("kill ends a job, and again does no harm", async () => {
    const job_id = await run(long);
    await call("kill", { job_id });
    const r = await toEnd(job_id);
    assert.deepEqual([r.state, r.signal], ["killed", "SIGTERM"]);
    await call("kill", { job_id });
  });
  await check("follow of a silent job ends at its bound", async () => {
    const job_id = await run(long);
    const begin = performance.now();
    const r = await call("follow", { job_id, timeout_ms: 300 });
    assert.ok(performance.now() - begin >= 290);
    assert.deepEqual([r.reason, r.events], ["timeout", []]);
    await call("kill", { job_id });
  });
  await check("a follow that the client gives up leaves the connection in order", async () => {
    const job_id = await run(long);
    const stop = new AbortController();
    const waiting = rejection(session.call("follow", { job_id, timeout_ms: 60_000 }, { signal: stop.signal }));
    await call("status", { job_id }); // it is answered behind the follow
    stop.abort("enough");
    await waiting;
    await call("kill", { job_id });
  });
  await check("progress comes while a follow waits", async () => {
    const job_id = await run(long);
    const heard = [];
    let first;
    const one = new Promise((resolve) => { first = resolve; });
    const stop = new AbortController();
    const waiting = rejection(session.call("follow", { job_id, timeout_ms: 60_000 },
      { signal: stop.signal, onprogress: (p) => { heard.push(p.progress); first(); } }));
    await one;
    stop.abort("heard");
    await waiting;
    assert.ok(heard[0] >= 0);
    await call("kill", { job_id });
  });
  await check("an unknown job is named in the error", async () => {
    for (const name of ["status", "output", "tail", "kill", "follow"]) {
      const r = await session.call(name, { job_id: "no-such-job" });
      assert.ok(r.isError, name);
      assert.match(content(r), /no-such-job/, name);
    }
  });
  await check("arguments that do not fit are refused", async () => {
    for (const args of [{}, { command: [] }, { command: 5 }, { command: "true" }]) {
      const r = await session.call("run", args).catch((e) => e);
      assert.ok(r.isError === true || r.code === -32602, JSON.stringify(args));
    }
  });
  await check("markup stays as it is in the text", async () => {
    const job_id = await run(["echo", "<a href='x'>&</a>"]);
    await toEnd(job_id);
    assert.ok(content(await session.call("tail", { job_id })).includes("<a href='x'>&</a>"));
  });
  await check("sixty-four calls at once", async () => {
    const all = await Promise.all(Array.from({ length: 64 }, () => call("status", { job_id: job })));
    assert.ok(all.every((r) => r.job_id === job));
  });
  await resources(session.client, job, call);
}

async function resources(client, job, call) {
  await check("resources of a job: templates, reading, completion", async () => {
    const { resourceTemplates } = await client.listResourceTemplates();
    const uris = resourceTemplates.map((t) => t.uriTemplate);
    assert.ok(uris.includes("belfry://jobs/{id}"), uris.join());
    const output = uris.find((u) => u.startsWith("belfry://jobs/{id}/output"));
    assert.ok(output, uris.join());
    const record = (await client.readResource({ uri: `belfry://jobs/${job}` })).contents[0];
    assert.deepEqual([record.mimeType, JSON.parse(record.text)],
      ["application/json", await call("status", { job_id: job })]);
    const lines = (await client.readResource({ uri: `belfry://jobs/${job}/output` })).contents[0];
    assert.deepEqual([lines.mimeType, lines.text.trim()], ["text/plain", "1\n2\n3"]);
    const { completion } = await client.complete({
      ref: { type: "ref/resource", uri: output }, argument: { name: "id", value: job.slice(0, 8) } });
    assert.ok(completion.values.includes(job), completion.values.join());
  });
  await check("a resource that is not there", async () => {
    const e = await rejection(client.readResource({ uri: "belfry://jobs/no-such-job" }));
    assert.ok([-32002, -32602].includes(e.code), String(e));
  });
  await check("prompts: each can be got", async () => {
    const { prompts } = await client.listPrompts();
    assert.ok(prompts.length >= 2);
    for (const p of prompts) {
      const given = Object.fromEntries((p.arguments ?? []).filter((a) => a.required).map((a) => [a.name, job]));
      const r = await client.getPrompt({ name: p.name, arguments: given });
      assert.ok(r.messages[0].content.text.length > 0, p.name);
    }
  });
}

// ends closes the client and sees its server go, which must not need a signal.
export async function ends(client, transport) {
  await check("closing the client ends the server", async () => {
    const server = transport._process;
    const gone = new Promise((resolve) => server.once("exit", (code, signal) => resolve([code, signal])));
    await client.close();
    assert.deepEqual(await gone, [0, null]);
  });
}
