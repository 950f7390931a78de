/** Maps an upstream's errors to Parley's codes and messages. The log never gets its key. Contract sections 6 and 8. */
import type { IncomingHttpHeaders } from 'node:http';
import { parsedUrl } from '../../domain/parsed-url.ts';
import { ApiError } from '../../errors.ts';
import { SilenceError } from './exchange.ts';
import {
  type Problem,
  readProblem,
  reasonOf,
  saysLaterSystem,
  saysNoReasoning,
  saysNoSuchModel,
  sentences,
} from './problems.ts';
import { describeAnswer, withoutEcho } from './quoting.ts';

/** Longest `Retry-After` that Parley sends to clients for an upstream. */
const MAX_RETRY_AFTER_SECONDS = 60;
const LOGGED_LENGTH = 500;

/** A failure at the upstream, described for the log. It is the `cause` of the errors made in this file. */
export class UpstreamProblem extends Error {
  readonly status: number | undefined;
  /** The request field that the upstream rejected, if known. */
  readonly field: string | undefined;
  /** `Retry-After` in seconds, if the upstream sent one. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, status?: number, field?: string, retryAfterSeconds?: number) {
    super(message);
    this.name = 'UpstreamProblem';
    this.status = status;
    this.field = field;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Removes the upstream's key, including forms masked with asterisks, and truncates the text. */
function forLog(message: string, apiKey: string | undefined): string {
  // Truncate first to bound the work, and last so that no partial key remains.
  const text = message.slice(0, LOGGED_LENGTH * 8);
  const inJson = JSON.stringify(apiKey ?? '').slice(1, -1);
  const withoutKey = apiKey ? text.replaceAll(apiKey, '[key]').replaceAll(inJson, '[key]') : text;
  return withoutKey.replace(/\bsk-[\w*.-]{4,}/gi, '[key]').slice(0, LOGGED_LENGTH);
}

/** Ignores dates, because clocks may differ. */
function retryAfterOf({ 'retry-after': value = '' }: IncomingHttpHeaders): number | undefined {
  return /^\s*\d{1,9}(\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}

/** Anthropic's status for an overload. */
const OVERLOADED = 529;

/** Seconds from 1 to 60. */
const retryAfterSeconds = (headers: IncomingHttpHeaders): number =>
  Math.min(Math.max(Math.ceil(retryAfterOf(headers) ?? 1), 1), MAX_RETRY_AFTER_SECONDS);

function invalidRequest(
  problem: Problem,
  status: number,
  sent: readonly string[],
  cause: UpstreamProblem,
): ApiError {
  const reason = reasonOf(problem, status);
  // Include a field's name only if the client sent that field.
  const param = sent.find((field) => field === problem.param?.split(/[.[]/, 1)[0]);
  return new ApiError('invalidRequest', {
    message: sentences(problem, reason, param),
    ...(param !== undefined && { param }),
    ...(reason !== undefined && { reason }),
    cause,
  });
}

export type Refusal = {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  sent: readonly string[];
  /** The request's text. Do not log it. */
  prompt: string;
};

/** The error for any status other than 2xx. Removes `apiKey` from the log. */
export function refusalError(refusal: Refusal, apiKey: string | undefined): ApiError {
  const { prompt, headers, sent, status, text } = refusal;
  const problem = readProblem(text);
  const reason = [problem.code, withoutEcho(forLog(problem.message ?? '', apiKey), prompt)]
    .filter(Boolean)
    .join(': ');
  const target = typeof headers.location === 'string' ? parsedUrl(headers.location) : undefined;
  const where = target === undefined ? '' : ` to ${target.origin}`;
  const what =
    status < 400 ? `redirected${where}; redirects are not followed.` : `returned ${status}. ${reason}`;
  const cause = new UpstreamProblem(
    forLog(`The upstream ${what}`, apiKey),
    status,
    fieldOf(problem, sent),
    retryAfterOf(headers),
  );

  if (status === 400 || status === 413 || status === 422) return invalidRequest(problem, status, sent, cause);
  if (status === 429 || status === OVERLOADED)
    return new ApiError('overloaded', { retryAfterSeconds: retryAfterSeconds(headers), cause });
  if (status === 404 && sent.includes('model') && saysNoSuchModel(problem)) return modelUnavailable(cause);
  return new ApiError('upstreamError', { cause });
}

/** The error if the upstream rejects a model that Parley lists or that the operator configured. */
export const modelUnavailable = (cause?: unknown): ApiError =>
  new ApiError('notFound', {
    message:
      'This model is currently unavailable. Try again later, or choose another model; `GET /api/v1/models` lists them.',
    param: 'model',
    cause,
  });

const EFFORT = 'reasoning_effort';
/** The field's names, including those in the Responses API. */
const efforts: ReadonlySet<unknown> = new Set([EFFORT, 'reasoning', 'reasoning.effort']);

/** The rejected field. Servers that omit `param` name the field in their message or describe what the model lacks. */
function fieldOf({ message = '', param }: Problem, sent: readonly string[]): string | undefined {
  if (param !== undefined && !param.startsWith('reasoning')) return param;
  const named = param ?? sent.find((field) => field.includes('_') && message.includes(field));
  const isOther = named !== undefined && param === undefined;
  return !isOther && saysNoReasoning(message) ? EFFORT : named;
}

/**
 * The error for an invalid 2xx response. The log only describes `text`, which may be meant for a client. `isProvokable`
 * says whether a client can cause the error on purpose.
 */
export const brokenAnswer = (why: string, text?: string, isProvokable = false): ApiError =>
  new ApiError('upstreamError', {
    isProvokable,
    cause: new UpstreamProblem(text === undefined ? why : `${why} ${describeAnswer(text)}`),
  });

const timeouts: ReadonlySet<unknown> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);

/** Describes an error. If connections fail over both IPv4 and IPv6, the AggregateError has an empty message. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const parts = error instanceof AggregateError ? error.errors.map(describe) : [error.message];
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
  return `${code}${parts.join(', ')}`;
}

/** The error for a connection that failed or timed out, as reported by undici or the socket. */
export function connectionError(error: unknown, apiKey: string | undefined): ApiError {
  if (error instanceof ApiError) return error;
  const isTimeout = error instanceof SilenceError || timeouts.has((error as { code?: unknown } | null)?.code);
  return new ApiError(isTimeout ? 'upstreamTimeout' : 'upstreamError', {
    // The upstream has received the request, and the client controls how long the model takes.
    isProvokable: error instanceof SilenceError,
    cause: new UpstreamProblem(forLog(describe(error), apiKey)),
  });
}

const isInvalid = (status: number | undefined): boolean => status === 400 || status === 422;

function refusedField(error: unknown): string | undefined {
  const cause = error instanceof ApiError ? error.options.cause : undefined;
  const isRefusal = cause instanceof UpstreamProblem && isInvalid(cause.status);
  return isRefusal ? cause.field : undefined;
}

/** Whether the upstream rejected a field of the request. */
export const refusesField = (error: unknown, field: string): boolean =>
  refusedField(error)?.split(/[.[]/, 1)[0] === field;

/** Efforts that few servers support. */
export const aboveHigh: ReadonlySet<unknown> = new Set(['xhigh', 'max']);

/** Whether the upstream rejected the reasoning effort, or reports that the model cannot reason. */
export const refusesEffort = (error: unknown): boolean => efforts.has(refusedField(error));

/** Whether the upstream rejected a later system message, or turns that do not alternate. */
export function refusesLaterSystem(error: unknown): boolean {
  const cause = error instanceof ApiError ? error.options.cause : undefined;
  // llama.cpp returns 500 if the model's template fails.
  const isRefusal = cause instanceof UpstreamProblem && (cause.status === 500 || isInvalid(cause.status));
  return isRefusal && saysLaterSystem(cause.message);
}
