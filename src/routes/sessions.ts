/** Lists and ends the account's sessions. Contract sections 1 and 9. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { NoContent, ref } from '../../schemas/common.ts';
import { SessionList, SessionParams } from '../../schemas/sessions.ts';
import { ApiError } from '../errors.ts';
import { sourceOf } from '../limits/address.ts';
import { ownSession, signOut } from '../plugins/sessions.ts';
import { endListedSession, listSessions } from '../store/sessions.ts';

const noSuchSession = () => new ApiError('notFound', { message: 'You do not have a session with this ID.' });

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/sessions',
    {
      schema: {
        operationId: 'listSessions',
        summary: 'List sessions',
        description:
          'Lists the sessions of the account, newest first. `current` marks the session of this request.',
        tags: ['Authentication'],
        response: { 200: ref(SessionList) },
      },
    },
    async (request) => {
      const { accountId, id: ownId } = ownSession(request);
      const found = await listSessions(app.db, accountId);
      return {
        data: found.map(({ address, createdAt, id, lastSeenAt, userAgent }) => ({
          id,
          current: id === ownId,
          created_at: createdAt.toISOString(),
          last_seen_at: lastSeenAt.toISOString(),
          address,
          user_agent: userAgent,
        })),
      };
    },
  );

  app.delete(
    '/sessions/:id',
    {
      schema: {
        operationId: 'endSession',
        summary: 'End a session',
        description:
          'Signs out a device on every replica immediately. If you end the session of this request, its cookie is cleared too.',
        tags: ['Authentication'],
        params: SessionParams,
        response: { 204: NoContent },
      },
      config: { errors: ['notFound'], errorExamples: { ForSession: noSuchSession() }, setsCookie: true },
    },
    async (request, reply) => {
      const { accountId, id: ownId } = ownSession(request);
      // The database compares IDs without regard to case.
      const id = request.params.id.toLowerCase();
      if (id === ownId) await signOut(request, reply);
      else if (!(await endListedSession(app.db, { accountId, id }, 'sessionEnded', sourceOf(request))))
        throw noSuchSession();
      return reply.code(204).send(null);
    },
  );
};

export default routes;
