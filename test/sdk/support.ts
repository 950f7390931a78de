/** Building the SDK, and compiling against it, as a project outside of this checkout does. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { nodeWithoutTap } from '../support/loader.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** An empty folder outside of this checkout, whose node_modules it must not find. */
export function outside(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-sdk-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Builds the SDK into a folder of the test's own. */
export async function buildSdk(t: Test): Promise<string> {
  const folder = join(outside(t), 'parley-sdk');
  await run(process.execPath, [join(root, 'tools/sdk/build.mjs'), folder]);
  return folder;
}

/**
 * Compiles files of a folder in the strictest way there is, libraries included.
 *
 * @returns what the compiler complained about; an empty text where it had nothing to say
 */
export async function strictly(cwd: string, files: string[], options: object): Promise<string> {
  const compilerOptions = {
    target: 'ES2022',
    lib: ['ES2022'],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    noImplicitOverride: true,
    noUnusedLocals: true,
    noUnusedParameters: true,
    verbatimModuleSyntax: true,
    isolatedModules: true,
    skipLibCheck: false,
    ...options,
  };
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  try {
    await run(...nodeWithoutTap(compiler, '--pretty', 'false'), { cwd });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
