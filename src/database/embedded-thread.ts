/** The embedded database's thread. It speaks Postgres's wire protocol over message ports. Decision 0002. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { type CopyOrder, copyFiles } from './embedded-copy.ts';
import { closeContents } from './private-folder.ts';

/** The default, 128 MB, uses that much memory from the start and is no faster: the system caches the files. */
const SHARED_BUFFERS = '32MB';

/** AuthenticationOk and ReadyForQuery, because PGlite itself has no users. */
const GREETING = [0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49];

/** A client's first message has no type. It begins with its length, which is below 16 MiB, so its first byte is 0. */
const isStartup = (message: Uint8Array) => message[0] === 0;

const { dataDir } = workerData as { dataDir: string };

const database = await PGlite.create({
  dataDir,
  startParams: [...PGlite.defaultStartParams, '-c', `shared_buffers=${SHARED_BUFFERS}`],
});

// PGlite creates files that everyone can read and write, regardless of the umask.
closeContents(dataDir);

async function greet(): Promise<Uint8Array> {
  // All connections share one session, so remove everything that an earlier connection left in it.
  if (database.isInTransaction()) await database.exec('rollback');
  await database.exec('discard all');
  return new Uint8Array(GREETING);
}

let current: MessagePort | undefined;

/** Messages arrive whole, one or several at a time. Responses are sent in order. */
function serve(port: MessagePort): void {
  current?.close();
  current = port;
  port.on('message', async (message: Uint8Array) => {
    const answer = isStartup(message) ? await greet() : database.execProtocolRawSync(message);
    if (answer.length > 0) port.postMessage(answer, [answer.buffer as ArrayBuffer]);
  });
}

type Order = MessagePort | CopyOrder | 'close';

parentPort?.on('message', async (order: Order) => {
  if (order !== 'close') return 'copyTo' in order ? copyFiles(dataDir, order) : serve(order);
  await database.close();
  process.exit();
});
parentPort?.postMessage('ready');
