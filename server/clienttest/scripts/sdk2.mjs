// The second generation of the TypeScript SDK, in each way that it can open a
// connection. Arguments: the server, and "legacy", "auto" or "modern".
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Inbox, check, finish } from "./report.mjs";
import { MODERN, ticking } from "./commands.mjs";
import { ends, walk } from "./walk.mjs";

const [, , command, mode] = process.argv;
const versionNegotiation = { legacy: undefined, auto: { mode: "auto" }, modern: { mode: { pin: MODERN } } }[mode];
const transport = new StdioClientTransport({ command, stderr: "ignore" });
const client = new Client({ name: "sdk2", version: "1" }, { capabilities: {}, versionNegotiation });
const faults = [], updates = new Inbox();
client.onerror = (e) => faults.push(e.message);
client.setNotificationHandler("notifications/resources/updated", (n) => updates.put(n.params.uri));
const call = (name, args, options) => client.callTool({ name, arguments: args }, options);

await check("connect", () => client.connect(transport));
await check("the era that was asked for", async () => {
  assert.equal(client.getProtocolEra(), mode === "legacy" ? "legacy" : "modern");
  if (mode !== "legacy") assert.equal(client.getNegotiatedProtocolVersion(), MODERN);
  assert.ok(client.getInstructions().length > 0);
});
await walk({ client, call, tools: async () => (await client.listTools()).tools });
await check("a subscribed resource tells of its changes", async () => {
  const { job_id } = (await call("run", { command: ticking })).structuredContent;
  const uris = [`belfry://jobs/${job_id}`, `belfry://jobs/${job_id}/output`];
  let subscription;
  if (mode === "legacy") for (const uri of uris) await client.subscribeResource({ uri });
  else {
    subscription = await client.listen({ resourceSubscriptions: uris });
    assert.deepEqual(subscription.honoredFilter.resourceSubscriptions, uris);
  }
  await updates.first((uri) => uri === uris[1]);
  await call("kill", { job_id });
  await updates.first((uri) => uri === uris[0]);
  await subscription?.close();
});
await check("nothing on the wire that the client could not place", async () => assert.deepEqual(faults, []));
await ends(client, transport);
finish();
