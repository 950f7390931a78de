// Does the same as `ts-blank-space/register`, but caches the results in `.prepare/stripped`. Loading the compiler in
// each of a few hundred processes would take longer than many of the tests.
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const folder = new URL('../../.prepare/stripped/', import.meta.url);

async function stripped(source) {
  const file = new URL(`${createHash('sha256').update(source).digest('hex')}.js`, folder);
  try {
    return await readFile(file, 'utf8');
  } catch {
    const { default: tsBlankSpace } = await import('ts-blank-space');
    const text = tsBlankSpace(source);
    await mkdir(folder, { recursive: true });
    // Write atomically, because other processes read the file at the same time.
    const partial = new URL(`${file}.${process.pid}`);
    await writeFile(partial, text);
    await rename(partial, file);
    return text;
  }
}

export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
  const source = await stripped(await readFile(fileURLToPath(url), 'utf8'));
  return { format: 'module', shortCircuit: true, source: `${source}\n//# sourceURL=${url}` };
}
