import t from 'tap';
import { aiSdkResponses } from './ai-sdk.ts';
import { langChainResponses } from './langchain.ts';
import { llamaIndexResponses } from './llamaindex.ts';
import { openAIAgents } from './openai-agents.ts';
import { openaiResponses } from './sdks.ts';
import { testFrameworks } from './table.ts';

testFrameworks(
  t,
  'POST /responses',
  [openaiResponses, aiSdkResponses, openAIAgents, langChainResponses, llamaIndexResponses],
  'postgres',
);
