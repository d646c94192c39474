// Parses a text/event-stream. The page reads the stream with fetch and not with EventSource, which
// gives up for good when a server answers with an error, and forgets the last id when it is replaced.

export interface ServerEvent {
  event: string;
  data: string;
  id: string | null;
}

/** Takes the text in pieces as they arrive and gives the events that are complete. */
export class EventParser {
  private rest = '';
  private event = '';
  private data: string[] = [];
  private id: string | null = null;

  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) this.take(line.endsWith('\r') ? line.slice(0, -1) : line, events);
    return events;
  }

  private take(line: string, events: ServerEvent[]): void {
    if (line === '') {
      if (this.data.length > 0) {
        events.push({ event: this.event || 'message', data: this.data.join('\n'), id: this.id });
      }
      this.event = '';
      this.data = [];
      this.id = null;
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.event = value;
    else if (field === 'data') this.data.push(value);
    else if (field === 'id') this.id = value;
  }
}
