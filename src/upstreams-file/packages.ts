/**
 * Provider packages of the AI SDK. The operator installs them next to the file or in Parley's folder. Decision 0033.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { LanguageModelV3 } from '@ai-sdk/provider';

export type ProviderOptions = {
  baseURL: string;
  apiKey?: string;
  fetch: typeof fetch;
};
export type Provider = { languageModel(id: string): LanguageModelV3 };
export type CreateProvider = (options: ProviderOptions) => Provider;

/** The interface version that Parley supports, and the major versions of packages that implement it. */
const INTERFACE = 'v3';
const MAJOR = 3;
const otherMajors: Readonly<Record<string, number>> = {
  '@ai-sdk/amazon-bedrock': 4,
  '@ai-sdk/cerebras': 2,
  '@ai-sdk/deepseek': 2,
  '@ai-sdk/fireworks': 2,
  '@ai-sdk/openai-compatible': 2,
  '@ai-sdk/togetherai': 2,
};

const NAME = /^(@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/;

/** Returns the file to import, or undefined if the package is not installed. */
function installed(name: string, file: string): string | undefined {
  for (const from of [file, import.meta.url])
    try {
      return createRequire(from).resolve(name);
    } catch {
      // It may be in the other place.
    }
  return undefined;
}

/** Finds an export such as `createMistral`, which creates a provider of models. */
function creatorIn(exported: Record<string, unknown>): CreateProvider | undefined {
  const creators = Object.entries(exported).filter(([name]) => /^create[A-Z]/.test(name));
  const found = creators.find(([, value]) => typeof value === 'function');
  return found?.[1] as CreateProvider | undefined;
}

/** @param file - the file to import. Throws an Error with a message for the operator. */
export function loadProvider(file: string): CreateProvider {
  const create = creatorIn(createRequire(import.meta.url)(file) as Record<string, unknown>);
  if (create === undefined) throw new Error('it exports no function that creates an AI SDK provider.');
  const provider = create({ baseURL: 'http://localhost', apiKey: 'unused', fetch });
  const { specificationVersion: version } = provider.languageModel('unused');
  if (version !== INTERFACE)
    throw new Error(`it implements version ${version} of the AI SDK's provider interface, not v3.`);
  return create;
}

export type FoundPackage = { file: string } | { mistake: string };

/** @param file - `UPSTREAMS_FILE`; its folder is searched first */
export function findPackage(name: string, file: string): FoundPackage {
  if (!NAME.test(name)) return { mistake: '`package` must be the name of an npm package.' };
  const folder = dirname(file);
  const command = `npm install --prefix ${/\s/.test(folder) ? `"${folder}"` : folder} ${name}@${otherMajors[name] ?? MAJOR}`;
  const entry = installed(name, join(folder, 'package.json'));
  if (entry === undefined) return { mistake: `the package ${name} is not installed. Run: ${command}` };
  try {
    loadProvider(entry);
    return { file: entry };
  } catch (error) {
    const [why = ''] = (error as Error).message.split('\n');
    return { mistake: `the package ${name} cannot be used: ${why.replace(/\.$/, '')}. Run: ${command}` };
  }
}
