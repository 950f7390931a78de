import t from 'tap';
import { aiSdkMessages } from './ai-sdk.ts';
import { langChainMessages } from './langchain.ts';
import { llamaIndexMessages } from './llamaindex.ts';
import { anthropicMessages } from './sdks.ts';
import { testFrameworks } from './table.ts';

testFrameworks(
  t,
  'POST /messages',
  [anthropicMessages, aiSdkMessages, langChainMessages, llamaIndexMessages],
  'embedded',
);
