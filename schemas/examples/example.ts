/** Example request and response bodies. A test sends each request and compares the response. */
import type { Static, TSchema } from '@sinclair/typebox';

export type Example = { summary: string; value: unknown };

export type OperationExamples = {
  requests?: Record<string, Example>;
  responses?: Record<string, Example>;
  stream?: Record<string, Example>;
  csv?: Record<string, Example>;
  jsonl?: Record<string, Example>;
};

/** An example whose type the compiler checks against its schema. `summary` is a short title. */
export const example = <T extends TSchema>(_schema: T, summary: string, value: Static<T>): Example => ({
  summary,
  value,
});

export const ids = {
  account: '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f',
  key: '01932f60-0b7d-7c55-8f10-5b6c7d8e9f01',
  conversation: '01932f62-4e1f-7a21-b3c4-6d7e8f901a2b',
  reply: '01932f62-4e20-7d90-a1b2-7e8f90a1b2c3',
  question: '01932f62-4e3a-7e11-9c0d-8f90a1b2c3d4',
  answer: '01932f62-4e3a-7e12-8a1b-90a1b2c3d4e5',
  session: '01932f5e-7c25-7f33-b2c3-a1b2c3d4e5f6',
} as const;

export const day = '2026-11-20';
export const at = (time: string): string => `${day}T${time}Z`;
export const tomorrow = '2026-11-21T00:00:00.000Z';
