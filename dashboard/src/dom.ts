// The few helpers that make up for a framework. Text is always set as text, never as markup: ids and
// causes come from other machines.

type Attribute = string | number | boolean | undefined | ((event: Event) => void);
type Child = Node | string | number | null | undefined | false;

/** An element with attributes, listeners (`onclick`) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Record<string, Attribute> = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  return furnish(document.createElement(tag), attributes, children);
}

/** The same for the elements of a drawing. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K, attributes: Record<string, Attribute> = {}, ...children: Child[]
): SVGElementTagNameMap[K] {
  return furnish(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function furnish<E extends Element>(
  element: E, attributes: Record<string, Attribute>, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else setAttribute(element, name, value);
  }
  append(element, ...children);
  return element;
}

export function append(parent: Element, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(typeof child === 'number' ? String(child) : child);
  }
}

/** Writes only what differs: an unchanged write would still cost style and layout. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(
  element: Element, name: string, value: string | number | boolean | undefined): void {
  if (value === undefined || value === false) {
    element.removeAttribute(name);
  } else {
    const text = value === true ? '' : String(value);
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}

/** Makes the children of `parent` those of `items`, keeping an element as long as its key lives. */
export function reconcile<T>(
  parent: Element, items: readonly T[], key: (item: T) => string,
  create: (item: T) => HTMLElement, update: (element: HTMLElement, item: T) => void): void {
  const old = new Map<string, HTMLElement>();
  for (const child of Array.from(parent.children) as HTMLElement[]) {
    old.set(child.dataset['key'] ?? '', child);
  }
  let next = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let element = old.get(name);
    old.delete(name);
    if (!element) {
      element = create(item);
      element.dataset['key'] = name;
    }
    update(element, item);
    if (element === next) next = next.nextElementSibling;
    else parent.insertBefore(element, next);
  }
  for (const child of old.values()) child.remove();
}

export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element #${id}`);
  return element;
}

/** Calls back when the person has stopped typing for a moment. */
export function debounce(waitMs: number, action: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, waitMs);
  };
}

/** Calls back once for everything that happens within `waitMs`, however much keeps happening. */
export function gather(waitMs: number, action: () => void): () => void {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      action();
    }, waitMs);
  };
}

/** `action` now and then every `everyMs`, until the view is left; not while the tab is hidden. */
export function repeat(everyMs: number, signal: AbortSignal, action: () => void): void {
  const run = (): void => {
    if (document.visibilityState === 'visible') action();
  };
  action();
  const timer = setInterval(run, everyMs);
  signal.addEventListener('abort', () => clearInterval(timer));
}
