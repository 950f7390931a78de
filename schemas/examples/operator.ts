import {
  ChangeAccount,
  CreateAccount,
  CreatedAccount,
  NewPassword,
  OperatorAccount,
  OperatorAccountDetails,
  OperatorAccountList,
  OperatorKeyList,
  OperatorOverview,
  OperatorRequestLog,
} from '../operator.ts';
import { OperatorLog } from '../operator-log.ts';
import { at, day, example, ids, type OperationExamples, tomorrow } from './example.ts';

const email = 'ada@example.com';
const account = {
  id: ids.account,
  email,
  plan: 'free',
  billing_period: 'monthly',
  created_at: at('09:30:00.000'),
  suspended_at: null,
} as const;
const password = '4kqzm-7wnp2-h9xde-3rtyb';

const entry = {
  id: ids.session,
  at: at('14:02:11.000'),
  operator_id: ids.key,
  operator_email: 'ops@example.com',
  action: 'accountSuspended',
  account_id: ids.account,
  account_email: email,
  detail: null,
  address: '192.0.2.7',
  user_agent: 'Mozilla/5.0',
} as const;

export const operatorExamples: Record<string, OperationExamples> = {
  getOperatorOverview: {
    responses: {
      overview: example(OperatorOverview, 'One upstream is cooling down', {
        at: at('14:00:00.000'),
        day,
        replicas: 3,
        open_charges: 5,
        excess_tokens: 0,
        accounts: { total: 1200, suspended: 1 },
        meters: [{ meter: 'chat', used: 51_200, accounts: 310 }],
        busiest_accounts: [{ id: ids.account, email, used: 990 }],
        refusals: [{ code: 'quotaExceeded', status: 429, count: 15, accounts: 1 }],
        refused_accounts: [
          { id: ids.account, email, code: 'quotaExceeded', count: 15, last_at: at('13:59:00.000') },
        ],
        slow_requests: [
          {
            id: ids.reply,
            account_id: ids.account,
            email,
            at: at('13:42:10.120'),
            endpoint: 'POST /api/v1/chat',
            model: 'large',
            upstream: 'gpu-1',
            status: 200,
            latency_ms: 12_400,
            first_output_ms: null,
          },
        ],
        upstreams: [
          {
            name: 'gpu-1',
            kind: 'openai',
            open: 0,
            concurrency: 100,
            attempts: 1200,
            failures: 14,
            targets: [{ model: 'large', state: 'coolingDown', ready_in_ms: 4200 }],
          },
        ],
        costs: [{ upstream: 'gpu-1', cost_micros: 4_120_000 }],
        currency: 'USD',
        jobs: [
          { name: 'delete old idempotency keys', ended_at: at('13:31:00.000'), took_ms: 4, error: null },
        ],
      }),
    },
  },
  listAccounts: {
    responses: {
      accounts: example(OperatorAccountList, 'The only account', { data: [account], next_cursor: null }),
    },
  },
  createAccount: {
    requests: { account: example(CreateAccount, 'On the first plan', { email: 'grace@example.com' }) },
    responses: { account: example(CreatedAccount, 'With its password', { ...account, password }) },
  },
  getAccountOfOwner: {
    responses: {
      account: example(OperatorAccountDetails, 'At its limit for images', {
        ...account,
        active_keys: 2,
        open_sessions: 1,
        usage: {
          plan: 'free',
          used: { chat: 12, images: 5, search: 0, embeddings: 0, tokens: 4120 },
          limits: { chat: 50, images: 5, search: 20, embeddings: 1000 },
          resetsAt: tomorrow,
        },
        excess_tokens: 0,
        costs: [{ day, upstream: 'gpu-1', cost_micros: 412_000 }],
        currency: 'USD',
        keys: [{ id: ids.key, name: 'Website', key_prefix: 'parley_4Fq0ZkT9', active: true }],
      }),
    },
  },
  changeAccount: {
    requests: {
      plan: example(ChangeAccount, 'Another plan', { plan: 'plus', billing_period: 'yearly' }),
      suspended: example(ChangeAccount, 'Suspend it', { suspended: true }),
    },
    responses: {
      account: example(OperatorAccount, 'Suspended', { ...account, suspended_at: at('14:02:11.000') }),
    },
  },
  resetPassword: {
    responses: { password: example(NewPassword, 'The new password', { password }) },
  },
  listRequestsOfAccount: {
    responses: {
      log: example(OperatorRequestLog, 'Refused requests', {
        data: [
          {
            id: ids.answer,
            kind: 'refusals',
            at: at('13:59:00.000'),
            key_id: ids.key,
            endpoint: null,
            meter: null,
            units: 0,
            state: 'refused',
            status: 429,
            code: 'quotaExceeded',
            model: null,
            input_tokens: null,
            output_tokens: null,
            latency_ms: null,
            first_output_ms: null,
            cached_tokens: null,
            reasoning_tokens: null,
            attempts: null,
            upstream: null,
            upstream_model: null,
            cost_micros: null,
            count: 15,
          },
        ],
        next_cursor: null,
      }),
    },
  },
  findKeys: {
    responses: {
      keys: example(OperatorKeyList, 'One key', {
        data: [
          {
            id: ids.key,
            account_id: ids.account,
            email,
            name: 'Website',
            key_prefix: 'parley_4Fq0ZkT9',
            scopes: ['chat'],
            state: 'active',
            created_at: at('09:31:00.000'),
            last_used_at: null,
          },
        ],
      }),
    },
  },
  listOperatorLog: {
    responses: { log: example(OperatorLog, 'A suspension', { data: [entry], next_cursor: null }) },
  },
  exportOperatorLog: {
    jsonl: { log: { summary: 'A suspension', value: `${JSON.stringify(entry)}\n` } },
  },
};
