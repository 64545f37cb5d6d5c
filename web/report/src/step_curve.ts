// A small picture of levels, from left to right: a line of steps and the area below it.
const kBelowTop = 4;
const kAboveBase = 2;

function svg(tag: string, attributes: Record<string, string>): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

export class StepCurve {
  readonly element: SVGElement;
  private readonly area = svg("path", { class: "spark-area" });
  private readonly line = svg("path", {
    class: "spark-line",
    "vector-effect": "non-scaling-stroke",
  });

  constructor(
    private readonly width: number,
    private readonly height: number,
  ) {
    this.element = svg("svg", {
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    this.element.append(this.area, this.line);
  }

  // The highest of them is at the top, zero at the base.
  show(levels: ArrayLike<number>): void {
    const { width, height } = this;
    let top = 1;
    for (let i = 0; i < levels.length; ++i) top = Math.max(top, levels[i]!);
    let path = "";
    for (let i = 0; i < levels.length; ++i) {
      const x = levels.length > 1 ? (i / (levels.length - 1)) * width : 0;
      const share = levels[i]! / top;
      const y = (height - kAboveBase - share * (height - kAboveBase - kBelowTop)).toFixed(1);
      path += i === 0 ? `M0 ${y}` : `H${Number(x.toFixed(1))}V${y}`;
    }
    this.line.setAttribute("d", path);
    this.area.setAttribute("d", path && `${path}V${height}H0Z`);
  }
}
