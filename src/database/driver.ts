/** What Drizzle takes for a client of postgres.js, over connections that are each used until they are lost. */
import type { Sql } from 'postgres';
import type { Connection, StatementOptions } from './connection.ts';

type Run = Connection['run'];
type Use = <T>(work: (connection: Connection) => Promise<T>) => Promise<T>;
type Types = Pick<Sql['options'], 'parsers' | 'serializers'>;

/** Drizzle says only after the call whether it wants arrays. */
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

/** Begins, and commits if all went well. Where the connection is lost, so is the transaction: nothing more is sent. */
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
    // Postgres would roll back on COMMIT, and call it well.
    if (failure !== undefined) throw failure.error;
    await connection.run(scope.commit);
    return result;
  } catch (error) {
    isOver = true;
    await connection.run(scope.rollback).catch((problem) => connection.lose(problem));
    throw error;
  }
}

/**
 * A client for Drizzle.
 *
 * @param types - filled by Drizzle; for the connections
 * @param use - runs single statements
 * @param useForTransaction - runs transactions; another pool, so that these do not wait for each other
 */
export function drizzleClient(types: Types, use: Use, useForTransaction: Use): Sql {
  const client = {
    options: types,
    unsafe: unsafe((...statement) => use((connection) => connection.runAlone(...statement))),
    begin: <T>(work: (tx: unknown) => Promise<T>) =>
      useForTransaction((connection) => transact(connection, work)),
  };
  return client as unknown as Sql;
}
