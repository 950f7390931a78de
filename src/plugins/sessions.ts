/**
 * The dashboard session: a signed cookie that names a row of `sessions`. Contract section 9.
 *
 * Only the scope that takes nothing but sessions registers this plugin. Where a Bearer key may stand in its place,
 * `restoreSession` reads the same cookie, so that a request with a key never comes near the session store.
 */
import { callbackify } from 'node:util';
import { fastifyCookie } from '@fastify/cookie';
import fastifySession from '@fastify/session';
import type { FastifyReply, FastifyRequest, Session } from 'fastify';
import fp from 'fastify-plugin';
import type { Config } from '../config.ts';
import type { Db } from '../database/client.ts';
import { type Device, type MarkedAccount, markDevice, parseDevice } from '../domain/device-cookie.ts';
import { ApiError } from '../errors.ts';
import { sourceOf } from '../limits/address.ts';
import type { ProvenAccount } from '../store/accounts.ts';
import {
  ABSOLUTE_DAYS,
  createSession,
  endListedSession,
  endSession,
  type FoundSession,
  findSession,
  type SessionKey,
} from '../store/sessions.ts';

declare module 'fastify' {
  /** Without an account where nobody is signed in. */
  interface Session extends Partial<FoundSession> {}
  interface FastifyRequest {
    /** The device cookie that its answer sets. */
    deviceCookie: string | null;
  }
}

const DAY_MS = 86_400_000;

const isHttps = (config: Config) => config.publicUrl.startsWith('https:');

/** With the prefix, browsers take the cookie only over https, from this very host and for all of its paths. */
export const sessionCookieName = (config: Config): string =>
  isHttps(config) ? '__Host-parley_session' : 'parley_session';

/** The longest that browsers keep a cookie. */
const DEVICE_DAYS = 400;

const deviceCookieName = (config: Config): string =>
  isHttps(config) ? '__Host-parley_device' : 'parley_device';

/** The same when the cookie is set and when it is cleared, or browsers ignore the latter. */
const cookieAttributes = (config: Config) =>
  ({ path: '/', httpOnly: true, sameSite: 'strict', secure: isHttps(config) }) as const;

/** The rows of `sessions` as `@fastify/session` wants them. */
function sessionStore(db: Db) {
  const get = async (secretId: string): Promise<Session | null> => {
    const found = await findSession(db, secretId);
    // The cookie's attributes come from the plugin's options.
    return found === undefined ? null : { ...found, cookie: { originalMaxAge: null } };
  };
  return {
    get: callbackify(get),
    // `signIn` writes the row; nothing of a session changes after that.
    set: (_secretId: string, _session: Session, done: () => void) => done(),
    destroy: callbackify((secretId: string) => endSession(db, secretId)),
  };
}

/**
 * Begins a new session with a new id, whatever session the request came with is over. The device is known from then on.
 *
 * @param account - whose password was just proved
 * @param event - null where the audit trail tells of this by another event
 * @throws ApiError `invalidLogin` when the password was changed or the account deleted since
 */
export async function beginSession(
  request: FastifyRequest,
  account: ProvenAccount & MarkedAccount,
  event: 'signedIn' | null,
): Promise<void> {
  const { db, sessionSecrets } = request.server;
  await request.session.regenerate();
  const { sessionId } = request.session;
  const isCreated = await createSession(db, account, sessionId, sourceOf(request), event);
  if (!isCreated) throw new ApiError('invalidLogin');
  // Has the plugin send the cookie. What is modified and not saved, it saves by itself, but then sends no Secure
  // cookie unless it sees https, and behind a proxy it does not.
  await request.session.save();
  request.deviceCookie = markDevice(deviceOf(request), account, sessionSecrets);
}

/** The device that a request says it comes from; whether an account knows it is not known yet. */
export const deviceOf = (request: FastifyRequest): Device | undefined =>
  parseDevice(request.cookies[deviceCookieName(request.server.config)]);

/** The session of a request that the session guard has admitted. */
export function ownSession(request: FastifyRequest): SessionKey {
  const { accountId, id } = request.session;
  if (accountId === undefined || id === undefined) throw new Error('No user is signed in.');
  return { accountId, id };
}

/** Ends the session of this request and clears its cookie. */
export async function signOut(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  await endListedSession(request.server.db, ownSession(request), 'signedOut', sourceOf(request));
  clearSessionCookie(reply);
}

/** Clears the cookie of a session that has ended already. */
export function clearSessionCookie(reply: FastifyReply): void {
  const { config } = reply.server;
  reply.clearCookie(sessionCookieName(config), cookieAttributes(config));
}

/**
 * The session of a request whose scope does not register this plugin: takes exactly the cookies that it takes.
 *
 * @returns null where there is no cookie, where it is not ours, and where its session has ended
 */
export async function restoreSession(request: FastifyRequest): Promise<FoundSession | null> {
  const { config, db, sessionSecrets } = request.server;
  // `parse` is ready once the dashboard's scope has registered `@fastify/cookie`, as every application does.
  const signed = fastifyCookie.parse(request.headers.cookie ?? '')[sessionCookieName(config)];
  if (!signed) return null;
  const { valid, value } = fastifyCookie.signerFactory([...sessionSecrets]).unsign(signed);
  const found = valid ? await findSession(db, value) : undefined;
  return found ?? null;
}

export default fp(
  async (app) => {
    const { config, db, sessionSecrets } = app;
    const cookieName = sessionCookieName(config);

    await app.register(fastifyCookie);
    await app.register(fastifySession, {
      secret: [...sessionSecrets],
      cookieName,
      cookie: { ...cookieAttributes(config), maxAge: ABSOLUTE_DAYS * DAY_MS },
      store: sessionStore(db),
      saveUninitialized: false,
      rolling: false,
    });
    app.decorateRequest('deviceCookie', null);
    // Behind the session's, which some take for the only one.
    app.addHook('onSend', async ({ deviceCookie }, reply) => {
      if (deviceCookie === null) return;
      const attributes = { ...cookieAttributes(config), maxAge: DEVICE_DAYS * 86_400 };
      reply.setCookie(deviceCookieName(config), deviceCookie, attributes);
    });
    // The plugin clears a cookie whose session is gone, and that answer may overtake a sign-in in another tab and
    // take the new cookie with it. What has been read is forgotten, so that only `signOut` clears.
    app.addHook('onRequest', async (request) => {
      delete request.cookies[cookieName];
    });
  },
  { name: 'sessions', dependencies: ['services'] },
);
