const EMAIL = /^[^\s@<>"(),:;\\[\]]+@[^\s@<>"(),:;\\[\]]+\.[^\s@<>"(),:;\\[\]]+$/;
const TELEPHONE = /^\+[0-9][0-9 ().-]{5,25}$/;

/** An email address, a phone number with `+`, or a `mailto:`, `https:`, or `tel:` URI; otherwise undefined. */
export function contactUri(contact: string): string | undefined {
  if (EMAIL.test(contact)) return `mailto:${encodeURIComponent(contact).replace('%40', '@')}`;
  if (TELEPHONE.test(contact)) return `tel:+${contact.replace(/\D/g, '')}`;
  const url = /^[\x21-\x7e]+$/.test(contact) && URL.canParse(contact) ? new URL(contact) : undefined;
  if (url?.protocol === 'https:' && url.username === '') return url.href;
  if (url?.protocol === 'mailto:' && url.pathname.includes('@')) return url.href;
  return url?.protocol === 'tel:' && url.pathname !== '' ? url.href : undefined;
}

const DAY_MS = 86_400_000;
/** Less than a year, as the RFC recommends, so that copies are refreshed. */
const VALID_DAYS = 180;

/** The text of `/.well-known/security.txt`, RFC 9116. An origin without https has no canonical address. */
export function securityText(contact: string, publicUrl: string, now = Date.now()): string {
  const expires = new Date((Math.floor(now / DAY_MS) + VALID_DAYS) * DAY_MS);
  return [
    `Contact: ${contact}`,
    `Expires: ${expires.toISOString().replace('.000', '')}`,
    'Preferred-Languages: en',
    ...(publicUrl.startsWith('https:') ? [`Canonical: ${publicUrl}/.well-known/security.txt`] : []),
    '',
  ].join('\n');
}
