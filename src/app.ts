/** The HTTP service: its plugins and routes, with their scopes and order. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify';
import { LocalSlots, type Slots } from './concurrency/slots.ts';
import type { Config } from './config.ts';
import type { Database } from './database/client.ts';
import { type Documentation, documentation } from './docs/documentation.ts';
import { createEngines } from './engines/index.ts';
import { KeyLookup } from './keys/lookup.ts';
import { Ledger } from './ledger/ledger.ts';
import abortedRequests from './plugins/aborted-requests.ts';
import bodies from './plugins/bodies.ts';
import callerGuard from './plugins/caller-guard.ts';
import callLimits, { createCalls } from './plugins/calls.ts';
import clientErrors from './plugins/client-errors.ts';
import { preflights, varyByOrigin } from './plugins/cors.ts';
import deprecation from './plugins/deprecation.ts';
import draining from './plugins/draining.ts';
import errors from './plugins/errors.ts';
import idempotency from './plugins/idempotency.ts';
import inFlightRequests from './plugins/in-flight-requests.ts';
import { KnownPaths, methodFallbacks, methodRegister } from './plugins/methods.ts';
import measured from './plugins/metrics.ts';
import credentials from './plugins/misplaced-keys.ts';
import openapi from './plugins/openapi.ts';
import operatorGuard from './plugins/operator-guard.ts';
import pageLimit from './plugins/page-limit.ts';
import passwords from './plugins/passwords.ts';
import pipelining from './plugins/pipelining.ts';
import queries from './plugins/queries.ts';
import rateLimit from './plugins/rate-limit.ts';
import redisConnection, { openRedis } from './plugins/redis.ts';
import refusals from './plugins/refusals.ts';
import securityHeaders from './plugins/security-headers.ts';
import services from './plugins/services.ts';
import sessionGuard from './plugins/session-guard.ts';
import sessions from './plugins/sessions.ts';
import singleHeaders from './plugins/single-headers.ts';
import spans from './plugins/spans.ts';
import unnoticedProxy from './plugins/unnoticed-proxy.ts';
import unreadAnswers from './plugins/unread-answers.ts';
import type { Charging } from './requests/charge.ts';
import { Drain } from './requests/drain.ts';
import { EventStreams } from './requests/event-stream.ts';
import { InFlightRequests } from './requests/in-flight.ts';
import { RunningRequests } from './requests/stoppable-requests.ts';
import account from './routes/account.ts';
import auth from './routes/auth.ts';
import chat from './routes/chat.ts';
import chatCancel from './routes/chat-cancel.ts';
import completions from './routes/completions.ts';
import conversations from './routes/conversations.ts';
import dashboard from './routes/dashboard.ts';
import docs from './routes/docs.ts';
import embeddings from './routes/embeddings.ts';
import events from './routes/events.ts';
import health from './routes/health.ts';
import images from './routes/images.ts';
import keys from './routes/keys.ts';
import leakReports from './routes/leak-reports.ts';
import messages from './routes/messages.ts';
import metricsRoute from './routes/metrics.ts';
import models from './routes/models.ts';
import operatorAccounts from './routes/operator/accounts.ts';
import operatorKeys from './routes/operator/keys.ts';
import operatorLog from './routes/operator/log.ts';
import operatorOverview from './routes/operator/overview.ts';
import plans from './routes/plans.ts';
import reference from './routes/reference.ts';
import requestLog from './routes/request-log.ts';
import responses from './routes/responses.ts';
import search from './routes/search.ts';
import securityContact from './routes/security-contact.ts';
import service from './routes/service.ts';
import listedSessions from './routes/sessions.ts';
import subscription from './routes/subscription.ts';
import usage from './routes/usage.ts';
import usageHistory from './routes/usage-history.ts';
import webhook from './routes/webhook.ts';
import { serverOptions } from './server-options.ts';
import { processId } from './store/leases.ts';
import { Metrics } from './telemetry/metrics.ts';
import type { Tracer } from './telemetry/tracer.ts';
import type { Membership } from './workers/membership.ts';
import { SharedSlots } from './workers/shared-limits.ts';

const pages: FastifyPluginAsync<{ documentation: Documentation }> = async (scope, { documentation }) => {
  scope.register(pageLimit);
  scope.register(dashboard);
  scope.register(docs, { documentation });
  scope.register(reference);
  scope.register(securityContact);
};

/** What routes of the API get as arguments. */
type Parts = {
  charging: Charging;
  keyLookup: KeyLookup;
  ledger: Ledger;
  paths: KnownPaths;
  slots: Slots;
};

const publicRoutes: FastifyPluginAsync<Pick<Parts, 'keyLookup'>> = async (scope, { keyLookup }) => {
  scope.register(leakReports, { keyLookup });
  scope.register(async (limited) => {
    limited.register(pageLimit);
    limited.register(service);
    limited.register(plans);
  });
};

/** For sessions of operators. */
const operatorRoutes: FastifyPluginAsync<Pick<Parts, 'keyLookup' | 'ledger'>> = async (
  scope,
  { keyLookup, ledger },
) => {
  scope.register(operatorGuard);
  scope.register(operatorOverview);
  scope.register(operatorAccounts, { keyLookup, ledger });
  scope.register(operatorKeys, { keyLookup });
  scope.register(operatorLog);
};

/** For the session cookie, never a Bearer key. */
const dashboardRoutes: FastifyPluginAsync<Pick<Parts, 'keyLookup' | 'ledger' | 'slots'>> = async (
  scope,
  { keyLookup, ledger, slots },
) => {
  scope.register(sessions);
  scope.register(passwords);
  scope.register(auth, { keyLookup });
  scope.register(async (signedIn) => {
    signedIn.register(sessionGuard, { keyLookup });
    signedIn.register(account);
    signedIn.register(listedSessions);
    signedIn.register(events);
    signedIn.register(keys);
    signedIn.register(subscription);
    signedIn.register(usageHistory);
    signedIn.register(requestLog, { slots });
    signedIn.register(webhook);
    signedIn.register(operatorRoutes, { keyLookup, ledger });
  });
};

/** For a Bearer key with the right scope, or a web session. Requests with a key never use the session store. */
const callerRoutes: FastifyPluginAsync<Omit<Parts, 'slots'>> = async (
  scope,
  { charging, keyLookup, ledger, paths },
) => {
  scope.register(preflights, { paths });
  scope.register(async (guarded) => {
    guarded.register(callerGuard, { keyLookup });
    guarded.register(idempotency, { ledger });
    guarded.register(chat, { charging });
    guarded.register(chatCancel, { running: charging.running });
    guarded.register(completions, { charging });
    guarded.register(responses, { charging });
    guarded.register(messages, { charging });
    guarded.register(conversations);
    guarded.register(images, { charging });
    guarded.register(search, { charging });
    guarded.register(embeddings, { charging });
    guarded.register(models);
    guarded.register(usage, { ledger });
  });
};

const api: FastifyPluginAsync<Parts> = async (scope, { charging, keyLookup, ledger, paths, slots }) => {
  scope.register(publicRoutes, { keyLookup });
  scope.register(dashboardRoutes, { keyLookup, ledger, slots });
  scope.register(callerRoutes, { charging, keyLookup, ledger, paths });
};

export type Resources = {
  config: Config;
  database: Database;
  /** Keys for cookies. The first key signs, all of them verify. Only requests call this. */
  sessionSecrets: () => readonly [string, ...string[]];
  /** If undefined, no spans are recorded. */
  tracer?: Tracer | undefined;
  /** Undefined if this process is not one of several workers. */
  membership?: Membership | undefined;
};

/** The app, and those of its parts that the process and the tests use. */
export type App = Pick<Charging, 'calls' | 'inFlight' | 'ledger' | 'metrics'> & {
  app: FastifyInstance;
  documentation: Documentation;
  drain: Drain;
  keyLookup: KeyLookup;
  paths: KnownPaths;
};

/** Builds the app without listening or querying, so the database may still be opening. */
export async function buildApp(resources: Resources): Promise<App> {
  const { config, database, membership, sessionSecrets, tracer } = resources;
  const app = fastify(serverOptions(config, membership?.number)).withTypeProvider<TypeBoxTypeProvider>();

  const drain = new Drain(config.drainSeconds * 1000, config.readyDelaySeconds * 1000);
  const paths = new KnownPaths();
  const metrics = new Metrics();
  const search = documentation(() => app.swagger());
  const sharedSlots = membership && new SharedSlots(membership.primary);
  const slots = sharedSlots ?? new LocalSlots();
  const engines = createEngines(config, search, metrics, tracer, sharedSlots);
  const ledger = new Ledger(database, config.plans, app.log, metrics, processId(membership?.service));
  const keyLookup = new KeyLookup(database, config.databaseDirectUrl, app.log, metrics);
  const redis = await openRedis(config.redisUrl, app.log);
  const calls = createCalls(config, membership, redis);
  const inFlight = new InFlightRequests();
  const running = new RunningRequests(database, app.log);
  const streams = new EventStreams(config.answerLimits.milliseconds + config.unreadMs);
  const charging = { calls, inFlight, ledger, metrics, running, streams };

  app.register(pipelining);
  app.register(services, { config, database, engines, sessionSecrets });

  app.register(spans, { tracer });
  app.register(abortedRequests);
  app.register(securityHeaders);
  app.register(errors, { paths });
  app.register(deprecation);
  app.register(clientErrors);
  app.register(refusals);
  app.register(openapi);
  app.register(methodRegister, { paths });
  app.register(queries);
  app.register(varyByOrigin);
  app.register(singleHeaders);
  app.register(credentials);
  app.register(bodies, { membership });
  app.register(inFlightRequests, { inFlight });
  app.register(draining, { drain, inFlight });
  app.register(unreadAnswers);
  app.register(unnoticedProxy);
  app.register(redisConnection, { redis });
  app.register(rateLimit, { membership, redis });
  app.register(callLimits, { calls });
  app.register(measured, { calls, database, drain, ledger, metrics, streams });

  app.register(pages, { documentation: search });
  app.register(health, { database, drain, membership });
  app.register(metricsRoute, { membership, metrics });
  app.register(api, { prefix: '/api/v1', charging, keyLookup, ledger, paths, slots });

  app.register(methodFallbacks, { paths });
  return {
    app: app as unknown as FastifyInstance,
    calls,
    documentation: search,
    drain,
    inFlight,
    keyLookup,
    ledger,
    metrics,
    paths,
  };
}
