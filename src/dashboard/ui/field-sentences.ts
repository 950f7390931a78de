/** What to enter, for the API's errors of validation, whose words are for programs. */
import { Problem } from '../api/errors.ts';

const sentences: Record<string, string> = {
  email: 'Enter an email address, such as ada@example.com.',
  password: 'Enter a password of 8 to 256 characters.',
  new_password: 'Enter a password of 8 to 256 characters.',
  current_password: 'Enter your current password.',
  name: 'Enter a name of 1 to 100 characters.',
  scopes: 'Choose at least one scope.',
  expires_at: 'Choose a date in the future.',
  url: 'Enter an https URL, such as https://hooks.example.com/parley.',
  allowed_origins: 'Enter at most 10 origins, such as https://app.example.com.',
};

export const sentenceFor = (field: string): string => sentences[field] ?? 'Check this value.';

/** Whether an error concerns a field. */
export const isOfField = (error: unknown, field: string): boolean =>
  error instanceof Problem &&
  (error.param === field ||
    error.param?.startsWith(`${field}.`) === true ||
    error.details.some(({ path }) => path === `/${field}` || path.startsWith(`/${field}/`)));

/** The message for a field: the API's own, unless it describes the schema. */
export const messageFor = (problem: Problem, field: string): string =>
  problem.details.length > 0 ? sentenceFor(field) : problem.message;
