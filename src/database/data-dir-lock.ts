/**
 * Allows one process at a time on the embedded database's directory, which PGlite does not protect. The lock is a Unix
 * socket in the directory. It disappears with its process, and every container that mounts the directory sees it. It
 * also carries operator commands. Contract section 11.
 *
 * Each starting process listens on its own socket before it looks for others. Of two processes, at least one therefore
 * sees the other. Names are never reused, so a socket that refuses connections is dead and safe to remove.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { askJson, serveJson } from './local-socket.ts';
import { closeFolder } from './private-folder.ts';

/** `message` is the one line that the operator sees. */
export class DataDirError extends Error {
  override readonly name = 'DataDirError';
  readonly folder: string;
  readonly problem: string;
  readonly remedy: string | undefined;

  /**
   * @param problem - what is wrong with the folder, after its name
   * @param remedy - what to do, apart from using another folder
   */
  constructor(folder: string, problem: string, remedy?: string) {
    const otherwise = remedy === undefined ? 'Set' : `${remedy}, or set`;
    super(`DATA_DIR ${folder} ${problem}. ${otherwise} DATA_DIR to another directory.`);
    this.folder = folder;
    this.problem = problem;
    this.remedy = remedy;
  }
}

/** Runs an operator command and returns its output. The caller sees only the message of an error. */
export type CommandHandler = (name: string, args: string[]) => Promise<string[]>;

export type DataDirLock = {
  /** Call this after closing the database. */
  release(): Promise<void>;
};

/** If two processes start together, the one with the lower socket name wins. */
type State = 'starting' | 'holding';
type Other = { name: string; state: State };

const socketName = /^parley-[0-9a-z]+-[0-9a-f]+\.sock$/;
const newSocketName = () => `parley-${Date.now().toString(36)}-${randomBytes(4).toString('hex')}.sock`;

/** Long enough for any live process. A process that is too busy to respond counts as holding the directory. */
const PROBE_MS = 3000;
const START_MS = 10_000;
const COMMAND_MS = 120_000;

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

const reasons: Record<string, string> = {
  EACCES: 'permission denied',
  EEXIST: 'it is not a directory',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'it is not a directory',
  ENOTSUP: 'its file system does not support Unix sockets',
  EPERM: 'permission denied',
  EROFS: 'its file system is read-only',
};

const remedies: Record<string, string> = {
  EACCES: 'Make sure that it exists and that this user owns it',
  ENOSPC: 'Free up disk space',
  EPERM: 'Make sure that it exists and that this user owns it',
};

const unusable = (folder: string, error: unknown) => {
  if (error instanceof DataDirError) return error;
  const code = codeOf(error) ?? 'unknown';
  const reason = reasons[code];
  const problem = reason === undefined ? `cannot be used (${code})` : `cannot be used: ${reason} (${code})`;
  return new DataDirError(folder, problem, remedies[code]);
};

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && /^(AbortError|TimeoutError)$/.test(error.name);

/** The state of a socket's process; undefined if it is dead. If in doubt, it counts as alive. */
async function stateOf(folder: string, name: string, attempts = 3): Promise<State | undefined> {
  try {
    const { state } = (await askJson(folder, name, '/state', null, PROBE_MS)) as { state: State };
    return state;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ECONNREFUSED' || code === 'ENOENT') return undefined;
    // Another user owns the socket. Its process may be alive, and the database would be unreadable.
    if (code === 'EACCES') throw unusable(folder, error);
    // The process may have exited or yielded during the request.
    if (isTimeout(error) || attempts === 1) return 'holding';
    await sleep(20);
    return stateOf(folder, name, attempts - 1);
  }
}

async function othersAt(folder: string, own?: string): Promise<Other[]> {
  const names = (await readdir(folder)).filter((name) => socketName.test(name) && name !== own);
  const others = await Promise.all(
    names.map(async (name) => {
      const state = await stateOf(folder, name);
      if (state === undefined) await rm(join(folder, name), { force: true });
      return state === undefined ? [] : [{ name, state }];
    }),
  );
  return others.flat();
}

async function outlast(folder: string, own: string): Promise<void> {
  const deadline = Date.now() + START_MS;
  for (;;) {
    const others = await othersAt(folder, own);
    if (others.length === 0) return;
    const mustYield = others.some(({ name, state }) => state === 'holding' || name < own);
    if (mustYield || Date.now() > deadline) {
      throw new DataDirError(folder, 'is in use by another process', 'Stop that process');
    }
    await sleep(20);
  }
}

async function keepOthersOut(folder: string): Promise<void> {
  const mode = await closeFolder(folder);
  if (mode === undefined) return;
  throw new DataDirError(
    folder,
    `is accessible to every user of this machine (mode ${mode}), and this user cannot change that`,
    'Run "chmod 700" on it as its owner',
  );
}

/** Locks the directory, creating it and closing it to other users. Throws DataDirError if that is impossible. */
export async function lockDataDir(dataDir: string, handleCommand: CommandHandler): Promise<DataDirLock> {
  const folder = resolve(dataDir);
  const own = newSocketName();
  let state: State = 'starting';

  const handle = async (path: string, body: unknown) => {
    if (path === '/state') return { state };
    const { args, name } = body as { name: string; args: string[] };
    return { lines: await handleCommand(name, args) };
  };

  let release: () => Promise<void>;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await keepOthersOut(folder);
    release = await serveJson(folder, own, handle);
  } catch (error) {
    throw unusable(folder, error);
  }
  try {
    await outlast(folder, own);
  } catch (error) {
    await release();
    throw error;
  }
  state = 'holding';
  return { release };
}

/** Runs a command in the process that holds the directory. Returns its output, or undefined if no process holds it. */
export async function askHolder(
  dataDir: string,
  name: string,
  args: string[],
): Promise<string[] | undefined> {
  const folder = resolve(dataDir);
  let others: Other[];
  try {
    others = await othersAt(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw unusable(folder, error);
  }
  const holder = others.find(({ state }) => state === 'holding') ?? others[0];
  if (holder === undefined) return undefined;
  try {
    const { lines } = (await askJson(folder, holder.name, '/command', { name, args }, COMMAND_MS)) as {
      lines: string[];
    };
    return lines;
  } catch (error) {
    if (!isTimeout(error)) throw error;
    throw new Error(
      'The running service did not respond within 2 minutes. It may still be running the command. Check its log before you run the command again.',
    );
  }
}
