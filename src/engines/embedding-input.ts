/** Input handling that both embedding engines share. Contract section 14. */
import { ApiError, type ErrorOptions } from '../errors.ts';
import type { EmbeddingInput } from './types.ts';
import { estimatedTokens } from './upstream/usage.ts';

type Input = EmbeddingInput['input'];

const isTokens = (input: Input): input is number[] => Array.isArray(input) && typeof input[0] === 'number';

/** Splits the input into items: each is a text, or a list of tokens. */
export const inputsOf = (input: Input): readonly (string | readonly number[])[] =>
  typeof input === 'string' || isTokens(input) ? [input] : input;

/** The tokens of all inputs that are lists of tokens. Texts count 0. */
export const countTokens = (input: Input): number =>
  inputsOf(input).reduce((sum, one) => sum + (typeof one === 'string' ? 0 : one.length), 0);

/** The tokens of all inputs. For texts, the count is an estimate. */
export const estimatedInput = (input: Input): number =>
  inputsOf(input).reduce(
    (sum, one) => sum + (typeof one === 'string' ? estimatedTokens(one.length) : one.length),
    0,
  );

/** @param known - the models that clients can choose */
export const unknownModel = (known: readonly string[]): ApiError =>
  new ApiError('notFound', {
    message: `This embedding model does not exist. Available: ${known.slice(0, 10).join(', ')}.`,
    param: 'model',
  });

export const unsupportedDimensions = (
  message: string,
  options: Pick<ErrorOptions, 'cause' | 'isProvokable'> = {},
): ApiError =>
  new ApiError('invalidRequest', { message, param: 'dimensions', reason: 'unsupported_value', ...options });
