// The hash ring as arcs on a circle. Positions are fractions of the key space, 0 at the top and
// rising clockwise; an arc ends at its node's point, because a key belongs to the first point at or
// after it. Pure.

export interface Arc {
  from: number;
  to: number;
  node: number;
}

/** One arc for each run of neighbouring points of one node; the first may begin below zero. */
export function arcsOf(points: readonly (readonly [number, number])[]): Arc[] {
  const arcs: Arc[] = [];
  const last = points.at(-1);
  if (!last) return arcs;
  let from = last[0] - 1;
  for (const [to, node] of points) {
    const before = arcs.at(-1);
    if (before?.node === node) before.to = to;
    else arcs.push({ from, to, node });
    from = to;
  }
  return arcs;
}

/** The arc that holds a position, for the pointer that is over it. */
export function arcAt(arcs: readonly Arc[], position: number): Arc | undefined {
  const last = arcs.at(-1);
  if (!last) return undefined;
  if (position > last.to) return arcs[0];
  let low = 0;
  let high = arcs.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((arcs[middle]?.to ?? 1) < position) low = middle + 1;
    else high = middle;
  }
  return arcs[low];
}

/** The angle of a position for a canvas, whose zero is to the right. */
export const angleOf = (position: number): number => (position - 0.25) * 2 * Math.PI;

/** The position under a point relative to the centre; null when it is off the band. */
export function positionAt(x: number, y: number, inner: number, outer: number): number | null {
  const radius = Math.hypot(x, y);
  if (radius < inner || radius > outer) return null;
  const turns = Math.atan2(y, x) / (2 * Math.PI) + 0.25;
  return turns < 0 ? turns + 1 : turns;
}
