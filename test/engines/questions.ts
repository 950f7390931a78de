/** Questions in users' words rather than those of the guides, each with the section that answers it. */
export type Question = readonly [question: string, section: string];

/** The ranking may be tuned on these. */
export const tuningQuestions: readonly Question[] = [
  ["I can't remember my password", 'accounts#i-forgot-my-password-how-to-reset-it'],
  ['how do I register?', 'accounts#sign-up-for-an-account'],
  ['switch to a new email', 'accounts#change-your-email-address'],
  ['how do I pick a different password', 'accounts#change-your-password'],
  ['where am I logged in right now', 'sessions-and-security#see-where-your-account-is-signed-in'],
  ['how long do I stay logged in', 'authentication#how-long-a-session-lasts'],
  ['why is my password not accepted, too weak?', 'sessions-and-security#which-passwords-are-rejected'],
  [
    'is my data erased after I close the account',
    'sessions-and-security#what-happens-to-the-data-of-a-deleted-account',
  ],
  ["can I see my key again? I didn't copy it", 'keys#i-lost-my-api-key'],
  ['I pushed my key to github by accident', 'rotating-and-leaked-keys#what-to-do-when-an-api-key-has-leaked'],
  ['max number of keys per account', 'keys#how-many-api-keys-can-i-have'],
  ['can a key stop working automatically after a month', 'keys#give-an-api-key-an-expiry-date'],
  ['is anybody still using this old key', 'rotating-and-leaked-keys#when-was-an-api-key-last-used'],
  ['what format do keys have', 'keys#what-an-api-key-looks-like'],
  ['which header do I put the token in', 'authentication#send-the-api-key-as-a-bearer-credential'],
  ['do you store my keys in plain text', 'sessions-and-security#how-api-keys-are-stored'],
  ['use it from my local dev server', 'browser-keys#develop-on-localhost-with-a-browser-key'],
  ['OPTIONS request fails', 'browser-keys#how-parley-responds-to-a-preflight-request'],
  ['how does the bot remember what I said before', 'chat#continue-a-conversation'],
  ['set a system prompt', 'chat#give-instructions-for-the-reply'],
  ['get all my old chats', 'chat#list-conversations'],
  ['erase one chat', 'chat#delete-a-conversation'],
  ['show the words while they are being typed', 'streaming#stream-a-chat-reply'],
  ['how many answers can be streamed in parallel', 'streaming#how-many-streams-can-be-open-at-once'],
  ['what are these lines with just a colon', 'streaming#keep-alive-comments-in-a-stream'],
  ['get three alternative answers at once', 'openai-compatible#ask-for-several-choices-with-n'],
  ['make a picture', 'images#generate-an-image'],
  ['why does my picture not show what I asked for', 'images#what-the-built-in-image-engine-draws'],
  ['I sent it twice, do I pay twice', 'idempotent-retries#retry-a-request-without-being-charged-twice'],
  ['exponential backoff in node', 'idempotent-retries#retry-with-backoff-in-javascript'],
  ['how many messages do I have left', 'quotas#how-much-is-left-today'],
  ['at what time can I chat again', 'quotas#when-does-the-quota-reset'],
  ['requests per minute allowed', 'rate-limits#what-are-the-rate-limits'],
  ['how long should I sleep after a 429', 'rate-limits#wait-for-retry-after'],
  ['statistics for last month', 'usage-history#see-usage-by-day'],
  ['which calls did this key make', 'usage-history#find-out-what-an-api-key-was-used-for'],
  ['how much is the pro tier', 'plans#plans-and-prices-what-does-it-cost'],
  ['discount if I pay for a year', 'plans#monthly-or-yearly-billing-what-does-yearly-save'],
  ['I want to run it behind nginx with https', 'running-parley#make-parley-reachable-from-other-machines'],
  ['kubernetes liveness probe', 'running-parley#check-the-health-of-the-service'],
];

/** A new user's most basic questions. Each must rank its section first. The ranking was tuned on these, too. */
export const firstQuestions: readonly Question[] = [
  ['What does it cost?', 'plans#plans-and-prices-what-does-it-cost'],
  ['Is it free?', 'plans#plans-and-prices-what-does-it-cost'],
  ['What is a scope?', 'keys#what-is-a-scope-choose-the-scopes-of-a-key'],
  ['How do I reset my password?', 'accounts#i-forgot-my-password-how-to-reset-it'],
  ['reset password', 'accounts#i-forgot-my-password-how-to-reset-it'],
  ['How do I upload a file?', 'chat#send-images'],
  ['How long is the chat history kept?', 'chat#how-long-are-conversations-kept'],
];

/** Never used for tuning, to detect a ranking that overfits the other questions. */
export const heldOutQuestions: readonly Question[] = [
  ['close my account for good', 'accounts#delete-your-account'],
  ['someone stole my laptop, kick it out of my account', 'sessions-and-security#sign-out-of-another-device'],
  ['which hashing do you use for passwords', 'sessions-and-security#how-passwords-are-stored-and-checked'],
  ['who tried to get into my account', 'sessions-and-security#see-what-happened-in-the-account'],
  [
    "found somebody else's token on the internet, where do I tell you",
    'rotating-and-leaked-keys#report-a-leaked-key',
  ],
  [
    'swap the secret of a key without an outage',
    'rotating-and-leaked-keys#rotate-keys-regularly-without-downtime',
  ],
  ['limit what a key is allowed to do', 'keys#what-is-a-scope-choose-the-scopes-of-a-key'],
  ['blocked by CORS policy', 'browser-keys#why-the-browser-reports-a-cors-error'],
  ['add my domain to a key', 'keys#change-the-allowed-origins-of-a-key'],
  ['talk without you saving anything', 'chat#chat-without-storing-anything'],
  ['abort a running answer', 'streaming#stop-a-stream'],
  [
    'which of the two chat endpoints is better for me',
    'openai-compatible#should-i-use-chat-chat-completions-or-responses',
  ],
  ['price of one picture', 'images#what-an-image-costs'],
  ['do I get charged when it fails', 'quotas#what-is-charged-and-what-is-refunded'],
  ['if I create a second key do I get more messages', 'quotas#do-several-api-keys-have-separate-quotas'],
  ['locked out after too many wrong passwords', 'rate-limits#limits-on-failed-sign-ins'],
  ['how far back do the logs go', 'usage-history#how-long-is-the-request-log-kept'],
  ['move to the free tier', 'plans#change-your-plan'],
  ['stop strangers from registering', 'running-parley#close-sign-ups'],
  ['real google results instead of your docs', 'connect-a-model#connect-a-web-search'],
];
