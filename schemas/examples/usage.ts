import { PlanList, Subscription, UpdateSubscription } from '../plans.ts';
import { RequestCsv, RequestExport, RequestLog } from '../request-log.ts';
import { Health, Service } from '../service.ts';
import { Usage, UsageHistory, type UsageMeter } from '../usage.ts';
import { at, day, example, ids, type OperationExamples, tomorrow } from './example.ts';

const plans = [
  {
    id: 'free',
    name: 'Free',
    currency: 'USD',
    monthly_price_cents: 0,
    yearly_price_cents: 0,
    limits: { chat: 50, images: 5, search: 50, embeddings: 1000 },
    requests_per_minute: 20,
  },
  {
    id: 'plus',
    name: 'Plus',
    currency: 'USD',
    monthly_price_cents: 1000,
    yearly_price_cents: 9960,
    limits: { chat: 1000, images: 50, search: 500, embeddings: 50_000 },
    requests_per_minute: 60,
  },
];

const subscription = {
  plan: 'plus',
  billing_period: 'yearly',
  price_cents: 9960,
  currency: 'USD',
  limits: { chat: 1000, images: 50, search: 500, embeddings: 50_000 },
  requests_per_minute: 60,
  self_serve: true,
  changed_at: at('12:00:00.000'),
} as const;

const ok = { responses: { ok: example(Health, 'Healthy', { status: 'ok' }) } };

const usedBy = (meter: UsageMeter, used: number) => ({
  day,
  meter,
  used,
  by_key: used === 0 ? [] : [{ key_id: ids.key, used, ...(meter !== 'tokens' && { requests: 1 }) }],
});

const logged = {
  id: ids.reply,
  kind: 'request',
  at: at('13:45:12.345'),
  key_id: ids.key,
  endpoint: 'POST /api/v1/chat',
  meter: 'chat',
  units: 1,
  state: 'final',
  status: 200,
  code: null,
  model: 'parley-builtin',
  input_tokens: 6,
  output_tokens: 11,
  latency_ms: 61,
  first_output_ms: null,
  cached_tokens: null,
  reasoning_tokens: null,
  attempts: null,
  count: 1,
} as const;

export const usageExamples: Record<string, OperationExamples> = {
  getUsage: {
    responses: {
      today: example(Usage, 'One chat message so far', {
        plan: 'free',
        used: { chat: 1, images: 0, search: 0, embeddings: 0, tokens: 17 },
        limits: { chat: 50, images: 5, search: 50, embeddings: 1000 },
        resetsAt: tomorrow,
      }),
    },
  },
  getUsageHistory: {
    responses: {
      day: example(UsageHistory, 'One day', {
        data: [
          usedBy('chat', 1),
          usedBy('images', 0),
          usedBy('search', 0),
          usedBy('embeddings', 0),
          usedBy('tokens', 17),
        ],
        keys: [{ id: ids.key, name: 'Website', key_prefix: 'parley_4Fq0ZkT9', active: true }],
      }),
    },
  },
  listRequests: {
    responses: {
      charged: example(RequestLog, 'One charged chat request', {
        data: [logged],
        next_cursor: null,
      }),
    },
  },
  exportRequests: {
    responses: { charged: example(RequestExport, 'One charged chat request', { data: [logged] }) },
    csv: {
      charged: example(
        RequestCsv,
        'One charged chat request',
        [
          'time_utc,kind,count,endpoint,key,key_id,state,status,code,meter,units,model,input_tokens,output_tokens,latency_ms,first_output_ms,cached_tokens,reasoning_tokens,attempts,id',
          `${logged.at},request,1,POST /api/v1/chat,Website,${ids.key},final,200,,chat,1,parley-builtin,6,11,61,,,,,${ids.reply}`,
          '',
        ].join('\r\n'),
      ),
    },
  },
  listPlans: { responses: { plans: example(PlanList, 'Two plans', { data: plans }) } },
  getSubscription: { responses: { plus: example(Subscription, 'Plus, billed yearly', subscription) } },
  updateSubscription: {
    requests: {
      plus: example(UpdateSubscription, 'Plus, billed yearly', { plan: 'plus', billing_period: 'yearly' }),
    },
    responses: { plus: example(Subscription, 'The updated subscription', subscription) },
  },
  getService: {
    responses: {
      standard: example(Service, 'A service with the built-in engines', {
        version: '0.1.0',
        signups: 'open',
        billing: 'open',
        operator_contact: null,
        engine: {
          chat: 'builtin',
          images: 'builtin',
          search: 'builtin',
          embeddings: 'builtin',
          default_model: 'parley-builtin',
        },
      }),
    },
  },
  getHealth: ok,
  getReadiness: ok,
};
