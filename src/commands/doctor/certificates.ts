/** Checks the TLS certificates of upstreams. */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { counted } from '../counted.ts';
import { type Finding, isError, isWarning } from './finding.ts';

const TIMEOUT_MS = 5000;
const DAY_MS = 86_400_000;
const SOON_DAYS = 21;

const renew = 'Renew the certificate of that server. If renewal is automatic, check why it failed.';

/** Returns nothing if the server is unreachable, because another check reports that. */
export async function checkCertificate(about: string, url: URL, now = Date.now()): Promise<Finding[]> {
  if (url.protocol !== 'https:') return [];
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const socket = connect({
    host,
    port: Number(url.port || 443),
    servername: /^[\d.]+$|:/.test(host) ? '' : host,
    rejectUnauthorized: false,
    timeout: TIMEOUT_MS,
  });
  socket.on('timeout', () => socket.destroy(new Error('timeout')));
  try {
    await once(socket, 'secureConnect');
    const end = Date.parse(socket.getPeerCertificate().valid_to);
    const days = Math.floor((end - now) / DAY_MS);
    if (end < now)
      return [isError(about, `The certificate of ${url.host} expired ${counted(-days, 'day')} ago.`, renew)];
    const findings: Finding[] = [];
    if (!socket.authorized)
      findings.push(
        isError(
          about,
          `The certificate of ${url.host} is not trusted (${socket.authorizationError}).`,
          'If your own certificate authority issued it, set NODE_EXTRA_CA_CERTS to the certificate file of that authority. Otherwise, correct the certificate or the host name.',
        ),
      );
    if (days <= SOON_DAYS)
      findings.push(
        isWarning(about, `The certificate of ${url.host} expires in ${counted(days, 'day')}.`, renew),
      );
    return findings;
  } catch {
    return [];
  } finally {
    socket.destroy();
  }
}
