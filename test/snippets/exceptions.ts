/** What cannot be run as it stands, and why. */
import type { Snippet } from './markdown.ts';

/** Why a snippet is not run; nothing where it is. */
export function exceptionOf({ code, file, language }: Snippet): string | undefined {
  if (language === 'bash' && /^(vllm serve|llama-server) /.test(code))
    return 'not run: starts a program of others, with a model of gigabytes';
  if (language === 'bash' && /parley (export|import) /.test(code))
    return 'not run: test/commands/transfer.long.test.ts does, with databases of its own';
  if (language === 'bash' && code.startsWith('npm install --prefix . @ai-sdk/'))
    return 'not run: test/upstreams/ai-sdk.test.ts has the package';
  if (language === 'json' && /^\{\s*"upstreams":/.test(code))
    return 'not compared with an answer: it is a configuration, and test/upstreams starts services with such files';
  if (language === 'json' && /^\{ "chat": .*"tokens": /.test(code))
    return 'not compared with an answer: it is a part of a plans file, and test/routes/tokens.test.ts starts services with such files';
  if (language === 'json' && /"name": "tokens"/.test(code))
    return 'not compared here: test/openapi/error-examples.test.ts compares such an error, for which a plan must limit tokens';
  if (file === 'docs/guides/coding-agents.md') return 'read by test/agents, which runs the agents with it';
  if (language === 'bash' && /^claude$/m.test(code)) return 'not run: starts a program of others';
  if (language === 'python' && /^(from|import) openai/m.test(code))
    return "compiled, not run: Debian has no package of OpenAI's library for Python";
  return undefined;
}

/** A refusal is meant where the snippet asks for something by a name that says so, or stops what does not run. */
export const isMeant = (status: number, { code }: Snippet): boolean =>
  status < 400 || (status === 404 && /no-such-|\/cancel/.test(code));
