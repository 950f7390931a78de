/** JSON over Unix sockets in a directory with a path of any length. Contract section 11. */
import { once } from 'node:events';
import { chmod, mkdtemp, rename, rm, symlink } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { json } from 'node:stream/consumers';

/** The kernel's limit for a socket path, without the final NUL: 107 bytes on Linux, 103 on macOS. */
const MAX_PATH_BYTES = 103;

const fits = (path: string) => Buffer.byteLength(path) <= MAX_PATH_BYTES;

/** Shortens a path that exceeds the kernel's limit: to a relative path, or through a temporary symbolic link. */
async function withShortPath<T>(folder: string, name: string, use: (path: string) => Promise<T>): Promise<T> {
  const path = join(folder, name);
  const short = [path, relative(process.cwd(), path)].find(fits);
  if (short !== undefined) return use(short);
  const linkFolder = await mkdtemp(join(tmpdir(), 'parley-'));
  try {
    await symlink(folder, join(linkFolder, 'd'));
    return await use(join(linkFolder, 'd', name));
  } finally {
    await rm(linkFolder, { recursive: true, force: true });
  }
}

/** Handles a request. The caller sees the message of an error. */
export type JsonHandler = (path: string, body: unknown) => Promise<unknown>;

/**
 * Listens for the directory's owner only. Returns a function that removes the socket. Its name appears only once it
 * accepts connections, so a refused connection means that the process is dead.
 */
export async function serveJson(
  folder: string,
  name: string,
  handle: JsonHandler,
): Promise<() => Promise<void>> {
  const server = createServer((incoming, outgoing) => {
    const answer = (status: number, value: unknown) => {
      outgoing.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
      outgoing.end(JSON.stringify(value));
    };
    json(incoming)
      .then((value) => handle(incoming.url ?? '/', value))
      .then(
        (value) => answer(200, value),
        (error: unknown) => answer(422, { message: error instanceof Error ? error.message : String(error) }),
      );
  });
  const unpublished = `.${name}`;
  await withShortPath(folder, unpublished, async (path) => {
    server.listen(path);
    await once(server, 'listening');
    await chmod(path, 0o600);
  });
  await rename(join(folder, unpublished), join(folder, name));
  server.unref();
  return async () => {
    await rm(join(folder, name), { force: true });
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
}

/** `timeoutMs` covers the whole response. Errors have the other process's message, or the failure's `code`. */
export function askJson(
  folder: string,
  name: string,
  path: string,
  body: unknown,
  timeoutMs: number,
): Promise<unknown> {
  return withShortPath(folder, name, async (socketPath) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const outgoing = request({ socketPath, path, method: 'POST', signal, agent: false });
    // No other listener handles errors after the response starts.
    outgoing.on('error', () => {});
    outgoing.end(JSON.stringify(body));
    const [incoming] = await once(outgoing, 'response');
    const value = (await json(incoming)) as { message?: string };
    if (incoming.statusCode !== 200) throw new Error(value.message);
    return value;
  });
}
