/** Tool names without namespaces, because most models do not support namespaces. Contract section 14. */
import { createHash } from 'node:crypto';

/** Longest function name that upstreams accept. */
const MAX_NAME_LENGTH = 64;
const MAX_ID_LENGTH = 200;
const DIGEST_LENGTH = 8;

/** Returns the text if upstreams accept it. Otherwise, returns a shortened form that ends in a hash of the text. */
function accepted(text: string, longest: number): string {
  if (text.length <= longest && !/[^\w-]/.test(text)) return text;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH);
  return `${text.slice(0, longest - DIGEST_LENGTH - 1).replace(/[^\w-]/g, '_')}_${digest}`;
}

/** The function name of a tool in a namespace: `namespace__name`, or a hashed form if upstreams reject that. */
export const flatName = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? name : accepted(`${namespace.replace(/_+$/, '')}__${name}`, MAX_NAME_LENGTH);

/** A tool call ID in the form that Anthropic accepts. Some models write other forms, such as `functions.f:0`. */
export const plainCallId = (id: string): string => accepted(id, MAX_ID_LENGTH);
