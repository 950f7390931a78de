/**
 * What browsers are told about every answer: that it is what it says it is, may load nothing, be framed by nobody, use
 * nothing of the device, and, on https, that this host is to be asked by https only. Pages send a policy of their own, with what they load.
 */
import helmet from '@fastify/helmet';
import fp from 'fastify-plugin';

const YEAR_SECONDS = 31_536_000;
const none = ["'none'"];

/** Of answers that are no pages. A browser that is made to show one runs nothing in it. */
const directives = { 'default-src': none, 'base-uri': none, 'form-action': none, 'frame-ancestors': none };

/** What no page uses; with a script of somebody else's in it, it cannot either. Pages copy to the clipboard. */
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

/** The same for what is answered before there is a reply to decorate. */
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
      // Not for subdomains: they may be somebody else's.
      strictTransportSecurity: isHttps && { maxAge: YEAR_SECONDS, includeSubDomains: false },
      xFrameOptions: { action: 'deny' },
    });
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('permissions-policy', permissions);
    });
  },
  { name: 'security-headers', dependencies: ['services'] },
);
