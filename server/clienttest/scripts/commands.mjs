// The commands that the scripts run as jobs, and what the extension is called.
export const TASKS = "io.modelcontextprotocol/tasks";
export const MODERN = "2026-07-28";

export const count = ["sh", "-c", "for i in 1 2 3; do echo $i; sleep .1; done"];
export const fail = ["sh", "-c", "echo broken >&2; exit 3"];
export const quick = ["true"];
export const soon = ["sleep", "0.4"];
export const long = ["sleep", "60"];
export const ticking = ["sh", "-c", "while :; do echo tick; sleep .1; done"];

export const texts = (reply) => reply.events.map((e) => e.text).join(",");
export const content = (result) => result.content.map((c) => c.text).join("");
