/** Writes files for `UPSTREAMS_FILE`. */
import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { currentRun } from './run-folder.ts';
import type { Upstream } from './upstream/client.ts';

type Json = Record<string, unknown>;

export type WrittenFile = { env: { UPSTREAMS_FILE: string }; write(content: unknown): void };

/**
 * Writes a file. Returns the environment variable that makes a service use it, and a function to replace its content.
 */
export function upstreamsFile(content: unknown): WrittenFile {
  const file = join(currentRun().folder, `upstreams-${crypto.randomUUID()}.json`);
  const write = (value: unknown) =>
    writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
  write(content);
  return { env: { UPSTREAMS_FILE: file }, write };
}

/** Writes a file next to packages of the AI SDK. Returns the environment variable that makes a service use it. */
export function fileWithPackages(content: unknown): WrittenFile['env'] {
  const folder = mkdtempSync(join(currentRun().folder, 'packages-'));
  symlinkSync(new URL('../clients/node_modules', import.meta.url), join(folder, 'node_modules'));
  const file = join(folder, 'upstreams.json');
  writeFileSync(file, JSON.stringify(content));
  return { UPSTREAMS_FILE: file };
}

/**
 * The content of a file with one model named `public`, whose targets are upstreams named `a`, `b`, and so on.
 *
 * @param upstream - more fields of each upstream
 * @param model - more fields of the model
 */
export function several(upstreams: readonly Upstream[], upstream: Json = {}, model: Json = {}) {
  const names = upstreams.map((_, position) => String.fromCharCode(97 + position));
  return {
    upstreams: upstreams.map(({ url }, position) => ({
      ...{ name: names[position], kind: 'openai', url },
      ...upstream,
    })),
    models: [
      { name: 'public', targets: names.map((name) => ({ upstream: name, model: 'test-model' })), ...model },
    ],
  };
}
