// An animation that is classified as it runs, with mistakes to switch on, and the panel beside it.
import * as tf from "@tensorflow/tfjs";
import { setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import { explain, panel } from "tenure-explain";
import { type Classifier, build_classifier, kSide } from "./classifier.ts";
import { brightness_too_late, remember_frame } from "./mistakes.ts";
import { kinds, trace_shape } from "./shapes.ts";

const element = <T extends Element>(selector: string) => document.querySelector<T>(selector)!;
const scene = element<HTMLCanvasElement>("#scene");
const leak = element<HTMLInputElement>("#leak");
const backend = element<HTMLSelectElement>("#backend");
const verdict = element<HTMLElement>("#verdict");
const story = element<HTMLElement>("#story");
const bars = element<HTMLElement>("#bars");

const kShapeLasts = 3000; // ms
const g = scene.getContext("2d")!;
const eye = document.createElement("canvas"); // what the model sees
eye.width = eye.height = kSide;
const look = eye.getContext("2d", { willReadFrequently: true })!;
const still = matchMedia("(prefers-reduced-motion: reduce)");
let classifier: Classifier | null = null;
let is_busy = false;

const meters = kinds.map((kind) => {
  const meter = document.createElement("meter");
  meter.ariaLabel = kind;
  const label = document.createElement("span");
  label.textContent = kind;
  bars.append(label, meter);
  return meter;
});

function draw(time: number): void {
  const { width, height } = scene;
  const kind = kinds[Math.floor(time / kShapeLasts) % kinds.length]!;
  const t = still.matches ? 0 : time / 1000;
  const radius = width * 0.34;
  const x = width / 2 + Math.sin(t * 1.3) * width * 0.09;
  const y = height / 2 + Math.cos(t * 0.9) * height * 0.09;
  g.fillStyle = "#10151c";
  g.fillRect(0, 0, width, height);
  trace_shape(g, kind, x, y, radius, t * 0.7);
  g.fillStyle = "#ffd28a";
  g.fill();
  look.drawImage(scene, 0, 0, kSide, kSide);
}

async function classify(): Promise<void> {
  const picture = tf.browser.fromPixels(eye);
  if (leak.checked) remember_frame(picture);
  const probabilities = classifier!.predict(picture);
  picture.dispose();
  const values = await probabilities.data();
  probabilities.dispose();
  values.forEach((value, i) => (meters[i]!.value = value));
  verdict.textContent = kinds[values.indexOf(Math.max(...values))]!;
}

function frame(time: number): void {
  requestAnimationFrame(frame);
  draw(time);
  if (is_busy || !classifier) return;
  is_busy = true;
  classify()
    .catch((error: Error) => (story.textContent = error.message))
    .finally(() => (is_busy = false));
}

async function use_backend(): Promise<void> {
  backend.disabled = true;
  const old = classifier;
  classifier = null;
  while (is_busy) await new Promise(requestAnimationFrame);
  old?.dispose();
  if (!(await tf.setBackend(backend.value))) story.textContent = `${backend.value}: not here`;
  classifier = build_classifier();
  document.documentElement.dataset.backend = tf.getBackend();
  backend.disabled = false;
}

element("#too_early").addEventListener("click", () => {
  try {
    brightness_too_late(scene);
  } catch (error) {
    story.textContent = `${(error as Error).name}: ${(error as Error).message}`;
  }
});
element("#panel").addEventListener("click", () => panel.open({ window_url: "panel.html" }));
backend.addEventListener("change", () => void use_backend());

explain(tf);
setWasmPaths("wasm/");
await use_backend();
panel.open({ window_url: "panel.html", name: "Demo" });
requestAnimationFrame(frame);
