/** A postgres.js client for Drizzle, on connections that are never reused once lost. */
import type { Sql } from 'postgres';
import type { Connection, StatementOptions } from './connection.ts';

type Run = Connection['run'];
type Use = <T>(work: (connection: Connection) => Promise<T>) => Promise<T>;
type Types = Pick<Sql['options'], 'parsers' | 'serializers'>;

/** Drizzle requests rows as arrays only after the call, through `values`. */
const unsafe = (run: Run) => (text: string, parameters: unknown[], options?: { prepare?: boolean }) => {
  const how: StatementOptions = { isPrepared: options?.prepare ?? false };
  const rows = Promise.resolve().then(() => run(text, parameters, how));
  const values = () => {
    how.asArrays = true;
    return rows;
  };
  return Object.assign(rows, { values });
};

type Scope = { begin?: string; commit: string; rollback: string };
const transaction: Scope = { commit: 'commit', rollback: 'rollback' };
const savepoint = (depth: number): Scope => ({
  begin: `savepoint s${depth}`,
  commit: `release savepoint s${depth}`,
  rollback: `rollback to savepoint s${depth}`,
});

/** If the connection is lost, the transaction is lost too, and nothing more is sent. */
async function transact<T>(connection: Connection, work: (tx: unknown) => Promise<T>, depth = 0): Promise<T> {
  const scope = depth === 0 ? transaction : savepoint(depth);
  let isOver = false;
  let failure: { error: unknown } | undefined;
  const run: Run = async (...statement) => {
    if (isOver) throw new Error('The transaction is over.');
    try {
      return await connection.run(...statement);
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  };
  const within = <Inner>(inner: (tx: unknown) => Promise<Inner>) => transact(connection, inner, depth + 1);
  try {
    await (scope.begin === undefined ? connection.begin() : run(scope.begin));
    const result = await work({ unsafe: unsafe(run), savepoint: within });
    isOver = true;
    // On COMMIT, Postgres would roll back but report success.
    if (failure !== undefined) throw failure.error;
    await connection.run(scope.commit);
    return result;
  } catch (error) {
    isOver = true;
    await connection.run(scope.rollback).catch((problem) => connection.lose(problem));
    throw error;
  }
}

/** Transactions use another pool than single statements, so that neither waits for the other. */
export function drizzleClient(types: Types, use: Use, useForTransaction: Use): Sql {
  const client = {
    options: types,
    unsafe: unsafe((...statement) => use((connection) => connection.runAlone(...statement))),
    begin: <T>(work: (tx: unknown) => Promise<T>) =>
      useForTransaction((connection) => transact(connection, work)),
  };
  return client as unknown as Sql;
}
