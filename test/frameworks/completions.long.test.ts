import t from 'tap';
import { openaiChat } from './sdks.ts';
import { testFrameworks } from './table.ts';

testFrameworks(t, 'POST /chat/completions', [openaiChat], 'embedded');
