// The client library of the Tasks extension over the second generation of the
// TypeScript SDK. Arguments: the server, and "jobs" or "fixtures" for the tools
// of the fixture server.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { check, finish } from "./report.mjs";
import { MODERN, TASKS, count, fail, long, quick, soon } from "./commands.mjs";
import { Side } from "./side.mjs";
import { ends } from "./walk.mjs";

const [, , command, mode] = process.argv;
const clientInfo = { name: "exttasks", version: "1" };
const clientCapabilities = { extensions: { [TASKS]: {} }, elicitation: { form: {} } };
const transport = new StdioClientTransport({ command, stderr: "ignore" });
const client = new Client(clientInfo, { capabilities: clientCapabilities, versionNegotiation: { mode: { pin: MODERN } } });
const questions = [];

const session = await check("a session on a connected client", async () => {
  await client.connect(transport);
  const side = new Side(transport);
  return createTaskSessionFromClient(client, {
    endpointId: "belfry",
    rawDispatch: async (request) => {
      const { result, error } = await side.send(request);
      return error === undefined ? { kind: "result", result } : { kind: "error", error };
    },
    v2RequestFraming: { protocolVersion: MODERN, clientInfo, clientCapabilities },
    onInputRequest: async (question) => {
      questions.push(question);
      return { action: "accept", content: { confirm: true, name: "Alice" } };
    },
  });
});
if (session) {
  await (mode === "fixtures" ? fixtures() : jobs());
  await check("the session ends", () => session.close());
  await ends(client, transport);
}
finish();

async function outcomeOf(execution, states = []) {
  assert.equal(execution.kind, "task");
  const settled = await execution.settle({ onEvent: (e) => e.task && states.push(e.task.status) });
  return settled.outcome;
}

async function jobs() {
  const run = (cmd) => session.callTool("run", { command: cmd });
  await check("a task is settled", async () => {
    const states = [];
    const outcome = await outcomeOf(await run(count), states);
    assert.equal(outcome.status, "completed", outcome.error?.message);
    assert.equal(states[0], "working");
    const result = resultFromTaskOutcome(outcome);
    assert.deepEqual([result.isError ?? false, result.structuredContent.exit_code], [false, 0]);
  });
  await check("a failing command completes with isError", async () => {
    const outcome = await outcomeOf(await run(fail));
    assert.equal(outcome.status, "completed", outcome.error?.message);
    assert.deepEqual([outcome.result.isError, outcome.result.structuredContent.exit_code], [true, 3]);
  });
  await check("a task is cancelled", async () => {
    const execution = await run(long);
    await execution.cancel();
    assert.equal((await outcomeOf(execution)).status, "cancelled");
  });
  await check("a task is taken up again by its reference", async () => {
    const execution = await run(soon);
    let reference;
    await execution.handoff((r) => { reference = structuredClone(r); });
    // The library lets go of a task only after handoff has resolved.
    await new Promise((resolve) => setImmediate(resolve));
    let again;
    while (again === undefined) {
      again = await session.resumeTask(reference).catch((e) => {
        if (e.name !== "TaskRecoveryOwnershipError" && e.constructor.name !== "TaskRecoveryOwnershipError") throw e;
        return new Promise((resolve) => setTimeout(resolve, 20));
      });
    }
    assert.equal((await outcomeOf(again)).status, "completed");
  });
  await check("eight tasks at once", async () => {
    const all = await Promise.all(Array.from({ length: 8 }, async () => outcomeOf(await run(quick))));
    assert.deepEqual(all.map((o) => o.status), Array(8).fill("completed"));
  });
}

async function fixtures() {
  await check("a question in a task is answered, and the task completes", async () => {
    const states = [];
    const outcome = await outcomeOf(await session.callTool("confirm_delete", { filename: "a.txt" }), states);
    assert.equal(outcome.status, "completed", outcome.error?.message);
    assert.ok(states.includes("input_required"), states.join());
    assert.equal(questions.length, 1);
  });
  await check("two questions at once are both answered", async () => {
    questions.length = 0;
    const outcome = await outcomeOf(await session.callTool("multi_input", {}));
    assert.equal(outcome.status, "completed", outcome.error?.message);
    assert.equal(questions.length, 2);
  });
  await check("an error of the protocol fails the task", async () => {
    const outcome = await outcomeOf(await session.callTool("protocol_error_job", {}));
    assert.deepEqual([outcome.status, outcome.error?.code], ["failed", -32603]);
  });
  await check("a tool's own failure completes the task", async () => {
    const outcome = await outcomeOf(await session.callTool("failing_job", {}));
    assert.deepEqual([outcome.status, outcome.result.isError], ["completed", true]);
  });
}
