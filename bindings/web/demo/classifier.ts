// A model that knows the shapes without training: its kernels are pictures of them, turned by some
// angles, and the best match anywhere in the picture says what it is.
import * as tf from "@tensorflow/tfjs";
import { type Kind, kinds, trace_shape } from "./shapes.ts";

export const kSide = 32; // of the picture, in pixels
const kKernel = 24;
const kRadius = 11;
const kTurns = 4;
const kSharp = 40; // of the softmax

// Zero on the average, and of length one: bright ground matches nothing.
function template(kind: Kind, angle: number): Float32Array {
  const g = new OffscreenCanvas(kKernel, kKernel).getContext("2d", { willReadFrequently: true })!;
  g.fillStyle = "#fff";
  trace_shape(g, kind, kKernel / 2, kKernel / 2, kRadius, angle);
  g.fill();
  const { data } = g.getImageData(0, 0, kKernel, kKernel);
  const values = Float32Array.from({ length: kKernel ** 2 }, (_, i) => data[4 * i + 3]! / 255);
  const mean = values.reduce((a, b) => a + b) / values.length;
  const length = Math.hypot(...values.map((value) => value - mean));
  return values.map((value) => (value - mean) / length);
}

export interface Classifier {
  model: tf.LayersModel;
  // The probability of each kind, for a picture of kSide by kSide.
  predict(picture: tf.Tensor3D): tf.Tensor1D;
  dispose(): void;
}

export function build_classifier(): Classifier {
  const model = tf.sequential({
    name: "shapes",
    layers: [
      tf.layers.conv2d({
        name: "templates",
        inputShape: [kSide, kSide, 1],
        filters: kinds.length * kTurns,
        kernelSize: kKernel,
        strides: 2,
        useBias: false,
      }),
      tf.layers.globalMaxPooling2d({ name: "best_place" }),
      tf.layers.reshape({ name: "by_kind", targetShape: [kinds.length, kTurns] }),
    ],
  });
  tf.tidy(() => {
    const all = kinds.flatMap((kind) =>
      Array.from({ length: kTurns }, (_, turn) =>
        template(kind, ((turn / kTurns) * 2 * Math.PI) / (kind === "triangle" ? 3 : 4)),
      ),
    );
    const kernels = tf.tensor2d(all.map((each) => [...each])).transpose();
    model.getLayer("templates").setWeights([kernels.reshape([kKernel, kKernel, 1, all.length])]);
  });
  return {
    model,
    predict: (picture) =>
      tf.tidy(() => {
        const gray = picture.mean<tf.Tensor2D>(2).div(255).sub(0.5);
        const scaled = gray.div<tf.Tensor2D>(gray.square().sum().sqrt().add(1e-6));
        const matches = model.predict(scaled.reshape([1, kSide, kSide, 1])) as tf.Tensor3D;
        return matches.max(2).mul(kSharp).softmax().reshape<tf.Tensor1D>([kinds.length]);
      }),
    dispose: () => model.dispose(),
  };
}
