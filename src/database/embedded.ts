/**
 * Postgres inside this process (PGlite), in a thread of its own: a slow statement delays statements, but not the event
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
  /** Resolves once it serves: statements wait for it. Rejects with what PGlite throws, and errors of the file system. */
  started: Promise<void>;
  /**
   * A stream of the wire protocol, which ends with the thread. There is one session: the next client takes it over.
   *
   * @throws DatabaseUnavailable for a while after the thread crashed and could not be restarted
   */
  connect(): Duplex;
  /** Copies the files to a new folder, between two statements. Throws a message for the operator. */
  copyTo(folder: string): Promise<{ bytes: number; ms: number }>;
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
/** Pause after a thread that ended before it served: the reason may stay, such as a full disk. */
const RELAUNCH_MS = 5000;

/** Resolves once the thread serves; rejects with its error, or if it ends. */
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

/** The answer of the thread, or the end of the thread. */
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

/** The file that PGlite looks for in the directory of a database. */
const MARK = 'PG_VERSION';

/** Copies the empty database that `tools/prepare` made. A copy that was interrupted has no mark, and is written again. */
function createIn(dataDir: string): void {
  const empty = fileURLToPath(new URL('dist/new-database/files/', projectRoot));
  if (!existsSync(empty))
    throw new Error(
      'dist/new-database is missing: run "node tools/prepare.mjs serve" in the folder of package.json.',
    );
  const mark = join(empty, MARK);
  // The asynchronous copy takes five times as long, and nothing is served yet.
  cpSync(empty, dataDir, { recursive: true, filter: (source) => resolve(source) !== mark });
  cpSync(mark, join(dataDir, MARK));
}

/**
 * Opens the database in a directory that this process has locked, or creates it.
 *
 * @param onCrash - called when the thread has ended by itself, and its connections with it
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
        // It recovers from its log.
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
