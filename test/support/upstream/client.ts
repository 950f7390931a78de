/** Starts the test upstream in its own process, and calls its control endpoint. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { typescriptLoader } from '../loader.ts';
import type { Calls } from './records.ts';
import type { ServerSettings } from './settings.ts';

export type { CallRecord, Calls } from './records.ts';
export { CANARY, MODEL, type Settings } from './settings.ts';

export type Upstream = {
  /** The value for `CHAT_URL`, `IMAGES_URL`, and `EMBEDDINGS_URL`. */
  url: string;
  /** The value for `SEARCH_URL`. */
  searchUrl: string;
  pid: number;
  /** The calls that the upstream has received so far, and what it has sent. */
  calls(): Promise<Calls>;
  /** Returns the only call so far. Throws if there was none, or more than one. */
  onlyCall(): Promise<Calls['last'][number]>;
  /** Clears calls and settings. */
  reset(): Promise<void>;
  /** Replaces all settings for future calls. Streams in progress continue with their settings. */
  configure(settings: ServerSettings): Promise<void>;
  /** Kills the upstream. */
  stop(): Promise<void>;
};

/**
 * Starts a test upstream. It runs until `stop()`, or until this process exits.
 *
 * @param settings - the first settings, as for `configure`
 */
export async function startUpstream(settings: ServerSettings = {}): Promise<Upstream> {
  const child = fork(fileURLToPath(new URL('./server.ts', import.meta.url)), {
    // The folder where Node.js finds the loader, regardless of this process's working directory.
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
      if (call === undefined || last.length > 1)
        throw new Error(`Expected one call, but there were ${last.length}.`);
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
