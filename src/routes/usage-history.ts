/** Daily usage of the account. Contract section 1. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import { UsageHistory, UsageHistoryQuery, type UsageMeter, usageMeters } from '../../schemas/usage.ts';
import { keyPrefix } from '../domain/api-key.ts';
import { includes } from '../domain/plans.ts';
import { type KeyLabelRow, listKeyLabels, readUsageHistory, type UsageRow } from '../store/usage-history.ts';

const DAY_MS = 86_400_000;

/** Days in ascending order. */
const daysUpTo = (today: string, days: number): string[] =>
  Array.from({ length: days }, (_, index) =>
    new Date(Date.parse(`${today}T00:00:00Z`) - (days - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );

const rowKey = ({ day, meter }: Pick<UsageRow, 'day' | 'meter'>) => `${day} ${meter}`;

export const toKeyLabel = ({ active, id, name, public_id: publicId }: KeyLabelRow) => ({
  id,
  name,
  key_prefix: keyPrefix(publicId),
  active,
});

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const { plans } = app.config;

  app.get(
    '/usage/history',
    {
      schema: {
        operationId: 'getUsageHistory',
        summary: 'Read daily usage',
        description:
          "Returns the account's usage for each recent UTC day, by meter and key. Every day and meter of the plan has a row, even without usage.",
        tags: ['Usage'],
        querystring: UsageHistoryQuery,
        response: { 200: ref(UsageHistory) },
      },
    },
    async (request) => {
      const { days = 30 } = request.query;
      const { accountId } = request.caller;
      const [{ rows, today }, keys] = await Promise.all([
        readUsageHistory(app.db, accountId, days),
        listKeyLabels(app.db, accountId, days),
      ]);
      const plan = plans.of(request.caller);
      const isShown = (meter: UsageMeter) =>
        meter === 'tokens' ||
        includes(plan, meter) ||
        rows.some((row) => row.meter === meter && row.used > 0);
      const shown = usageMeters.filter(isShown);
      const found = new Map(rows.map((row) => [rowKey(row), row]));
      const data = daysUpTo(today, days).flatMap((day) =>
        shown.map((meter) => {
          const { byKey = [], used = 0 } = found.get(rowKey({ day, meter })) ?? {};
          return {
            day,
            meter,
            used,
            by_key: byKey.map(({ keyId, requests, used }) => ({
              key_id: keyId,
              used,
              ...(requests !== null && { requests }),
            })),
          };
        }),
      );
      return {
        data,
        keys: keys.map(toKeyLabel),
      };
    },
  );
};

export default routes;
