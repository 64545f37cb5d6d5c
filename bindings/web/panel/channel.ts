// What panels and pages say to each other on a BroadcastChannel, which all pages of an origin hear.
//
// A panel asks who is there, and each page answers. A panel that looks at a page says so every
// kLookEvery; a page sends samples for as long as somebody looked within kLookLasts, so that a
// window that was closed costs it nothing. A question carries a number, and so does its answer.
import type { PageInfo, Sample } from "./source.ts";

export const kChannel = "tenure-explain";
export const kLookEvery = 2000;
export const kLookLasts = 3 * kLookEvery;

export const methods = ["lines", "story", "tensors", "mark", "record"] as const;
export type Method = (typeof methods)[number];

export type Message =
  | { tenure: 1; kind: "who" }
  | { tenure: 1; kind: "here"; page: PageInfo }
  | { tenure: 1; kind: "gone"; page: string }
  | { tenure: 1; kind: "look"; page: string; panel: string }
  | { tenure: 1; kind: "away"; page: string; panel: string }
  | { tenure: 1; kind: "seen"; page: string; panel: string }
  | { tenure: 1; kind: "sample"; page: string; sample: Sample }
  | {
      tenure: 1;
      kind: "ask";
      page: string;
      panel: string;
      id: number;
      method: Method;
      args: unknown[];
    }
  | {
      tenure: 1;
      kind: "answer";
      page: string;
      panel: string;
      id: number;
      value?: unknown;
      error?: string;
    };

export function is_message(data: unknown): data is Message {
  return typeof data === "object" && data !== null && (data as Message).tenure === 1;
}

// crypto.randomUUID is for secure contexts only.
export function new_id(): string {
  return [...crypto.getRandomValues(new Uint32Array(3))].map((n) => n.toString(36)).join("");
}
