/** The attackers' HTTP client: many connections, and bodies that can stay unfinished. */
import http from 'node:http';
import type { Target } from './attack.ts';

export type Sent = {
  method?: string;
  path: string;
  key?: string | undefined;
  body?: Buffer | string;
  headers?: Record<string, string>;
};

const agent = new http.Agent({ keepAlive: true, maxSockets: 1000 });

/** Sends a request and reads its response. Returns the status, or how it failed. */
export function send({ port }: Target, sent: Sent, signal: AbortSignal): Promise<string> {
  const { body, headers = {}, key, method = body === undefined ? 'GET' : 'POST', path } = sent;
  return new Promise((resolve) => {
    const request = http.request({
      agent,
      port,
      host: '127.0.0.1',
      method,
      path,
      signal,
      headers: {
        ...(body !== undefined && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        }),
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...headers,
      },
    });
    request.on('response', (response) => {
      const status = String(response.statusCode);
      response.resume();
      response.on('close', () => resolve(status));
      response.on('error', () => resolve(status));
    });
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.name));
    request.end(body);
  });
}

/** Runs several clients in a loop until the signal aborts. */
export async function clients(
  number: number,
  signal: AbortSignal,
  once: (client: number) => Promise<void>,
): Promise<void> {
  const work = async (client: number) => {
    while (!signal.aborted) await once(client);
  };
  await Promise.all(Array.from({ length: number }, (_, client) => work(client)));
}

/** Clients that send one request after another, and count every response. */
export const repeat =
  (number: number, request: (client: number, target: Target) => Sent) =>
  async (target: Target, count: (outcome: string) => void, signal: AbortSignal): Promise<void> =>
    clients(number, signal, async (client) => {
      const outcome = await send(target, request(client, target), signal);
      if (!signal.aborted) count(outcome);
    });

/** 50 clients of all accounts that send the same body to `/chat/completions`. */
export const completions = (body: Buffer) =>
  repeat(50, (client, { keys }) => ({
    path: '/api/v1/chat/completions',
    key: keys[client % keys.length],
    body,
  }));
