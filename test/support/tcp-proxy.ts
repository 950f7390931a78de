/** A TCP proxy that injects faults: it delays, resets, and stalls connections. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { reset } from './reset.ts';

export type TcpProxy = {
  port: number;
  /** The number of connections that `cutAnswerTo` has cut so far. */
  cuts: number;
  /** Delays data in both directions; 0 ends the delay. */
  delay(ms: number): void;
  /** Delays data from the server; 0 ends the delay. */
  delayAnswers(ms: number): void;
  /** Resets every connection. */
  cut(): void;
  /** Resets all connections, and new ones as soon as they open, until `accept`. */
  refuse(): void;
  /** Ends `refuse`. */
  accept(): void;
  /** While on, connections stay open, but all data is lost. Turning it off resets them. */
  blackHole(isOn: boolean): void;
  /**
   * Drops the responses to the next `times` statements that contain `marker`, and resets the connection once the server
   * reports that it has committed the statement.
   */
  cutAnswerTo(marker: string, times: number): void;
  /** Resets every connection, and stops the proxy. */
  close(): Promise<void>;
};

/**
 * Starts a proxy on a free port. Close it at the end of the test.
 *
 * @param targetPort - the port to forward connections to
 * @param options - the address to listen on, and the target's address; both default to loopback
 */
export async function startTcpProxy(
  targetPort: number,
  { host = '127.0.0.1', targetHost = '127.0.0.1' }: { host?: string; targetHost?: string } = {},
): Promise<TcpProxy> {
  const pairs = new Set<[Socket, Socket]>();
  let delayMs = 0;
  let answerDelayMs = 0;
  let isHole = false;
  let isRefusing = false;
  let armed: { marker: string; times: number } | undefined;

  const server = createServer((client) => {
    if (isRefusing) return reset(client);
    const target = connect(targetPort, targetHost);
    const pair: [Socket, Socket] = [client, target];
    pairs.add(pair);
    // Prepared statements by name, because later executions send only the name.
    const statements = new Set<string>();
    let isDoomed = false;
    const cut = () => {
      pairs.delete(pair);
      reset(client);
      target.destroy();
    };
    const pass = (to: Socket, chunk: Buffer) => {
      if (isHole) return;
      const ms = delayMs + (to === client ? answerDelayMs : 0);
      if (ms === 0) to.write(chunk);
      else setTimeout(() => to.writable && to.write(chunk), ms);
    };
    client.on('data', (chunk) => {
      if (armed !== undefined && armed.times > 0 && isStatement(chunk, armed.marker, statements)) {
        armed.times -= 1;
        isDoomed = true;
      } else if (armed === undefined || armed.times === 0) remember(chunk, statements);
      pass(target, chunk);
    });
    target.on('data', (chunk) => {
      if (!isDoomed) return pass(client, chunk);
      // The server responds to a statement outside a transaction once it is committed: CommandComplete, ReadyForQuery.
      if (!isCommitted(chunk)) return;
      proxy.cuts += 1;
      cut();
    });
    for (const socket of pair) {
      socket.setNoDelay(true);
      socket.on('close', () => {
        pairs.delete(pair);
        client.destroy();
        target.destroy();
      });
    }
    client.on('error', () => target.destroy());
    // Only a reset by the server resets the client; an end just ends the connection. In Node.js 20, a reset of a
    // connection that is ending can leave a request that never completes, and the process spins instead of exiting.
    target.on('error', cut);
  });

  const proxy: TcpProxy = {
    port: 0,
    cuts: 0,
    delay: (ms) => {
      delayMs = ms;
    },
    delayAnswers: (ms) => {
      answerDelayMs = ms;
    },
    cut: () => {
      for (const [client, target] of [...pairs]) {
        reset(client);
        target.destroy();
      }
    },
    refuse: () => {
      isRefusing = true;
      proxy.cut();
    },
    accept: () => {
      isRefusing = false;
    },
    blackHole: (isOn) => {
      isHole = isOn;
      if (!isOn) proxy.cut();
    },
    cutAnswerTo: (marker, times) => {
      armed = { marker, times };
    },
    close: async () => {
      server.close();
      proxy.cut();
      if (server.listening) await once(server, 'close');
    },
  };
  server.listen(0, host);
  await once(server, 'listening');
  proxy.port = (server.address() as AddressInfo).port;
  return proxy;
}

type Message = { type: string; body: Buffer };

/** The messages in a chunk. Clients that send one statement at a time send whole messages. */
function messagesIn(chunk: Buffer): Message[] {
  const messages: Message[] = [];
  for (let at = 0; at + 5 <= chunk.length; ) {
    const length = chunk.readUInt32BE(at + 1);
    messages.push({
      type: String.fromCharCode(chunk[at] as number),
      body: chunk.subarray(at + 5, at + 1 + length),
    });
    at += 1 + length;
  }
  return messages;
}

const textAt = (body: Buffer, from: number) => body.toString('utf8', from, body.indexOf(0, from));

/** Records the name and text of each statement that a chunk prepares, as `name\0text`. */
function remember(chunk: Buffer, statements: Set<string>): void {
  for (const { body, type } of messagesIn(chunk)) {
    if (type !== 'P') continue;
    const name = textAt(body, 0);
    statements.add(`${name}\0${textAt(body, Buffer.byteLength(name) + 1)}`);
  }
}

/** Whether a chunk executes a statement that contains the marker. */
function isStatement(chunk: Buffer, marker: string, statements: Set<string>): boolean {
  remember(chunk, statements);
  const marked = [...statements].filter((one) => one.includes(marker)).map((one) => one.split('\0', 1)[0]);
  return messagesIn(chunk).some(({ body, type }) => {
    if (type === 'Q') return textAt(body, 0).includes(marker);
    if (type !== 'B') return false;
    const portal = textAt(body, 0);
    return marked.includes(textAt(body, Buffer.byteLength(portal) + 1));
  });
}

/** Whether a chunk contains ReadyForQuery outside a transaction. */
const isCommitted = (chunk: Buffer) => chunk.includes(Buffer.from([0x5a, 0, 0, 0, 5, 0x49]));
