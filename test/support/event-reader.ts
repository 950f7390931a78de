/** Reads server-sent events, from whole responses and from open streams. */
import type { Body, Client } from './http.ts';

/** One event. `data` is parsed if it is JSON. */
export type ServerEvent = { event?: string; data: Body };

const parseData = (data: string): Body => (/^[[{]/.test(data) && data !== '[DONE]' ? JSON.parse(data) : data);

/** The event in a block of lines; undefined for comments. */
function eventOf(block: string): ServerEvent | undefined {
  const lines = block.split('\n');
  const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const data = field('data');
  if (data === undefined) return undefined;
  const event = field('event');
  return { ...(event !== undefined && { event }), data: parseData(data) };
}

/** The events of a whole response. Throws if the last event is incomplete. */
export function eventsOf(text: string): ServerEvent[] {
  const blocks = text.split('\n\n');
  if (blocks.pop() !== '') throw new Error(`The stream ends within an event: ${text.slice(-200)}`);
  return blocks.map(eventOf).filter((event) => event !== undefined);
}

export type OpenStream = {
  response: Response;
  /** The next event, or undefined at the end; comments are skipped. */
  next(): Promise<ServerEvent | undefined>;
  /** All remaining events. */
  rest(): Promise<ServerEvent[]>;
  /** Disconnects the client. */
  leave(): void;
};

/** Sends a POST request to `/api/v1` + `path`, and reads the response as a stream of events. */
export async function openStream(
  client: Client,
  path: string,
  body: unknown,
  credentials: { key?: string; cookie?: string; headers?: Record<string, string> },
): Promise<OpenStream> {
  const controller = new AbortController();
  const response = await fetch(`${client.origin}/api/v1${path}`, {
    method: 'POST',
    signal: controller.signal,
    headers: {
      'content-type': 'application/json',
      ...(credentials.key && { authorization: `Bearer ${credentials.key}` }),
      ...(credentials.cookie && { cookie: credentials.cookie }),
      ...credentials.headers,
    },
    body: JSON.stringify(body),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = '';
  const next = async (): Promise<ServerEvent | undefined> => {
    for (;;) {
      const end = buffer.indexOf('\n\n');
      if (end >= 0) {
        const event = eventOf(buffer.slice(0, end));
        buffer = buffer.slice(end + 2);
        if (event !== undefined) return event;
        continue;
      }
      const piece = await reader?.read();
      if (piece === undefined || piece.done) return undefined;
      buffer += piece.value;
    }
  };
  return {
    response,
    next,
    async rest() {
      const events: ServerEvent[] = [];
      for (let event = await next(); event !== undefined; event = await next()) events.push(event);
      return events;
    },
    leave: () => controller.abort(),
  };
}
