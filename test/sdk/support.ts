/** Builds the SDK, and compiles against it like a project outside of this checkout. */
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

/** Creates an empty folder outside of this checkout, so that module resolution cannot find this checkout's node_modules. */
export function outside(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-sdk-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Builds the SDK into a temporary folder. */
export async function buildSdk(t: Test): Promise<string> {
  const folder = join(outside(t), 'parley-sdk');
  await run(process.execPath, [join(root, 'tools/sdk/build.mjs'), folder]);
  return folder;
}

/**
 * Compiles files of a folder with the strictest compiler options, including library checks.
 *
 * @returns the compiler's errors, or an empty string
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
