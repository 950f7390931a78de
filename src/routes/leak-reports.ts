/** Reports of leaked keys. Contract section 1. */
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { NoContent, ref } from '../../schemas/common.ts';
import { ReportLeakedKeys } from '../../schemas/keys.ts';
import { bodyLimits } from '../bodies/limits.ts';
import { type ParsedApiKey, parseApiKey } from '../domain/api-key.ts';
import type { KeyLookup } from '../keys/lookup.ts';
import { revokeLeakedKeys } from '../store/leaked-keys.ts';

/** The shortest time of every response. A revocation takes longer than a miss, which would reveal it. */
const ANSWER_MS = 200;

const routes: FastifyPluginAsyncTypebox<{ keyLookup: KeyLookup }> = async (app, { keyLookup }) => {
  app.post(
    '/keys/report-leak',
    {
      bodyLimit: bodyLimits.leakReports,
      schema: {
        operationId: 'reportLeakedKeys',
        summary: 'Report leaked keys',
        description:
          'For anyone who finds API keys in public. Valid keys are revoked immediately. A key with allowed origins is public by design and keeps working. In both cases, the owner sees the report. The response is the same for keys that do not exist.',
        tags: ['Keys'],
        body: ref(ReportLeakedKeys),
        response: { 202: NoContent },
      },
      config: { errors: ['rateLimitExceeded'] },
      // Count before reading the body, because invalid reports cost as much to parse.
      onRequest: (request) => app.limits.countLeakReport(request),
    },
    async (request, reply) => {
      const parsed = request.body.keys.map(parseApiKey).filter((key): key is ParsedApiKey => key !== null);
      const [accountIds] = await Promise.all([revokeLeakedKeys(app.db, parsed), delay(ANSWER_MS)]);
      for (const accountId of accountIds) keyLookup.forget(accountId);
      // For any status except 204, Fastify would send null as JSON.
      return reply.code(202).send(undefined as unknown as null);
    },
  );
};

export default routes;
