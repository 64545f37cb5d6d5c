// Numbers with their units, as people read them.
import { tickStep, ticks } from "d3-array";

const byte_units = ["B", "KiB", "MiB", "GiB", "TiB"];
const time_units: [string, number][] = [
  ["ns", 1],
  ["µs", 1e3],
  ["ms", 1e6],
  ["s", 1e9],
];

function digits(value: number): string {
  const size = Math.abs(value);
  const decimals = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2;
  return value.toFixed(decimals);
}

export function bytes(count: number): string {
  let unit = 0;
  while (Math.abs(count) >= 1024 && unit + 1 < byte_units.length) {
    count /= 1024;
    ++unit;
  }
  return `${digits(count)} ${byte_units[unit]}`;
}

function unit_of(size: number): [string, number] {
  let chosen = time_units[0]!;
  for (const unit of time_units) if (size >= unit[1]) chosen = unit;
  return chosen;
}

export function time(ns: number): string {
  const [unit, scale] = unit_of(Math.abs(ns));
  return ns === 0 ? "0 s" : `${digits(ns / scale)} ${unit}`;
}

// A moment, as exactly as a window of that length can tell it.
export function moment(ns: number, window: number): string {
  const [unit, scale] = unit_of(Math.max(Math.abs(ns), window, 1));
  const decimals = Math.max(0, Math.min(6, Math.ceil(-Math.log10(window / scale / 1000))));
  return `${(ns / scale).toFixed(decimals)} ${unit}`;
}

export const count = (value: number): string => value.toLocaleString("en");

export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

export function percent(part: number, whole: number): string {
  if (part <= 0 || whole <= 0) return "0 %";
  const share = (100 * part) / whole;
  if (share > 0 && share < 0.1) return "< 0.1 %";
  return `${share.toFixed(share < 10 ? 1 : 0)} %`;
}

export function value(number: number): string {
  if (!Number.isFinite(number)) return String(number);
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return number.toExponential(2);
  return String(Number(number.toPrecision(4)));
}

export interface Tick {
  at: number;
  text: string;
}

export function time_ticks(t0: number, t1: number, wanted: number): Tick[] {
  const step = tickStep(t0, t1, Math.max(1, wanted));
  const [unit, scale] = unit_of(Math.max(Math.abs(t0), Math.abs(t1)));
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9));
  return ticks(t0, t1, Math.max(1, wanted)).map((at) => ({
    at,
    text: at === 0 ? "0" : `${(at / scale).toFixed(decimals)} ${unit}`,
  }));
}

// Round numbers of KiB, MiB: multiples of a power of two.
export function byte_ticks(top: number, wanted: number): Tick[] {
  if (top <= 0) return [{ at: 0, text: "0" }];
  let step = 2 ** Math.ceil(Math.log2(Math.max(1, top / wanted)));
  if (top / step > 0.9 * wanted * 2) step *= 2;
  const out: Tick[] = [];
  for (let at = 0; at <= top; at += step) out.push({ at, text: at === 0 ? "0" : bytes(at) });
  return out;
}
