// Lets panels in other windows look at this page's source.
import { type Message, is_message, kChannel, kLookLasts, methods, new_id } from "./channel.ts";
import type { Source } from "./source.ts";

export interface ServeOptions {
  channel?: string;
  name?: string; // of this page, for people
}

export function serve_source(source: Source, options: ServeOptions = {}): { close(): void } {
  const channel = new BroadcastChannel(options.channel ?? kChannel);
  const id = new_id();
  const looks = new Map<string, number>(); // panel -> when it looked last
  let unsubscribe: (() => void) | null = null;

  const send = (message: Message) => channel.postMessage(message);
  const here = () =>
    send({
      tenure: 1,
      kind: "here",
      page: { id, title: options.name || document.title || location.pathname, url: location.href },
    });
  const gone = () => {
    looks.clear();
    rest_if_alone();
    send({ tenure: 1, kind: "gone", page: id });
  };

  function rest_if_alone(): void {
    if (looks.size || !unsubscribe) return;
    unsubscribe();
    unsubscribe = null;
  }

  function look(panel: string): void {
    looks.set(panel, performance.now());
    send({ tenure: 1, kind: "seen", page: id, panel });
    unsubscribe ??= source.subscribe((sample) => {
      const now = performance.now();
      for (const [each, at] of looks) if (now - at > kLookLasts) looks.delete(each);
      if (looks.size) send({ tenure: 1, kind: "sample", page: id, sample });
      else rest_if_alone();
    });
  }

  async function answer(message: Message & { kind: "ask" }): Promise<void> {
    const { panel, id: number, method, args } = message;
    const reply = { tenure: 1, kind: "answer", page: id, panel, id: number } as const;
    try {
      if (!methods.includes(method)) throw new TypeError(`${method}: no such question`);
      const ask = source[method] as (...args: unknown[]) => Promise<unknown>;
      send({ ...reply, value: await ask.apply(source, args) });
    } catch (error) {
      send({ ...reply, error: error instanceof Error ? error.message : String(error) });
    }
  }

  channel.onmessage = ({ data }) => {
    if (!is_message(data)) return;
    if (data.kind === "who") here();
    else if (!("panel" in data) || data.page !== id) return;
    else if (data.kind === "look") look(data.panel);
    else if (data.kind === "away") {
      looks.delete(data.panel);
      rest_if_alone();
    } else if (data.kind === "ask") void answer(data);
  };
  addEventListener("pagehide", gone);
  addEventListener("pageshow", here); // also when it comes back from the cache of pages
  here();

  return {
    close() {
      removeEventListener("pagehide", gone);
      removeEventListener("pageshow", here);
      gone();
      channel.close();
    },
  };
}
