// The source of a page in another window, by BroadcastChannel. It follows one page at a time; the
// first that is heard is chosen, and when it is gone its next load, known by its address.
import {
  type Message,
  type Method,
  is_message,
  kChannel,
  kLookEvery,
  kLookLasts,
  new_id,
} from "./channel.ts";
import type { PageInfo, Pages, RemoteSource, Sample } from "./source.ts";

interface Question {
  page: string;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export function remote_source(options: { channel?: string } = {}): RemoteSource {
  const channel = new BroadcastChannel(options.channel ?? kChannel);
  const panel = new_id();
  const known = new Map<string, PageInfo>();
  const questions = new Map<number, Question>();
  const samples = new Set<(sample: Sample) => void>();
  const changes = new Set<() => void>();
  let chosen: PageInfo | null = null;
  let state: Pages["state"] = "none";
  let heard = 0; // when the chosen page was last
  let next = 0;
  let timer: ReturnType<typeof setInterval> | undefined;

  const send = (message: Message) => channel.postMessage(message);
  const changed = () => {
    for (const listener of changes) listener();
  };
  const set_state = (to: Pages["state"]) => {
    if (state === to) return;
    state = to;
    changed();
  };

  function give_up(page: string, why: string): void {
    for (const [id, question] of questions) {
      if (question.page !== page) continue;
      questions.delete(id);
      question.reject(new Error(why));
    }
  }

  function look(): void {
    if (!chosen || !samples.size || state === "gone") return;
    if (performance.now() - heard > kLookLasts) set_state("silent");
    send({ tenure: 1, kind: "look", page: chosen.id, panel });
  }

  // No timer while nobody looks.
  function keep_looking(): void {
    clearInterval(timer);
    if (!samples.size) return;
    timer = setInterval(look, kLookEvery);
    look();
  }

  function leave(): void {
    if (chosen) send({ tenure: 1, kind: "away", page: chosen.id, panel });
  }

  function choose(id: string): void {
    const page = known.get(id);
    if (!page || page.id === chosen?.id) return;
    leave();
    chosen = page;
    state = "here";
    heard = performance.now();
    keep_looking();
    changed();
  }

  function here(page: PageInfo): void {
    known.set(page.id, page);
    if (page.id === chosen?.id) {
      chosen = page;
      state = "here";
      heard = performance.now();
      look();
    } else if (!chosen || (state !== "here" && page.url === chosen.url)) {
      return choose(page.id);
    }
    changed();
  }

  function gone(page: string): void {
    known.delete(page);
    give_up(page, "the page is gone");
    if (page === chosen?.id) state = "gone";
    changed();
  }

  function answered(message: Message & { kind: "answer" }): void {
    const question = questions.get(message.id);
    if (!question) return;
    questions.delete(message.id);
    if (message.error === undefined) question.resolve(message.value);
    else question.reject(new Error(message.error));
  }

  channel.onmessage = ({ data }) => {
    if (!is_message(data)) return;
    if (data.kind === "here") return here(data.page);
    if (data.kind === "gone") return gone(data.page);
    if (data.kind === "answer" && data.panel === panel) answered(data);
    if (!("page" in data) || data.page !== chosen?.id || state === "gone") return;
    if (data.kind !== "sample" && data.kind !== "seen" && data.kind !== "answer") return;
    heard = performance.now();
    set_state("here");
    if (data.kind === "sample") for (const listener of samples) listener(data.sample);
  };

  function ask<T>(method: Method, ...args: unknown[]): Promise<T> {
    if (!chosen || state === "gone") return Promise.reject(new Error("no page to ask"));
    const id = next++;
    const page = chosen.id;
    return new Promise<T>((resolve, reject) => {
      questions.set(id, { page, resolve: resolve as (value: unknown) => void, reject });
      send({ tenure: 1, kind: "ask", page, panel, id, method, args });
    });
  }

  addEventListener("pagehide", leave);
  send({ tenure: 1, kind: "who" });

  return {
    subscribe(on_sample) {
      samples.add(on_sample);
      keep_looking();
      return () => {
        if (!samples.delete(on_sample) || samples.size) return;
        keep_looking();
        leave();
      };
    },
    lines: (since) => ask("lines", since),
    story: (id) => ask("story", id),
    tensors: (line_key, limit, since) => ask("tensors", line_key, limit, since),
    mark: () => ask("mark"),
    record: (on) => ask("record", on),
    pages: {
      get list() {
        return [...known.values()];
      },
      get chosen() {
        return chosen;
      },
      get state() {
        return state;
      },
      choose,
      on_change(listener) {
        changes.add(listener);
        return () => changes.delete(listener);
      },
    },
    close() {
      removeEventListener("pagehide", leave);
      leave();
      samples.clear();
      clearInterval(timer);
      if (chosen) give_up(chosen.id, "the panel was closed");
      channel.close();
    },
  };
}
