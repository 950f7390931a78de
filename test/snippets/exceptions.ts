/** Snippets that cannot run unchanged, and the reasons. */
import type { Snippet } from './markdown.ts';

/** The reason why a snippet is not run, or `undefined` if it is. */
export function exceptionOf({ code, file, language }: Snippet): string | undefined {
  if (language === 'bash' && /^(vllm serve|llama-server) /.test(code))
    return 'not run: starts a third-party program with a model of several gigabytes';
  if (language === 'bash' && /parley (export|import) /.test(code))
    return 'not run here: test/commands/transfer.long.test.ts runs it with its own databases';
  if (language === 'bash' && code.startsWith('npm install --prefix . @ai-sdk/'))
    return 'not run: test/upstreams/ai-sdk.test.ts tests the package';
  if (language === 'json' && /^\{\s*"upstreams":/.test(code))
    return 'not compared with a response: it is a configuration file, and test/upstreams starts services with such files';
  if (language === 'json' && /^\{ "chat": .*"tokens": /.test(code))
    return 'not compared with a response: it is part of a plans file, and test/routes/tokens.test.ts starts services with such files';
  if (language === 'json' && /"name": "tokens"/.test(code))
    return 'not compared here: the error requires a plan that limits tokens, and test/openapi/error-examples.test.ts compares it';
  if (file === 'docs/guides/coding-agents.md') return 'not run here: test/agents runs the agents with it';
  if (language === 'bash' && /^claude$/m.test(code)) return 'not run: starts a third-party program';
  if (language === 'python' && /^(from|import) openai/m.test(code))
    return "compiled, not run: Debian has no package for OpenAI's Python library";
  return undefined;
}

/** A 404 is expected if the snippet looks up a `no-such-` name, or cancels a request that is not in flight. */
export const isMeant = (status: number, { code }: Snippet): boolean =>
  status < 400 || (status === 404 && /no-such-|\/cancel/.test(code));
