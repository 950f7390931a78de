/** API keys, managed by the signed-in owner. Contract sections 1 to 3. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { NoContent, ref } from '../../schemas/common.ts';
import { MAX_ACTIVE_KEYS, MAX_INACTIVE_KEYS } from '../../schemas/key-limits.ts';
import {
  ApiKey,
  ApiKeyList,
  CreateApiKey,
  CreatedApiKey,
  KeyParams,
  ListKeysQuery,
  RotateApiKey,
  UpdateApiKey,
} from '../../schemas/keys.ts';
import { generateApiKey, keyPrefix } from '../domain/api-key.ts';
import { newId } from '../domain/ids.ts';
import { normalizeOrigins, OriginError } from '../domain/origins.ts';
import { ApiError } from '../errors.ts';
import { sourceOf } from '../limits/address.ts';
import {
  type ApiKeyRow,
  createKey,
  endPreviousSecret,
  type KeyId,
  listActiveKeys,
  listInactiveKeys,
  revokeKey,
  rotateKey,
  setAllowedOrigins,
} from '../store/keys.ts';

const toApiKey = (row: ApiKeyRow) => ({
  id: row.id,
  name: row.name,
  scopes: row.scopes,
  allowed_origins: row.allowedOrigins,
  key_prefix: keyPrefix(row.publicId),
  created_at: row.createdAt.toISOString(),
  last_used_at: row.lastUsedAt?.toISOString() ?? null,
  expires_at: row.expiresAt?.toISOString() ?? null,
  previous_secret_expires_at: row.previousSecretEndsAt?.toISOString() ?? null,
});

const toListedKey = (row: ApiKeyRow) => ({
  ...toApiKey(row),
  revoked_at: row.revokedAt?.toISOString() ?? null,
});

function originsFrom(entries: readonly string[]): string[] {
  try {
    return normalizeOrigins(entries);
  } catch (error) {
    if (!(error instanceof OriginError)) throw error;
    const { message, reason } = error;
    throw new ApiError('invalidRequest', { message, param: 'allowed_origins', reason });
  }
}

/** RFC 3339, the format of all responses, ends with the year 9999. A time with an offset can be later in UTC. */
const LATEST_MS = Date.UTC(10_000, 0, 1) - 1;

/** @throws ApiError `invalidRequest` if the time is in the past or after the year 9999 */
function expiryFrom(expiresAt: string | null | undefined): Date | null {
  if (expiresAt === null || expiresAt === undefined) return null;
  const date = new Date(expiresAt);
  if (date.getTime() > Date.now() && date.getTime() <= LATEST_MS) return date;
  throw new ApiError('invalidRequest', {
    message: '`expires_at` must be in the future, and no later than the year 9999 in UTC.',
    param: 'expires_at',
  });
}

const noPreviousSecret = () =>
  new ApiError('notFound', {
    message: 'You do not have an active key with this ID, or its old secret has already stopped working.',
  });

const noSuchKey = () => new ApiError('notFound', { message: 'You do not have an active key with this ID.' });

/** Trims the name first, because the rules for names apply to the trimmed name. */
async function trimName(request: FastifyRequest): Promise<void> {
  const body = request.body as { name?: unknown } | null | undefined;
  if (typeof body?.name === 'string') body.name = body.name.trim();
}

type KeyRequest = Pick<FastifyRequest, 'caller'> & { params: { id: string } };

const keyOf = ({ caller, params }: KeyRequest): KeyId => ({ accountId: caller.accountId, id: params.id });

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/keys',
    {
      schema: {
        operationId: 'listKeys',
        summary: 'List active keys',
        description: `The account's active keys, at most ${MAX_ACTIVE_KEYS}, without their secrets. Expired and revoked keys are listed only with \`status=inactive\`.`,
        tags: ['Keys'],
        querystring: ListKeysQuery,
        response: { 200: ref(ApiKeyList) },
      },
    },
    async ({ caller: { accountId }, query: { status } }) => {
      const rows =
        status === 'inactive'
          ? await listInactiveKeys(app.db, accountId, MAX_INACTIVE_KEYS)
          : await listActiveKeys(app.db, accountId);
      return { data: rows.map(toListedKey) };
    },
  );

  app.post(
    '/keys',
    {
      schema: {
        operationId: 'createKey',
        summary: 'Create a key',
        description:
          'Creates a key. Only this response contains the raw key: Parley stores its hash and cannot show it again.',
        tags: ['Keys'],
        body: ref(CreateApiKey),
        response: { 201: ref(CreatedApiKey) },
      },
      config: { errors: ['apiKeyLimitReached'] },
      preValidation: trimName,
    },
    async (request, reply) => {
      const { allowed_origins: origins = [], expires_at: expiresAt, name, scopes } = request.body;
      const { digest, publicId, rawKey } = generateApiKey();
      const key = {
        accountId: request.caller.accountId,
        id: newId(),
        name,
        scopes,
        allowedOrigins: originsFrom(origins),
        expiresAt: expiryFrom(expiresAt),
        publicId,
        digest,
      };
      const row = await createKey(app.db, key, sourceOf(request));
      return reply.code(201).send({ ...toApiKey(row), key: rawKey });
    },
  );

  app.patch(
    '/keys/:id',
    {
      schema: {
        operationId: 'updateKey',
        summary: "Change a key's allowed origins",
        description:
          "Replaces the list of origins whose pages can use this key: https only, at most 10. With an empty list, only servers and the service's own pages can use the key.",
        tags: ['Keys'],
        params: KeyParams,
        body: ref(UpdateApiKey),
        response: { 200: ref(ApiKey) },
      },
      config: { errors: ['notFound'], errorExamples: { ForKey: noSuchKey() } },
    },
    async (request) => {
      const origins = originsFrom(request.body.allowed_origins);
      const row = await setAllowedOrigins(app.db, keyOf(request), origins, sourceOf(request));
      if (row === undefined) throw noSuchKey();
      return toListedKey(row);
    },
  );

  app.post(
    '/keys/:id/rotate',
    {
      schema: {
        operationId: 'rotateKey',
        summary: 'Rotate a key',
        description:
          "Replaces the key's secret. Its name, scopes, origins, expiry, and ID stay the same; `key_prefix` changes. The old secret keeps working for `grace_seconds`. Any older secret stops working immediately. Only this response contains the new raw key.",
        tags: ['Keys'],
        params: KeyParams,
        body: ref(RotateApiKey),
        response: { 200: ref(CreatedApiKey) },
      },
      config: { errors: ['notFound'], errorExamples: { ForKey: noSuchKey() } },
    },
    async (request) => {
      const { rawKey, ...secret } = generateApiKey();
      const { grace_seconds: graceSeconds = 0 } = request.body;
      const row = await rotateKey(app.db, keyOf(request), secret, graceSeconds, sourceOf(request));
      if (row === undefined) throw noSuchKey();
      return { ...toApiKey(row), key: rawKey };
    },
  );

  app.delete(
    '/keys/:id/previous-secret',
    {
      schema: {
        operationId: 'endPreviousSecret',
        summary: "Revoke a key's old secret",
        description:
          'Ends the grace period of the last rotation early: the old secret stops working immediately, on every replica. The new secret keeps working. In-flight requests run to completion.',
        tags: ['Keys'],
        params: KeyParams,
        response: { 204: NoContent },
      },
      config: { errors: ['notFound'], errorExamples: { ForSecret: noPreviousSecret() } },
    },
    async (request, reply) => {
      const hadOne = await endPreviousSecret(app.db, keyOf(request), sourceOf(request));
      if (!hadOne) throw noPreviousSecret();
      return reply.code(204).send(null);
    },
  );

  app.delete(
    '/keys/:id',
    {
      schema: {
        operationId: 'revokeKey',
        summary: 'Revoke a key',
        description:
          'Permanently revokes the key, including a replaced secret that still works. Takes effect immediately. In-flight requests run to completion.',
        tags: ['Keys'],
        params: KeyParams,
        response: { 204: NoContent },
      },
      config: { errors: ['notFound'], errorExamples: { ForKey: noSuchKey() } },
    },
    async (request, reply) => {
      const wasActive = await revokeKey(app.db, keyOf(request), sourceOf(request));
      if (!wasActive) throw noSuchKey();
      return reply.code(204).send(null);
    },
  );
};

export default routes;
