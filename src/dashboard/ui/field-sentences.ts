/** Sentences that say what to enter. They replace the API's validation errors, which are for programs. */

import { messageOf, Problem } from '../api/errors.ts';
import { type TextKey, t } from '../texts/language.ts';

const sentences = {
  email: 'errors.fields.email',
  password: 'errors.fields.newPassword',
  new_password: 'errors.fields.newPassword',
  current_password: 'errors.fields.currentPassword',
  name: 'errors.fields.name',
  scopes: 'errors.fields.scopes',
  expires_at: 'errors.fields.expiresAt',
  url: 'errors.fields.url',
  allowed_origins: 'errors.fields.allowedOrigins',
  title: 'errors.fields.title',
  instructions: 'errors.fields.instructions',
  temperature: 'errors.fields.temperature',
} as const satisfies Record<string, TextKey>;

/** The name of a field that shows its error, as in the API. */
export type FieldName = keyof typeof sentences;

export const sentenceFor = (field: FieldName): string => t(sentences[field]);

/** Whether an API error concerns a field. */
export const isOfField = (error: unknown, field: FieldName): boolean =>
  error instanceof Problem &&
  (error.param === field ||
    (error.code === 'emailTaken' && field === 'email') ||
    error.param?.startsWith(`${field}.`) === true ||
    error.details.some(({ path }) => path === `/${field}` || path.startsWith(`/${field}/`)));

/** The message for a field. If the error describes only the schema, without a reason, uses the field's sentence. */
export const messageFor = (problem: Problem, field: FieldName): string =>
  problem.details.length > 0 && problem.reason === null ? sentenceFor(field) : messageOf(problem);
