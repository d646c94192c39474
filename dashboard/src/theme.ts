// Light, dark, or what the system says. Remembered by this browser only.
import { setAttribute, setText } from './dom.ts';
import { Happening } from './live/watched.ts';

const themes = ['auto', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];
const key = 'muster-theme';

/** Canvases must be painted again. */
export const themeChanged = new Happening<void>();

function remembered(): Theme {
  const value = localStorage.getItem(key);
  return themes.find((theme) => theme === value) ?? 'auto';
}

function apply(button: HTMLElement, theme: Theme): void {
  setAttribute(document.documentElement, 'data-theme', theme === 'auto' ? undefined : theme);
  setText(button, `Theme: ${theme}`);
  themeChanged.tell();
}

export function startTheme(button: HTMLElement): void {
  apply(button, remembered());
  button.addEventListener('click', () => {
    const next = themes[(themes.indexOf(remembered()) + 1) % themes.length] ?? 'auto';
    localStorage.setItem(key, next);
    apply(button, next);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => themeChanged.tell());
}

const probe = document.createElement('span');
probe.hidden = true;

/** A colour of the style sheet as it is now, for canvases: they do not understand pairs. */
export function colour(name: string): string {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}
