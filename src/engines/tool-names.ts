/** Names of tools, which most models know only without namespaces. Contract section 14. */
import { createHash } from 'node:crypto';

/** What upstreams accept as the name of a function. */
const LONGEST_NAME = 64;
const LONGEST_ID = 200;
const DIGEST_LENGTH = 8;

/** The text if it is short and plain enough, or else one that is made from it and just as unique. */
function accepted(text: string, longest: number): string {
  if (text.length <= longest && !/[^\w-]/.test(text)) return text;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH);
  return `${text.slice(0, longest - DIGEST_LENGTH - 1).replace(/[^\w-]/g, '_')}_${digest}`;
}

/** The function name of a tool in a namespace: `namespace__name`, changed to a unique name that upstreams accept if they would not. */
export const flatName = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? name : accepted(`${namespace.replace(/_+$/, '')}__${name}`, LONGEST_NAME);

/** The ID of a tool call as Anthropic accepts it. Some models write others, such as `functions.f:0`. */
export const plainCallId = (id: string): string => accepted(id, LONGEST_ID);
