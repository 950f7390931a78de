import { ChatCancelRequest, ChatReply, ChatRequest, StoppedChat } from '../chat.ts';
import { ChatStreamDelta, ChatStreamDone, ChatStreamStart } from '../chat-events.ts';
import { CompletionChunk } from '../completion-chunks.ts';
import { Completion, CompletionRequest } from '../completions.ts';
import {
  Conversation,
  ConversationDetails,
  ConversationList,
  MessageImageList,
  UpdateConversation,
} from '../conversations.ts';
import { at, example, ids, type OperationExamples } from './example.ts';

const question = 'How do I create a key?';
const answer = 'Open "Your API" in the dashboard and press Create key.';
const model = 'parley-builtin';
/** A GIF of one pixel. */
const gif = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';

const reply = {
  id: ids.reply,
  conversation_id: ids.conversation,
  model,
  reply: answer,
  finish_reason: 'stop',
  usage: { input_tokens: 6, output_tokens: 11 },
  history: { included: 0, omitted: 0 },
  created_at: at('13:45:12.345'),
} as const;

const conversation = {
  id: ids.conversation,
  title: question,
  pinned: false,
  key_id: ids.key,
  created_at: at('13:45:12.345'),
  updated_at: at('13:45:12.345'),
};

const completion = {
  id: 'chatcmpl-01932f5e7c1a7b3e9d2f3a5b7c9d1e0f',
  created: 1795182312,
  model,
  system_fingerprint: 'fp_37143b6675',
};
const completionUsage = { prompt_tokens: 6, completion_tokens: 11, total_tokens: 17 };

export const chatExamples: Record<string, OperationExamples> = {
  chat: {
    requests: {
      question: example(ChatRequest, 'A question', { message: question }),
      continued: example(ChatRequest, 'Continue a conversation', {
        message: 'And how do I revoke it?',
        conversation_id: ids.conversation,
      }),
      image: example(ChatRequest, 'With an image', { message: 'What does this show?', images: [gif] }),
      streamed: example(ChatRequest, 'Streamed and not stored', {
        message: question,
        instructions: 'Answer in one sentence.',
        stream: true,
        store: false,
      }),
    },
    responses: { reply: example(ChatReply, 'The reply', reply) },
    stream: {
      start: example(ChatStreamStart, 'The first event', {
        event: 'start',
        data: { id: ids.reply, conversation_id: ids.conversation, model },
      }),
      delta: example(ChatStreamDelta, 'A piece of the reply', { event: 'delta', data: { text: 'Open ' } }),
      done: example(ChatStreamDone, 'The last event', { event: 'done', data: reply }),
    },
  },
  cancelChat: { responses: { stopped: example(StoppedChat, 'Stopped', { stopped: true }) } },
  cancelChatByKey: {
    requests: {
      key: example(ChatCancelRequest, 'By idempotency key', {
        idempotency_key: '5e3f3a52-7c0b-4b1c-9a55-0d6a1f8c7f11',
      }),
    },
    responses: { stopped: example(StoppedChat, 'Stopped', { stopped: true }) },
  },
  createChatCompletion: {
    requests: {
      question: example(CompletionRequest, 'A question', {
        model,
        messages: [
          { role: 'system', content: 'Answer in one sentence.' },
          { role: 'user', content: question },
        ],
      }),
      streamed: example(CompletionRequest, 'Streamed, with token usage at the end', {
        model,
        messages: [{ role: 'user', content: question }],
        stream: true,
        stream_options: { include_usage: true },
      }),
    },
    responses: {
      completion: example(Completion, 'The completion', {
        ...completion,
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: answer, refusal: null },
            logprobs: null,
            finish_reason: 'stop',
          },
        ],
        usage: completionUsage,
      }),
    },
    stream: {
      chunk: {
        summary: 'A chunk',
        value: {
          data: example(CompletionChunk, '', {
            ...completion,
            object: 'chat.completion.chunk',
            choices: [{ index: 0, delta: { content: 'Open ' }, logprobs: null, finish_reason: null }],
            usage: null,
          }).value,
        },
      },
      end: { summary: 'The end', value: { data: '[DONE]' } },
    },
  },
  listConversations: {
    responses: {
      one: example(ConversationList, 'One conversation', { data: [conversation], next_cursor: null }),
    },
  },
  updateConversation: {
    requests: {
      rename: example(UpdateConversation, 'Rename and pin', { title: 'Keys', pinned: true }),
    },
    responses: {
      renamed: example(ConversationDetails, 'The changed conversation', {
        ...conversation,
        title: 'Keys',
        pinned: true,
        instructions: null,
        temperature: null,
      }),
    },
  },
  listMessageImages: {
    responses: {
      one: example(MessageImageList, 'One image', { data: [{ type: 'image/gif', size: 42, url: gif }] }),
    },
  },
  getConversation: {
    responses: {
      turn: example(Conversation, 'A conversation with one turn', {
        ...conversation,
        instructions: null,
        temperature: null,
        messages: [
          {
            id: ids.question,
            role: 'user',
            content: question,
            images: [{ type: 'image/gif', size: 42 }],
            model: null,
            created_at: reply.created_at,
          },
          { id: ids.answer, role: 'assistant', content: answer, model, created_at: reply.created_at },
        ],
        next_cursor: null,
      }),
    },
  },
};
