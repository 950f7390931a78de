/**
 * Security headers for every response, computed once. They equal those of helmet, whose middleware sets them one by
 * one, plus a Permissions-Policy. Pages send their own content security policy.
 */
import fp from 'fastify-plugin';

const YEAR_SECONDS = 31_536_000;

/** Features that no page uses, so that injected scripts cannot use them either. Pages do write to the clipboard. */
const unused = [
  'accelerometer',
  'autoplay',
  'browsing-topics',
  'camera',
  'clipboard-read',
  'display-capture',
  'encrypted-media',
  'fullscreen',
  'gamepad',
  'geolocation',
  'gyroscope',
  'hid',
  'identity-credentials-get',
  'idle-detection',
  'local-fonts',
  'magnetometer',
  'microphone',
  'midi',
  'otp-credentials',
  'payment',
  'picture-in-picture',
  'publickey-credentials-create',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'storage-access',
  'usb',
  'window-management',
  'xr-spatial-tracking',
];
const permissions = [...unused.map((feature) => `${feature}=()`), 'clipboard-write=(self)'].join(', ');

/** Cacheable pages and assets override `cache-control`. */
export const securityHeaders = {
  'cache-control': 'no-store',
  // For responses that are not pages. A browser that is tricked into showing one runs nothing.
  'content-security-policy': "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'permissions-policy': permissions,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'DENY',
  'x-permitted-cross-domain-policies': 'none',
  'x-xss-protection': '0',
};

/** Omits `includeSubDomains`, because subdomains may belong to someone else. */
const transportSecurity = { 'strict-transport-security': `max-age=${YEAR_SECONDS}` };

export default fp(
  async (app) => {
    const isHttps = app.config.publicUrl.startsWith('https:');
    const headers = { ...securityHeaders, ...(isHttps && transportSecurity) };
    app.addHook('onRequest', (_request, reply, done) => {
      reply.headers(headers);
      done();
    });
  },
  { name: 'security-headers', dependencies: ['services'] },
);
