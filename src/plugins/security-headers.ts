/** Security headers for every response. Pages send their own policy for what they load. */
import helmet from '@fastify/helmet';
import fp from 'fastify-plugin';

const YEAR_SECONDS = 31_536_000;
const none = ["'none'"];

/** For responses that are not pages: a browser tricked into showing one runs nothing. */
const directives = { 'default-src': none, 'base-uri': none, 'form-action': none, 'frame-ancestors': none };

/** Features that no page uses, so injected scripts cannot use them either. Pages do write to the clipboard. */
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

/** The same headers for responses without a Fastify reply. */
export const bareSecurityHeaders = {
  'content-security-policy': Object.entries(directives)
    .map(([name, values]) => `${name} ${values.join(' ')}`)
    .join(';'),
  'permissions-policy': permissions,
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

export default fp(
  async (app) => {
    const isHttps = app.config.publicUrl.startsWith('https:');
    await app.register(helmet, {
      contentSecurityPolicy: { useDefaults: false, directives },
      // Subdomains may belong to someone else.
      strictTransportSecurity: isHttps && { maxAge: YEAR_SECONDS, includeSubDomains: false },
      xFrameOptions: { action: 'deny' },
    });
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('permissions-policy', permissions);
    });
  },
  { name: 'security-headers', dependencies: ['services'] },
);
