// Sentences about lines and tensors.
import { count, plural } from "../../../web/report/src/format.ts";
import type { Growth, Line, TensorRow } from "./source.ts";

export function span(ms: number): string {
  const s = Math.max(0, ms) / 1000;
  if (s < 60) return `${s < 10 ? Number(s.toFixed(1)) : Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

const rate = (per_frame: number) => {
  const amount = per_frame >= 10 ? count(Math.round(per_frame)) : Number(per_frame.toPrecision(2));
  return `${amount} a frame`;
};

// On a line's badge; empty for one that merely lives.
export function badge({ growth, leak }: Line): string {
  if (growth?.stopped_ms === null)
    return growth.per_frame ? `grows ${rate(growth.per_frame)}` : "grows";
  if (leak) return "leak";
  return growth ? "grew" : "";
}

// `now` is on the program's clock.
export function growth_text(growth: Growth, now: number): string {
  const by = growth.per_frame ? ` by ${rate(growth.per_frame)}` : "";
  if (growth.stopped_ms === null) return `Grows${by}, for ${span(now - growth.since_ms)} so far.`;
  const lasted = span(growth.stopped_ms - growth.since_ms);
  return `Grew${by} for ${lasted}, and stopped ${span(now - growth.stopped_ms)} ago.`;
}

export function line_label(line: Line, bytes: string): string {
  return [line.site.text, line.what, badge(line), plural(line.count, "tensor"), bytes]
    .filter(Boolean)
    .join(", ");
}

export function tensor_label(row: TensorRow): string {
  return `${row.dtype} [${row.shape.join(", ")}]`;
}
