/**
 * Postgres inside this process (PGlite), in a thread of its own: a slow statement delays statements, but not the event
 * loop. Contract section 11, decision 0002.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Duplex } from 'node:stream';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { closeContents } from './private-folder.ts';

export type EmbeddedPostgres = {
  /** A stream of the wire protocol, for one client at a time: all of them share one session. It ends with the thread. */
  connect(): Duplex;
  close(): Promise<void>;
};

/** Each write becomes one message, so it must hold whole messages of the wire protocol. */
function streamOver(port: MessagePort, thread: Worker): Duplex {
  const cut = () => stream.destroy();
  const stream = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      const message = new Uint8Array(chunk);
      port.postMessage(message, [message.buffer]);
      done();
    },
    final(done) {
      stream.push(null);
      done();
    },
    destroy(error, done) {
      thread.off('exit', cut);
      port.close();
      done(error);
    },
  });
  port.on('message', (answer: Uint8Array<ArrayBuffer>) => stream.push(Buffer.from(answer.buffer)));
  // The port closes earlier, when the thread is not yet known to have ended.
  thread.once('exit', cut);
  // The driver closes only sockets that say that they are open.
  return Object.assign(stream, { readyState: 'open' });
}

/** The `threadId` of a thread that has ended. */
const ENDED = -1;

const launch = (dataDir: string) =>
  new Worker(new URL(`./embedded-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData: { dataDir },
  });

async function end(thread: Worker): Promise<void> {
  if (thread.threadId === ENDED) return;
  const ended = once(thread, 'exit');
  thread.postMessage('close');
  await ended;
}

/**
 * Opens the database in a directory that this process has locked, or creates it. Throws what PGlite throws.
 *
 * @param onCrash - called when the thread has ended by itself, and its connections with it
 */
export async function startEmbeddedPostgres(dataDir: string, onCrash: () => void): Promise<EmbeddedPostgres> {
  const isNew = !existsSync(join(dataDir, 'PG_VERSION'));
  let thread = launch(dataDir);
  await once(thread, 'message');
  if (isNew) {
    // Creating a database takes 500 MB, which only the end of the thread gives back.
    await end(thread);
    thread = launch(dataDir);
    await once(thread, 'message');
  }
  // PGlite unpacks its files readable and writable by everyone, whatever the umask.
  await closeContents(dataDir);
  let isClosing = false;
  const watch = () => {
    thread.on('error', (error) => process.emitWarning(`The embedded database crashed: ${error.message}`));
    thread.once('exit', () => isClosing || onCrash());
  };
  watch();
  return {
    connect: () => {
      if (thread.threadId === ENDED) {
        // It recovers from its log.
        thread = launch(dataDir);
        watch();
      }
      const { port1, port2 } = new MessageChannel();
      thread.postMessage(port2, [port2]);
      return streamOver(port1, thread);
    },
    close: () => {
      isClosing = true;
      return end(thread);
    },
  };
}
