/** Helpers for tests of the upstream engines: engines with short timeouts, and checks of errors and responses. */
import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as chunks from '../../../schemas/completion-chunks.ts';
import { components } from '../../../schemas/index.ts';
import type { CompletionChunk, CompletionInput } from '../../../src/engines/types.ts';
import { createUpstreamChat, type UpstreamChatOptions } from '../../../src/engines/upstream/chat.ts';
import { ApiError, errorEnvelope } from '../../../src/errors.ts';
import { serializeError } from '../../../src/telemetry/logging.ts';
import { CANARY, MODEL } from './settings.ts';

/** The upstream's key. It must appear only in requests to the upstream. */
export const KEY = 'upstream-key-0123456789';

/** Creates an engine with short timeouts. */
export const chatEngine = (url: string, options: Partial<UpstreamChatOptions> = {}) =>
  createUpstreamChat({
    url,
    apiKey: KEY,
    models: { kind: 'listed' },
    connectTimeoutMs: 1000,
    firstByteTimeoutMs: 2000,
    idleTimeoutMs: 2000,
    ...options,
  });

/** The input of a chat with one user message. `fields` are more fields. */
export const asking = (content: string, fields: Record<string, unknown> = {}): CompletionInput => ({
  model: MODEL,
  messages: [{ role: 'user', content }],
  ...fields,
});

/** A signal that is never aborted. */
export const never = () => new AbortController().signal;

/**
 * Asserts that a promise rejects with an ApiError that does not leak: clients get no words of the upstream, and neither
 * clients nor the log get its key. Returns the error.
 */
export async function failure(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(
    () => assert.fail('The promise did not reject.'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ApiError, `Not an ApiError: ${error instanceof Error ? error.stack : error}`);
  const told = JSON.stringify([errorEnvelope(error, 'id', 'http://parley'), error.headers]);
  assert.ok(
    !told.includes(CANARY) && !told.includes(KEY) && !told.includes('127.0.0.1'),
    `The error leaks to the client: ${told}`,
  );
  assert.ok(error.options.cause instanceof Error, 'The error has no cause for the log.');
  const logged = JSON.stringify(serializeError(error));
  assert.ok(
    !logged.includes(KEY) && !logged.includes('upstream-key'),
    `The error leaks the key to the log: ${logged}`,
  );
  return error;
}

/** Collects the chunks of a stream. */
export async function collect(chunks: AsyncIterable<CompletionChunk>): Promise<CompletionChunk[]> {
  const collected: CompletionChunk[] = [];
  for await (const chunk of chunks) collected.push(chunk);
  return collected;
}

/** The text of one choice of a stream. */
export const textOf = (chunks: readonly CompletionChunk[], index = 0): string =>
  chunks
    .flatMap(({ choices }) => choices)
    .filter((choice) => choice.index === index)
    .map(({ delta }) => delta.content ?? '')
    .join('');

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
for (const component of new Set([...components, ...Object.values(chunks)])) ajv.addSchema(component);

/** Asserts that a value matches the schema of a component of the contract. */
export function fits(name: string, value: unknown): void {
  const validate = ajv.getSchema(`${name}#`) ?? ajv.getSchema(name);
  assert.ok(validate, `There is no component ${name}.`);
  assert.ok(validate(value), `${name}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`);
}

/**
 * Waits until `holds` returns true. Fails after `ms`. The default is long, for slow machines.
 *
 * @param what - the expected condition, for the error message
 */
export async function eventually(what: string, holds: () => Promise<boolean>, ms = 120_000): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end; ) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`Timed out after ${ms} ms: ${what}`);
}
