/** A typical service: Express, passport with a bearer strategy, and pg. One query finds the key, and another the usage. */
import { createHash } from 'node:crypto';
import express from 'express';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import pg from 'pg';

const KEY = 'key-of-the-bench';
const ACCOUNT = '0198f000-0000-7000-8000-000000000001';
const digestOf = (key) => createHash('sha256').update(key).digest();

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
await pool.query(`
  create table accounts (id uuid primary key, plan text not null);
  create table keys (digest bytea primary key, account_id uuid not null, revoked_at timestamptz);
  create table counters (account_id uuid, day date, meter text, used bigint not null, primary key (account_id, day, meter));
  insert into accounts values ('${ACCOUNT}', 'bench');
  insert into counters select '${ACCOUNT}', current_date, unnest('{chat,images,search,tokens}'::text[]), 1`);
await pool.query('insert into keys values ($1, $2)', [digestOf(KEY), ACCOUNT]);

passport.use(
  new Strategy((key, done) => {
    pool
      .query({
        name: 'key',
        text: 'select id, plan from keys join accounts on id = account_id where digest = $1 and revoked_at is null',
        values: [digestOf(key)],
      })
      .then(({ rows }) => done(null, rows[0] ?? false), done);
  }),
);

const app = express();
app.get('/api/v1/usage', passport.authenticate('bearer', { session: false }), async (request, response) => {
  const { rows } = await pool.query({
    name: 'usage',
    text: 'select meter, used from counters where account_id = $1 and day = current_date',
    values: [request.user.id],
  });
  response.json({
    plan: request.user.plan,
    used: Object.fromEntries(rows.map(({ meter, used }) => [meter, Number(used)])),
    limits: { chat: 1_000_000_000, images: null, search: null },
    resetsAt: '2026-01-02T00:00:00.000Z',
  });
});

const server = app.listen(0, '127.0.0.1', () => {
  process.send({ port: server.address().port, headers: { authorization: `Bearer ${KEY}` } });
});
process.on('disconnect', () => process.exit());
