/** Sign-up, sign-in, and sign-out. Contract sections 1 and 9. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Account, LogIn, SignUp } from '../../schemas/accounts.ts';
import { NoContent, ref } from '../../schemas/common.ts';
import { bodyLimits } from '../bodies/limits.ts';
import { assertAcceptable } from '../domain/password-rules.ts';
import { hashPassword } from '../domain/passwords.ts';
import { ApiError } from '../errors.ts';
import type { KeyLookup } from '../keys/lookup.ts';
import { addressKey, sourceOf } from '../limits/address.ts';
import { checkSignIn } from '../plugins/passwords.ts';
import sessionGuard from '../plugins/session-guard.ts';
import { beginSession, signOut } from '../plugins/sessions.ts';
import { assertSameSite } from '../requests/csrf.ts';
import { createAccount, findByEmail } from '../store/accounts.ts';
import { assertNotReserved, toAccount } from './account.ts';

const operatorNamed = (contact: string | null) =>
  contact === null ? 'the operator' : `the operator: ${contact}`;

/** Only for the correct password, so that only the owner learns about the suspension. */
const accountSuspended = (contact: string | null) =>
  new ApiError('invalidLogin', {
    message: `This account is suspended. To restore access, contact ${operatorNamed(contact)}.`,
  });

/** Public routes that start a session, so pages of other sites must not be able to call them. */
const beginnings: FastifyPluginAsyncTypebox = async (app) => {
  const { config } = app;
  const { operatorContact, plans, signups } = config;

  app.addHook('onRequest', async (request) => assertSameSite(request));

  app.post(
    '/auth/signup',
    {
      schema: {
        operationId: 'signUp',
        summary: 'Sign up',
        description:
          'Creates an account on the first plan and signs it in by setting the session cookie. If an account with this email address was deleted earlier the same day, its usage still counts.',
        tags: ['Authentication'],
        body: ref(SignUp),
        response: { 201: ref(Account) },
      },
      config: {
        errors: ['crossSiteRequest', 'signupsClosed', 'emailTaken', 'overloaded', 'rateLimitExceeded'],
        setsCookie: true,
      },
      onRequest: async () => {
        if (signups === 'open') return;
        throw new ApiError('signupsClosed', {
          message: `Sign-ups are closed on this service. To get an account, contact ${operatorNamed(operatorContact)}.`,
        });
      },
      preHandler: async (request) => {
        const { email, password } = request.body;
        await assertAcceptable(password, email, 'password');
        await app.limits.countSignUp(request);
        assertNotReserved(email, config);
      },
    },
    async (request, reply) => {
      const { email, password } = request.body;
      const account = await app.limits.limitNewAccount(request, async () => {
        const passwordHash = await hashPassword(password, addressKey(request.ip));
        const plan = plans.standard.id;
        return createAccount(app.db, { email, passwordHash, plan }, sourceOf(request));
      });
      await beginSession(request, account, null);
      return reply.code(201).send(toAccount(account, config));
    },
  );

  app.post(
    '/auth/login',
    {
      schema: {
        operationId: 'logIn',
        summary: 'Sign in',
        description:
          'Starts a new session by setting the session cookie. An unknown email address and a wrong password return the same error.',
        tags: ['Authentication'],
        body: ref(LogIn),
        response: { 200: ref(Account) },
      },
      config: {
        errors: ['crossSiteRequest', 'invalidLogin', 'overloaded', 'rateLimitExceeded'],
        setsCookie: true,
      },
    },
    async (request) => {
      const { email, password } = request.body;
      const found = await findByEmail(app.db, email);
      const isRight = await checkSignIn(request, email, found, password);
      if (found === undefined || !isRight) throw new ApiError('invalidLogin');
      if (found.suspendedAt !== null) throw accountSuspended(operatorContact);
      await beginSession(request, found, 'signedIn');
      return toAccount(found, config);
    },
  );
};

const ends: FastifyPluginAsyncTypebox<{ keyLookup: KeyLookup }> = async (app, { keyLookup }) => {
  await app.register(sessionGuard, { keyLookup });

  app.post(
    '/auth/logout',
    {
      schema: {
        operationId: 'logOut',
        summary: 'Sign out',
        description:
          'Ends the session on every replica and clears its cookie. Other sessions of the account continue.',
        tags: ['Authentication'],
        response: { 204: NoContent },
      },
      config: { setsCookie: true },
    },
    async (request, reply) => {
      await signOut(request, reply);
      return reply.code(204).send(null);
    },
  );
};

const routes: FastifyPluginAsyncTypebox<{ keyLookup: KeyLookup }> = async (app, { keyLookup }) => {
  app.addHook('onRoute', (route) => {
    route.bodyLimit = bodyLimits.auth;
  });
  app.register(beginnings);
  app.register(ends, { keyLookup });
};

export default routes;
