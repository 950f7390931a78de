/** Starts the test upstream in a process of its own, and speaks with its control endpoint. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { typescriptLoader } from '../loader.ts';
import type { Calls } from './records.ts';
import type { ServerSettings } from './settings.ts';

export type { CallRecord, Calls } from './records.ts';
export { CANARY, MODEL, type Settings } from './settings.ts';

export type Upstream = {
  /** What `CHAT_URL`, `IMAGES_URL`, and `EMBEDDINGS_URL` take. */
  url: string;
  /** What `SEARCH_URL` takes. */
  searchUrl: string;
  pid: number;
  /** What it got and wrote so far. */
  calls(): Promise<Calls>;
  /** The only call of a kind there was. Fails where there were none or several. */
  onlyCall(): Promise<Calls['last'][number]>;
  /** Forgets calls and settings. */
  reset(): Promise<void>;
  /** Sets what it does from now on, in place of what was set before. Streams under way go on as they began. */
  configure(settings: ServerSettings): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Starts it; it ends with `stop()`, or with this process.
 *
 * @param settings - as for `configure`
 */
export async function startUpstream(settings: ServerSettings = {}): Promise<Upstream> {
  const child = fork(fileURLToPath(new URL('./server.ts', import.meta.url)), {
    // Where the loader is found, wherever this is started from.
    cwd: fileURLToPath(new URL('../../../', import.meta.url)),
    execArgv: [typescriptLoader],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [message] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('The test upstream did not start.'))),
  ])) as [{ origin: string; controlUrl: string }];
  const { controlUrl, origin } = message;

  async function control(path: string, body?: ServerSettings): Promise<Calls> {
    const response = await fetch(controlUrl + path, {
      signal: AbortSignal.timeout(30_000),
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    return (await response.json()) as Calls;
  }

  await control('/configure', settings);
  return {
    url: `${origin}/v1`,
    searchUrl: `${origin}/search`,
    pid: child.pid as number,
    calls: () => control('/calls'),
    async onlyCall() {
      const { last } = await control('/calls');
      const [call] = last;
      if (call === undefined || last.length > 1) throw new Error(`There were ${last.length} calls.`);
      return call;
    },
    reset: async () => void (await control('/reset', {})),
    configure: async (given) => void (await control('/configure', given)),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}
