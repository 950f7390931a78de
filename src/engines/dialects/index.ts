import type { DialectKind } from '../../upstreams-file/schema.ts';
import { completionsDialect } from './completions.ts';
import type { Dialect } from './dialect.ts';
import { messagesDialect } from './messages.ts';
import { responsesDialect } from './responses.ts';

/** Contract section 15. */
export const dialects: Readonly<Record<DialectKind, Dialect>> = {
  openai: completionsDialect,
  'openai-responses': responsesDialect,
  anthropic: messagesDialect,
};
