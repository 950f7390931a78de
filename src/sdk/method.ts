/** What an operation takes and answers, read off the generated types. */
import type { operations as Shapes } from './schema.d.ts';

/** What goes with one call. */
export type CallOptions = {
  /** Ends the call: it is rejected with the signal's reason, and the service stops answering. */
  signal?: AbortSignal | undefined;
  headers?: Record<string, string> | undefined;
};

/** For operations that draw on the quota. */
export type IdempotentCallOptions = CallOptions & {
  /**
   * Makes it safe to send the same request again, also by itself: however often it arrives, it is charged once and answered
   * the same. See {@link newIdempotencyKey}.
   */
  idempotencyKey?: string | undefined;
};

type Part<Parameters, In extends string> = In extends keyof Parameters
  ? NonNullable<Parameters[In]> extends never
    ? unknown
    : NonNullable<Parameters[In]>
  : unknown;

type Body<Shape> = Shape extends { requestBody?: infer Request }
  ? NonNullable<Request> extends { content: { 'application/json': infer Content } }
    ? Content extends { stream?: unknown }
      ? Content & { stream?: false | undefined }
      : Content
    : unknown
  : unknown;

/** What an operation takes, as one object: the names in its path, and its query parameters or the fields of its body. */
export type Input<Id extends keyof Shapes> = Part<Shapes[Id]['parameters'], 'path'> &
  Part<Shapes[Id]['parameters'], 'query'> &
  Body<Shapes[Id]>;

type Success<Responses> = Responses extends { 200: infer Answer }
  ? Answer
  : Responses extends { 201: infer Answer }
    ? Answer
    : unknown;

/** What an operation answers when it succeeds; nothing where the answer has no body. */
export type Output<Id extends keyof Shapes> =
  Success<Shapes[Id]['responses']> extends { content: { 'application/json': infer Data } } ? Data : undefined;

type Options<Id extends keyof Shapes> = 'Idempotency-Key' extends keyof Part<
  Shapes[Id]['parameters'],
  'header'
>
  ? IdempotentCallOptions
  : CallOptions;

/** An operation as a method. It rejects with a `ParleyError`. */
export type Method<Id extends keyof Shapes> =
  unknown extends Input<Id>
    ? (input?: Record<string, never>, options?: Options<Id>) => Promise<Output<Id>>
    : // biome-ignore lint/complexity/noBannedTypes: whether every member is optional
      {} extends Input<Id>
      ? (input?: Input<Id>, options?: Options<Id>) => Promise<Output<Id>>
      : (input: Input<Id>, options?: Options<Id>) => Promise<Output<Id>>;
