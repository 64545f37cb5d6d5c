// The shapes that the demo draws, and looks for.
export const kinds = ["circle", "square", "triangle", "cross"] as const;
export type Kind = (typeof kinds)[number];

// A path around the middle, within a circle of that radius, turned by an angle.
export function trace_shape(
  g: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D,
  kind: Kind,
  x: number,
  y: number,
  radius: number,
  angle: number,
): void {
  g.save();
  g.translate(x, y);
  g.rotate(angle);
  g.beginPath();
  if (kind === "circle") g.arc(0, 0, radius * 0.85, 0, 2 * Math.PI);
  else if (kind === "square") g.rect(-radius * 0.72, -radius * 0.72, radius * 1.44, radius * 1.44);
  else if (kind === "triangle") {
    for (let i = 0; i < 3; ++i)
      g.lineTo(radius * Math.sin((i * 2 * Math.PI) / 3), -radius * Math.cos((i * 2 * Math.PI) / 3));
    g.closePath();
  } else {
    g.rect(-radius, -radius * 0.24, radius * 2, radius * 0.48);
    g.rect(-radius * 0.24, -radius, radius * 0.48, radius * 2);
  }
  g.restore();
}
