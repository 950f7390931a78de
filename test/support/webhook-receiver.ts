/** An endpoint for an account's webhook, and a check of signatures with the reference library of Standard Webhooks. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import type { Test } from 'tap';
import type { Body, Client } from './http.ts';
import { eventually } from './upstream/engine.ts';

/** The environment variable that lets a service send webhook messages to this machine. */
export const anyTarget = { WEBHOOK_TARGETS: 'any' };

export type Received = { path: string; headers: IncomingHttpHeaders; text: string; body: Body };

export type Receiver = {
  url: string;
  /** All messages so far. */
  received: Received[];
  /** The statuses of the next requests; 204 afterward. 0 resets the connection, and -1 never answers. */
  answers: number[];
  /** Headers of every response. */
  headers: Record<string, string>;
};

/** Starts a receiver, which stops when the test ends. */
export async function startReceiver(t: Test): Promise<Receiver> {
  const receiver: Receiver = { url: '', received: [], answers: [], headers: {} };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { headers, url = '' } = request;
    receiver.received.push({ path: url, headers, text: body, body: JSON.parse(body) });
    const status = receiver.answers.shift() ?? 204;
    if (status === -1) return;
    if (status === 0) request.socket.resetAndDestroy();
    else response.writeHead(status, receiver.headers).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return receiver;
}

/** Throws unless a message has a valid, recent signature with the secret. */
export function verify({ headers, text: body }: Received, secret: string): void {
  new Webhook(secret).verify(body, headers as Record<string, string>);
}

/** Sets the webhook of an account. Returns the response's body. */
export async function setWebhook(client: Client, cookie: string, url: string): Promise<Body> {
  const answer = await client.put('/webhook', { url }, { cookie });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body;
}

/** Waits for the receiver's `count`-th message of a type, and returns it. */
export async function arrives({ received }: Receiver, type: string, count = 1): Promise<Received> {
  const ofType = () => received.filter(({ body }) => body.type === type);
  await eventually(`message ${count} of the type ${type} arrives`, async () => ofType().length >= count);
  return ofType()[count - 1] as Received;
}

/** The latest deliveries of an account's webhook, newest first. */
export const deliveriesOf = async (client: Client, cookie: string): Promise<Body[]> =>
  (await client.get('/webhook/deliveries?limit=100', { cookie })).body.data;

/** Waits until the newest delivery satisfies a condition. Returns the delivery. */
export async function newestDelivery(
  client: Client,
  cookie: string,
  holds: (delivery: Body) => boolean,
): Promise<Body> {
  let newest: Body;
  await eventually('the newest delivery satisfies the condition', async () => {
    [newest] = await deliveriesOf(client, cookie);
    return newest !== undefined && holds(newest);
  });
  return newest;
}
