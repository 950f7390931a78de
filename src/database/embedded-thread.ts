/** The embedded database's thread, which speaks Postgres' wire protocol over message ports. Decision 0002. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { type CopyOrder, copyFiles } from './embedded-copy.ts';
import { closeContents } from './private-folder.ts';

/** The default of 128 MB takes that much memory from the start, and is no faster: the operating system caches the files. */
const SHARED_BUFFERS = '32MB';

/** AuthenticationOk and ReadyForQuery: PGlite itself has no users. */
const GREETING = [0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49];

/** A client's first message has no type: it begins with its length, which is less than 16 MiB. */
const isStartup = (message: Uint8Array) => message[0] === 0;

const { dataDir } = workerData as { dataDir: string };

const database = await PGlite.create({
  dataDir,
  startParams: [...PGlite.defaultStartParams, '-c', `shared_buffers=${SHARED_BUFFERS}`],
});

// PGlite creates its files readable and writable by everyone, whatever the umask.
closeContents(dataDir);

async function greet(): Promise<Uint8Array> {
  // There is one session: nothing of an earlier connection may reach the next one.
  if (database.isInTransaction()) await database.exec('rollback');
  await database.exec('discard all');
  return new Uint8Array(GREETING);
}

let current: MessagePort | undefined;

/** Messages arrive whole, one or several at a time, and are answered in order. */
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
