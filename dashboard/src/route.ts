// Where one is, kept in the fragment of the address: "#/nodes?state=down&node=n7". Links can be sent
// to a colleague, and the browser's Back button works.

import { Happening } from './live/watched.ts';

/** The address was brought in line with the view that is shown; there is nothing to do but to know. */
export const noted = new Happening<void>();

export interface Route {
  view: string;
  params: URLSearchParams;
}

export function parseRoute(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#?\/?/, '').split('?', 2);
  return { view: path || 'overview', params: new URLSearchParams(query) };
}

export function formatRoute(view: string, params: URLSearchParams | Record<string, string> = {}): string {
  const kept = new URLSearchParams(params);
  for (const [name, value] of [...kept]) if (value === '') kept.delete(name);
  const query = kept.toString();
  return `#/${view}${query && `?${query}`}`;
}

/** Two routes with the same key show the same view; only the node in the drawer may differ. */
export function viewKey(route: Route): string {
  const params = new URLSearchParams(route.params);
  params.delete('node');
  return formatRoute(route.view, params);
}

const here = (): Route => parseRoute(location.hash);

/** Opens the drawer for a node over whatever is shown; null closes it. */
export function showNode(id: string | null): void {
  const { view, params } = here();
  if (id === null) params.delete('node');
  else params.set('node', id);
  location.hash = formatRoute(view, params);
}

/** Notes what was chosen in the address, without a step in the history. */
export function noteParams(changes: Record<string, string>): void {
  const { view, params } = here();
  for (const [name, value] of Object.entries(changes)) params.set(name, value);
  history.replaceState(null, '', formatRoute(view, params));
  noted.tell();
}
