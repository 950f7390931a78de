/**
 * Postgres inside this process (PGlite), in its own thread. A slow statement delays other statements, but not the event
 * loop. Contract section 11, decision 0002.
 */
import { once } from 'node:events';
import { cpSync, existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { projectRoot, threadProgram } from '../project.ts';
import { DatabaseUnavailable } from './connection.ts';
import type { CopyAnswer } from './embedded-copy.ts';

export type EmbeddedPostgres = {
  /** Resolves once the database is ready; statements wait for it. Rejects with PGlite's and file system errors. */
  started: Promise<void>;
  /**
   * Opens a stream of the wire protocol, which ends with the thread. The next client takes over the one session.
   *
   * @throws DatabaseUnavailable for a few seconds if the thread crashed and could not be restarted
   */
  connect(): Duplex;
  /** Copies the files to a new folder, between two statements. Throws an error with a message for the operator. */
  copyTo(folder: string): Promise<{ bytes: number; ms: number }>;
  close(): Promise<void>;
};

/** Each write becomes one message, so it must contain whole messages of the wire protocol. */
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
  // The port closes earlier, before this thread knows that the other has ended.
  thread.once('exit', cut);
  // The driver closes only sockets whose `readyState` is open.
  return Object.assign(stream, { readyState: 'open' });
}

/** The `threadId` of a thread that has ended. */
const ENDED = -1;
/** The pause after a thread that ended before it was ready. The cause, such as a full disk, may persist. */
const RELAUNCH_MS = 5000;

/** Resolves once the thread is ready. Rejects with its error, or if it ends. */
async function ready(thread: Worker): Promise<void> {
  const ended = once(thread, 'exit').then(() => {
    throw new Error('The embedded database ended while it was starting.');
  });
  ended.catch(() => {});
  await Promise.race([once(thread, 'message'), ended]);
}

async function end(thread: Worker): Promise<void> {
  if (thread.threadId === ENDED) return;
  const ended = new Promise((resolve) => thread.once('exit', resolve));
  thread.postMessage('close');
  await ended;
}

/** Waits for the thread's result, or for the end of the thread. */
async function copy(thread: Worker, folder: string): Promise<{ bytes: number; ms: number }> {
  const { port1, port2 } = new MessageChannel();
  const ended = () => port1.close();
  thread.once('exit', ended);
  try {
    thread.postMessage({ copyTo: folder, answerTo: port2 }, [port2]);
    const [answer] = await Promise.race([
      once(port1, 'message') as Promise<[CopyAnswer]>,
      once(port1, 'close').then((): [CopyAnswer] => [{ problem: 'The embedded database is not running.' }]),
    ]);
    if ('problem' in answer) throw new Error(answer.problem);
    return answer;
  } finally {
    thread.off('exit', ended);
    port1.close();
  }
}

/** PGlite recognizes the directory of a database by this file. */
const MARK = 'PG_VERSION';

/** Copies the empty database that `tools/prepare` made. The mark comes last, so an interrupted copy is repeated. */
function createIn(dataDir: string): void {
  const empty = fileURLToPath(new URL('dist/new-database/files/', projectRoot));
  if (!existsSync(empty))
    throw new Error(
      'dist/new-database is missing: run "node tools/prepare.mjs serve" in the folder of package.json.',
    );
  const mark = join(empty, MARK);
  // The asynchronous copy takes five times as long, and the process does not serve requests yet.
  cpSync(empty, dataDir, { recursive: true, filter: (source) => resolve(source) !== mark });
  cpSync(mark, join(dataDir, MARK));
}

/**
 * Opens or creates the database in a directory that this process has locked.
 *
 * @param onCrash - called after the thread has crashed, which also ends its connections
 * @throws errors of the file system
 */
export function startEmbeddedPostgres(dataDir: string, onCrash: (error: unknown) => void): EmbeddedPostgres {
  let isServing = false;
  let failedAt = Number.NEGATIVE_INFINITY;
  const launch = () => {
    const thread = new Worker(threadProgram('database/embedded-thread'), {
      workerData: { dataDir },
    });
    let cause: unknown = new Error('The thread of the embedded database ended.');
    thread.on('error', (error) => {
      cause = error;
    });
    let isReady = false;
    thread.once('message', () => {
      isReady = true;
    });
    thread.once('exit', () => {
      if (!isReady) failedAt = performance.now();
      if (isServing) onCrash(cause);
    });
    return thread;
  };

  if (!existsSync(join(dataDir, MARK))) createIn(dataDir);
  let thread = launch();
  async function start(): Promise<void> {
    await ready(thread);
    isServing = true;
  }
  return {
    started: start(),
    connect: () => {
      if (thread.threadId === ENDED) {
        if (performance.now() - failedAt < RELAUNCH_MS)
          throw new DatabaseUnavailable('ECONNREFUSED', 'The embedded database could not be restarted.');
        // The new thread recovers from the log of the database.
        thread = launch();
      }
      const { port1, port2 } = new MessageChannel();
      thread.postMessage(port2, [port2]);
      return streamOver(port1, thread);
    },
    copyTo: (folder) => copy(thread, folder),
    close: () => {
      isServing = false;
      return end(thread);
    },
  };
}
