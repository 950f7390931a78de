/** Writes files for `UPSTREAMS_FILE`. */
import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { currentRun } from './run-folder.ts';
import type { Upstream } from './upstream/client.ts';

type Json = Record<string, unknown>;

export type WrittenFile = { env: { UPSTREAMS_FILE: string }; write(content: unknown): void };

/** A file with the content, and a way to replace it. */
export function upstreamsFile(content: unknown): WrittenFile {
  const file = join(currentRun().folder, `upstreams-${crypto.randomUUID()}.json`);
  const write = (value: unknown) =>
    writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
  write(content);
  return { env: { UPSTREAMS_FILE: file }, write };
}

/** The same with packages of the AI SDK beside the file. */
export function fileWithPackages(content: unknown): WrittenFile['env'] {
  const folder = mkdtempSync(join(currentRun().folder, 'packages-'));
  symlinkSync(new URL('../clients/node_modules', import.meta.url), join(folder, 'node_modules'));
  const file = join(folder, 'upstreams.json');
  writeFileSync(file, JSON.stringify(content));
  return { UPSTREAMS_FILE: file };
}

/** Upstreams named `a`, `b`, and so on, behind one model named `public`. */
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
