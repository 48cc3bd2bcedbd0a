// Requests beside a connected client of the second generation: its typed calls
// refuse replies that are tasks.
import { MODERN } from "./commands.mjs";

export class Side {
  #transport;
  #waiting = new Map();
  #last = 0;

  constructor(transport) {
    this.#transport = transport;
    const next = transport.onmessage;
    transport.onmessage = (message, extra) => {
      const settle = this.#waiting.get(message.id);
      if (settle === undefined) return next(message, extra);
      this.#waiting.delete(message.id);
      settle(message);
    };
  }

  // send sends a request, under an id that the client never uses, and resolves
  // with the whole reply.
  send(request) {
    const id = `beside-${++this.#last}`;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, resolve);
      this.#transport.send({ ...request, jsonrpc: "2.0", id }).catch(reject);
    });
  }

  // ask sends a request of the modern revision and resolves with its result.
  async ask(method, params, framing) {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": MODERN,
      "io.modelcontextprotocol/clientInfo": framing.clientInfo,
      "io.modelcontextprotocol/clientCapabilities": framing.clientCapabilities,
    };
    const { result, error } = await this.send({ method, params: { ...params, _meta } });
    if (error) throw Object.assign(new Error(error.message), error);
    return result;
  }
}
