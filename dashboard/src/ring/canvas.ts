import { colour } from '../theme.ts';
import { angleOf, positionAt, type Arc } from './geometry.ts';

/** How many colours of the style sheet the ring uses, over and over. */
export const toneCount = 8;
/** With more arcs than this, gaps between them would be all that one sees. */
const gapsMax = 700;

/** What is drawn: every arc, and if a node is chosen, it and the arcs that would grow if it left. */
export interface Picture {
  arcs: Arc[];
  flagged: (node: number) => boolean;
  chosen: number | null;
  /** The colour of a node that would take over from the chosen one; null for any other. */
  heirTone: (node: number) => number | null;
}

/** Paints the ring on a canvas as large as its box. */
export class RingCanvas {
  constructor(readonly element: HTMLCanvasElement) {}

  paint(picture: Picture): void {
    const size = this.element.clientWidth;
    const context = this.element.getContext('2d');
    if (!context || size === 0) return;
    const scale = devicePixelRatio;
    if (this.element.width !== Math.round(size * scale)) {
      this.element.width = this.element.height = Math.round(size * scale);
    }
    context.setTransform(scale, 0, 0, scale, size / 2 * scale, size / 2 * scale);
    context.clearRect(-size / 2, -size / 2, size, size);
    const { inner, outer } = this.band();
    const tones = Array.from({ length: toneCount }, (_, i) => colour(`ring-${i}`));
    const paints = { faint: colour('ring-faint'), chosen: colour('accent'), flagged: colour('suspect') };
    const gap = picture.arcs.length > gapsMax ? 0 : Math.min(0.004, 0.6 / picture.arcs.length);
    let before = picture.arcs.at(-1)?.node;
    for (const arc of picture.arcs) {
      const isChosen = arc.node === picture.chosen;
      // The keys of an arc go to the next point clockwise, so only the arc after it grows.
      const tone = picture.chosen === null ? arc.node % toneCount
        : before === picture.chosen ? picture.heirTone(arc.node) : null;
      before = arc.node;
      context.fillStyle = isChosen ? paints.chosen : tones[tone ?? -1] ?? paints.faint;
      band(context, arc, gap, inner, isChosen ? outer : outer - 10);
      if (picture.flagged(arc.node)) {
        context.fillStyle = paints.flagged;
        band(context, arc, gap, inner - 8, inner - 3);
      }
    }
  }

  /** The position on the ring under the pointer. */
  positionOf(event: MouseEvent): number | null {
    const box = this.element.getBoundingClientRect();
    const { inner, outer } = this.band();
    return positionAt(event.clientX - box.left - box.width / 2,
      event.clientY - box.top - box.height / 2, inner, outer);
  }

  private band(): { inner: number; outer: number } {
    const radius = this.element.clientWidth / 2;
    return { inner: radius * 0.7, outer: radius - 2 };
  }
}

function band(context: CanvasRenderingContext2D, { from, to }: Arc, gap: number, inner: number,
  outer: number): void {
  const trim = Math.min(gap / 2, (to - from) / 4) / 2;
  context.beginPath();
  context.arc(0, 0, outer, angleOf(from + trim), angleOf(to - trim));
  context.arc(0, 0, inner, angleOf(to - trim), angleOf(from + trim), true);
  context.closePath();
  context.fill();
}
