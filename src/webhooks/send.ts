/** Makes one attempt to deliver a message. Contract section 17. */
import { Resolver } from 'node:dns/promises';
import { Client } from 'undici';
import { DerivedSignal } from '../engines/derived-signal.ts';
import { version } from '../project.ts';
import { signedHeaders } from './signature.ts';
import {
  faultOfTarget,
  PrivateTargetError,
  publicLookup,
  targetFaults,
  type WebhookTargets,
} from './target.ts';

export type Message = {
  id: string;
  type: string;
  /** The time of the event. */
  at: Date;
  data: unknown;
};

export type Attempt = {
  url: string;
  /** Secrets that sign the message. The current one comes first. */
  secrets: readonly Buffer[];
  /** The time of the attempt, by the database's clock. */
  sentAt: Date;
};

/** `error` is a sentence for the account's owner; null if the endpoint accepted the message. */
export type Outcome = { status: number | null; error: string | null };

const CONNECT_MS = 5000;
/** For the whole attempt: connecting, sending, and the response's headers. */
const ATTEMPT_MS = 15_000;

/** The lookup must end within the connect timeout. */
const resolver = new Resolver({ timeout: 2000, tries: 2 });

const sentences: Readonly<Record<string, string>> = {
  ENOTFOUND: 'The host name does not exist.',
  EAI_AGAIN: 'The host name could not be resolved.',
  ECONNREFUSED: 'The connection was refused.',
  ECONNRESET: 'The connection was reset.',
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The host cannot be reached.',
  UND_ERR_CONNECT_TIMEOUT: `Could not connect within ${CONNECT_MS / 1000} seconds.`,
  UND_ERR_SOCKET: 'The endpoint closed the connection without a response.',
};

function sentenceOf(error: unknown): string {
  if (error instanceof PrivateTargetError) return 'The host name resolves only to private addresses.';
  if (error instanceof Error && error.name === 'TimeoutError')
    return `There was no response within ${ATTEMPT_MS / 1000} seconds.`;
  const code = String((error as { code?: unknown } | null)?.code ?? 'unknown error');
  if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code)) return `The certificate was not accepted (${code}).`;
  return sentences[code] ?? `The request failed (${code}).`;
}

function outcomeOf(status: number): Outcome {
  if (status >= 200 && status < 300) return { status, error: null };
  const isRedirect = status >= 300 && status < 400;
  return {
    status,
    error: isRedirect
      ? `The endpoint returned ${status}. Redirects are not followed.`
      : `The endpoint returned ${status}.`,
  };
}

/** The body of a message. It is the same in every attempt. */
export const bodyOf = ({ at, data, type }: Message): string =>
  JSON.stringify({ type, timestamp: at.toISOString(), data });

/** Never rejects, and never follows a redirect. Each attempt opens its own connection and closes it. */
export async function send(
  message: Message,
  { secrets, sentAt, url }: Attempt,
  targets: WebhookTargets,
  stopped: AbortSignal,
): Promise<Outcome> {
  const target = new URL(url);
  // The rules may have changed, and connections to an IP address use no lookup.
  const fault = faultOfTarget(url, targets);
  if (fault !== undefined) return { status: null, error: `The URL ${targetFaults[fault]}` };
  const client = new Client(target.origin, {
    connect: { timeout: CONNECT_MS, ...(targets === 'public' && { lookup: publicLookup(resolver) }) },
    maxHeaderSize: 16 * 1024,
  });
  const body = bodyOf(message);
  const cut = new DerivedSignal(stopped);
  cut.abortAfter(ATTEMPT_MS, () => new DOMException('The attempt took too long.', 'TimeoutError'));
  try {
    const response = await client.request({
      method: 'POST',
      path: `${target.pathname}${target.search}`,
      headers: {
        'content-type': 'application/json',
        'user-agent': `parley/${version}`,
        ...signedHeaders(secrets, message.id, Math.floor(sentAt.getTime() / 1000), body),
      },
      body,
      signal: cut.signal,
    });
    // Only the status counts. Destroying the client below drops the rest of the body.
    response.body.on('error', () => {});
    return outcomeOf(response.statusCode);
  } catch (error) {
    return { status: null, error: sentenceOf(error) };
  } finally {
    cut.end();
    await client.destroy().catch(() => {});
  }
}
