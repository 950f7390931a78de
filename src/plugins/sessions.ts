/**
 * The dashboard session: a signed cookie that names a row in `sessions`. Only the session scope registers this plugin.
 * Elsewhere, `restoreSession` reads the cookie, so requests with keys never use the session store. Contract section 9.
 */
import { callbackify } from 'node:util';
import { fastifyCookie } from '@fastify/cookie';
import fastifySession from '@fastify/session';
import type { FastifyInstance, FastifyReply, FastifyRequest, Session } from 'fastify';
import fp from 'fastify-plugin';
import type { Config } from '../config.ts';
import type { Db } from '../database/client.ts';
import {
  type Device,
  isKnownDevice,
  type MarkedAccount,
  markDevice,
  parseDevice,
} from '../domain/device-cookie.ts';
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
import { once } from '../validation/lazy-compilers.ts';

declare module 'fastify' {
  /** Empty if no user is signed in. */
  interface Session extends Partial<FoundSession> {}
  interface FastifyRequest {
    deviceCookie: string | null;
  }
}

const DAY_MS = 86_400_000;

const isHttps = (config: Config) => config.publicUrl.startsWith('https:');

/** With the prefix, browsers accept the cookie only over https, from this exact host, and for all paths. */
export const sessionCookieName = (config: Config): string =>
  isHttps(config) ? '__Host-parley_session' : 'parley_session';

/** Browsers cap cookie lifetimes at 400 days. */
const DEVICE_DAYS = 400;

const deviceCookieName = (config: Config): string =>
  isHttps(config) ? '__Host-parley_device' : 'parley_device';

/** For setting and clearing: browsers ignore a clear with different attributes. */
const cookieAttributes = (config: Config) =>
  ({ path: '/', httpOnly: true, sameSite: 'strict', secure: isHttps(config) }) as const;

function sessionStore(db: Db) {
  const get = async (secretId: string): Promise<Session | null> => {
    const found = await findSession(db, secretId);
    return found === undefined ? null : { ...found, cookie: { originalMaxAge: null } };
  };
  return {
    get: callbackify(get),
    // `beginSession` writes the row, which the plugin never changes afterward.
    set: (_secretId: string, _session: Session, done: () => void) => done(),
    destroy: callbackify((secretId: string) => endSession(db, secretId)),
  };
}

/**
 * Starts a session with a new ID, replacing any session of the request, and marks the device as known.
 *
 * @param event - null if another audit event covers the sign-in
 * @throws ApiError `invalidLogin` if the password changed or the account was deleted meanwhile
 */
export async function beginSession(
  request: FastifyRequest,
  account: ProvenAccount & MarkedAccount,
  event: 'signedIn' | null,
): Promise<void> {
  const { db, sessionSecrets } = request.server;
  await request.session.regenerate();
  const { sessionId } = request.session;
  const device = deviceOf(request);
  const isNewDevice = device === undefined || !isKnownDevice(device, account, sessionSecrets);
  const signIn = event && { isNewDevice };
  const isCreated = await createSession(db, account, sessionId, sourceOf(request), signIn);
  if (!isCreated) throw new ApiError('invalidLogin');
  // Makes the plugin send the cookie. Its automatic save skips Secure cookies behind a proxy, because it sees no https.
  await request.session.save();
  request.deviceCookie = markDevice(device, account, sessionSecrets);
}

/** The device that a request claims to be. Not verified against an account. */
export const deviceOf = (request: FastifyRequest): Device | undefined =>
  parseDevice(request.cookies[deviceCookieName(request.server.config)]);

export function ownSession(request: FastifyRequest): SessionKey {
  const { accountId, id } = request.session;
  if (accountId === undefined || id === undefined) throw new Error('No user is signed in.');
  return { accountId, id };
}

export async function signOut(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  await endListedSession(request.server.db, ownSession(request), 'signedOut', sourceOf(request));
  clearSessionCookie(reply);
}

export function clearSessionCookie(reply: FastifyReply): void {
  const { config } = reply.server;
  reply.clearCookie(sessionCookieName(config), cookieAttributes(config));
}

const signerOf = ({ sessionSecrets }: FastifyInstance) => fastifyCookie.signerFactory([...sessionSecrets]);

/** Finds the session of a request outside the session scope. Null without a valid cookie or session. */
export async function restoreSession(request: FastifyRequest): Promise<FoundSession | null> {
  const { config, db } = request.server;
  // `parse` works once the dashboard's scope has registered `@fastify/cookie`, which every application does.
  const signed = fastifyCookie.parse(request.headers.cookie ?? '')[sessionCookieName(config)];
  if (!signed) return null;
  const { valid, value } = signerOf(request.server).unsign(signed);
  const found = valid ? await findSession(db, value) : undefined;
  return found ?? null;
}

export default fp(
  async (app) => {
    const { config, db } = app;
    const cookieName = sessionCookieName(config);
    // Created on demand, because its secrets can come from a database that is still opening.
    const signer = once(() => signerOf(app));

    await app.register(fastifyCookie);
    await app.register(fastifySession, {
      secret: {
        sign: (value: string) => signer().sign(value),
        unsign: (value: string) => signer().unsign(value),
      },
      cookieName,
      cookie: { ...cookieAttributes(config), maxAge: ABSOLUTE_DAYS * DAY_MS },
      store: sessionStore(db),
      saveUninitialized: false,
      rolling: false,
    });
    app.decorateRequest('deviceCookie', null);
    // After the session cookie, because some clients only read the first cookie.
    app.addHook('onSend', ({ deviceCookie }, reply, _payload, done) => {
      if (deviceCookie !== null) {
        const attributes = { ...cookieAttributes(config), maxAge: DEVICE_DAYS * 86_400 };
        reply.setCookie(deviceCookieName(config), deviceCookie, attributes);
      }
      done();
    });
    // The plugin clears the cookie of an ended session, which could delete the new cookie of a sign-in in another tab.
    // Forget the cookie so that only `signOut` clears it.
    app.addHook('onRequest', (request, _reply, done) => {
      delete request.cookies[cookieName];
      done();
    });
  },
  { name: 'sessions', dependencies: ['services'] },
);
