// What a script tells the Go test that runs it: one JSON line for each check,
// and one when it came to its own end.
import assert from "node:assert/strict";

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

// check runs one check. One that fails or does not end is told, and the script
// goes on.
export async function check(name, body, limit = 60_000) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end within ${limit} ms`)), limit);
  });
  try {
    const value = await Promise.race([body(), late]);
    say({ check: name });
    return value;
  } catch (e) {
    const code = e instanceof assert.AssertionError || e?.code === undefined ? "" : `[${e.code}] `;
    say({ check: name, failure: code + (e?.stack ?? String(e)) });
  } finally {
    clearTimeout(timer);
  }
}

// finish ends the script; what still holds the event loop does not keep it.
export function finish() {
  process.stdout.write(JSON.stringify({ done: true }) + "\n", () => process.exit(0));
}

// Inbox keeps what arrived and wakes who waits for something of it.
export class Inbox {
  all = [];
  #waiting = new Set();

  put(item) {
    this.all.push(item);
    for (const look of [...this.#waiting]) look();
  }

  // first resolves with the first item that fits, arrived or yet to arrive.
  first(fits) {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.all.find(fits);
        if (found === undefined) return false;
        this.#waiting.delete(look);
        resolve(found);
        return true;
      };
      if (!look()) this.#waiting.add(look);
    });
  }

  count(fits) {
    return this.all.filter(fits).length;
  }
}

// rejection gives the error of a promise that must reject.
export async function rejection(promise) {
  let value;
  try {
    value = await promise;
  } catch (e) {
    return e;
  }
  assert.fail(`it resolved with ${JSON.stringify(value)}`);
}

// asked repeats a question until the answer fits; there is no event for what a
// server is asked.
export async function asked(question, fits) {
  for (;;) {
    const answer = await question();
    if (fits(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
