import type { components } from './schema.d.ts';

export { createParley, dataOf, newIdempotencyKey, type Parley, type ParleyOptions } from './client.ts';
export { type ErrorCode, type OwnErrorCode, ParleyError } from './errors.ts';
export type { CallOptions, IdempotentCallOptions, Input, Method, Output } from './method.ts';
export type { Operations } from './operations.ts';
export type { components, operations, paths } from './schema.d.ts';
export type { ChatCompletionChunk, ChatEvent } from './stream.ts';

/** The schemas of openapi.json by name, such as `Schemas['ApiKey']`. */
export type Schemas = components['schemas'];
