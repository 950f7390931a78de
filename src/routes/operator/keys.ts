/** Keys of all accounts, for operators. Contract sections 3 and 17. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { NoContent, ref } from '../../../schemas/common.ts';
import { OperatorKeyList, OperatorKeyParams, OperatorKeyQuery } from '../../../schemas/operator.ts';
import { keyPrefix } from '../../domain/api-key.ts';
import { ApiError } from '../../errors.ts';
import type { KeyLookup } from '../../keys/lookup.ts';
import { actingOperator } from '../../plugins/operator-guard.ts';
import { type FoundKey, findKeys } from '../../store/operator.ts';
import { findKeyByPublicId, revokeKeyAs } from '../../store/operator-acts.ts';

export const toOperatorKey = (key: FoundKey) => ({
  id: key.id,
  account_id: key.accountId,
  email: key.email,
  name: key.name,
  key_prefix: key.prefix,
  scopes: key.scopes,
  state: key.state,
  created_at: key.created,
  last_used_at: key.lastUsed,
});

const publicIdIn = (prefix: string): string => prefix.replace(keyPrefix(''), '');

const noSuchKey = () => new ApiError('notFound', { message: 'There is no active key with this prefix.' });

const routes: FastifyPluginAsyncTypebox<{ keyLookup: KeyLookup }> = async (app, { keyLookup }) => {
  app.get(
    '/operator/keys',
    {
      schema: {
        operationId: 'findKeys',
        summary: 'Find keys by their prefix',
        description:
          'Lists keys of all accounts whose secret begins with `prefix`, including revoked keys and replaced secrets.',
        tags: ['Operator'],
        querystring: OperatorKeyQuery,
        response: { 200: ref(OperatorKeyList) },
      },
    },
    async (request) => ({
      data: (await findKeys(app.db, publicIdIn(request.query.prefix))).map(toOperatorKey),
    }),
  );

  app.delete(
    '/operator/keys/:prefix',
    {
      schema: {
        operationId: 'revokeKeyOfAccount',
        summary: 'Revoke a key of any account',
        description: 'Permanently revokes the key, on every replica within a second. This cannot be undone.',
        tags: ['Operator'],
        params: OperatorKeyParams,
        response: { 204: NoContent },
      },
      config: { errors: ['notFound'], errorExamples: { ForKeyPrefix: noSuchKey() } },
    },
    async (request, reply) => {
      const key = await findKeyByPublicId(app.db, publicIdIn(request.params.prefix));
      if (key === undefined || !(await revokeKeyAs(app.db, actingOperator(request), key))) throw noSuchKey();
      keyLookup.forget(key.accountId);
      return reply.code(204).send(null);
    },
  );
};

export default routes;
