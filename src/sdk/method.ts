import type { operations as Shapes } from './schema.d.ts';

export type CallOptions = {
  /** Aborts the call. It rejects with the signal's reason, and the service stops responding. */
  signal?: AbortSignal | undefined;
  headers?: Record<string, string> | undefined;
};

/** Options for operations that use the quota. */
export type IdempotentCallOptions = CallOptions & {
  /**
   * Makes the request safe to retry, including automatically. It is charged once, and every attempt gets the same response.
   * See {@link newIdempotencyKey}.
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

/** An operation's input as one object: path parameters, plus body fields or, without a body, query parameters. */
export type Input<Id extends keyof Shapes> = Part<Shapes[Id]['parameters'], 'path'> &
  (unknown extends Body<Shapes[Id]> ? Part<Shapes[Id]['parameters'], 'query'> : Body<Shapes[Id]>);

type Success<Responses> = Responses extends { 200: infer Answer }
  ? Answer
  : Responses extends { 201: infer Answer }
    ? Answer
    : unknown;

/** An operation's successful response; undefined without a body. */
export type Output<Id extends keyof Shapes> =
  Success<Shapes[Id]['responses']> extends { content: { 'application/json': infer Data } } ? Data : undefined;

type Options<Id extends keyof Shapes> = 'Idempotency-Key' extends keyof Part<
  Shapes[Id]['parameters'],
  'header'
>
  ? IdempotentCallOptions
  : CallOptions;

/** The method of an operation. It rejects with a `ParleyError`. */
export type Method<Id extends keyof Shapes> =
  unknown extends Input<Id>
    ? (input?: Record<string, never>, options?: Options<Id>) => Promise<Output<Id>>
    : // biome-ignore lint/complexity/noBannedTypes: whether every member is optional
      {} extends Input<Id>
      ? (input?: Input<Id>, options?: Options<Id>) => Promise<Output<Id>>
      : (input: Input<Id>, options?: Options<Id>) => Promise<Output<Id>>;
