/** Conversations. A key sees those that it created; the web sees all of the account's. Contract section 1. */
import { and, desc, eq, getTableColumns, isNull, not, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../database/client.ts';
import { conversations, type MessageImage, messages } from '../database/tables.ts';

/** `keyId` is null for the web. */
export type Owner = { accountId: string; keyId: string | null };

export type Conversation = typeof conversations.$inferSelect;
/** A message without the content of its images. */
export type Message = Omit<typeof messages.$inferSelect, 'imageUrls'>;

export type MessagePosition = Pick<Message, 'id' | 'position'>;

/** A question and its reply, stored in the transaction that settles the charge. */
export type Turn = {
  accountId: string;
  keyId: string | null;
  conversationId: string;
  isNew: boolean;
  /** The ID of a message to delete, with all later ones. */
  replacedId?: string;
  title: string;
  question: {
    id: string;
    content: string;
    /** The images as `data:` URLs, and their kinds. */
    images?: { urls: readonly string[]; kinds: MessageImage[] };
  };
  answer: Pick<Message, 'id' | 'content' | 'isStopped' | 'finishReason'> & { model: string };
};

const visibleTo = ({ accountId, keyId }: Owner): SQL | undefined =>
  and(eq(conversations.accountId, accountId), keyId === null ? undefined : eq(conversations.keyId, keyId));

export async function findConversation(db: Db, owner: Owner, id: string): Promise<Conversation | undefined> {
  const [row] = await db
    .select()
    .from(conversations)
    .where(and(visibleTo(owner), eq(conversations.id, id)));
  return row;
}

/** `web`: only conversations of the web chat. */
export type Source = 'web';

/** Pinned conversations come first, then the most recently updated. */
export type ListPosition = { isPinned: boolean; at: Date; id: string };

/** Lists the pinned conversations, or the others. Exported so that tests can inspect its query plan. */
export function conversationsStatement(
  db: Db,
  owner: Owner,
  pinned: boolean,
  limit: number,
  after?: ListPosition,
  source?: Source,
) {
  const { id, isPinned, keyId, updatedAt } = conversations;
  // A row comparison, so that an index scan can start there.
  const position =
    after?.isPinned === pinned
      ? sql`(${updatedAt}, ${id}) < (${after.at.toISOString()}::timestamptz, ${after.id}::uuid)`
      : undefined;
  return db
    .select()
    .from(conversations)
    .where(
      and(
        visibleTo(owner),
        source === 'web' ? isNull(keyId) : undefined,
        pinned ? isPinned : not(isPinned),
        position,
      ),
    )
    .orderBy(desc(updatedAt), desc(id))
    .limit(limit);
}

/** `after` is the end of the previous page. */
export async function listConversations(
  db: Db,
  owner: Owner,
  limit: number,
  after?: ListPosition,
  source?: Source,
): Promise<Conversation[]> {
  const hasPinned = after === undefined || after.isPinned;
  const pinned = hasPinned ? await conversationsStatement(db, owner, true, limit, after, source) : [];
  if (pinned.length === limit) return pinned;
  const others = await conversationsStatement(db, owner, false, limit - pinned.length, after, source);
  return [...pinned, ...others];
}

export type ConversationChanges = Partial<
  Pick<Conversation, 'title' | 'isPinned' | 'instructions' | 'temperature'>
>;

/** Changes a conversation, but not its `updatedAt`. Returns undefined if the owner has no such conversation. */
export async function changeConversation(
  db: Db,
  owner: Owner,
  id: string,
  changes: ConversationChanges,
): Promise<Conversation | undefined> {
  if (Object.keys(changes).length === 0) return findConversation(db, owner, id);
  const [row] = await db
    .update(conversations)
    .set(changes)
    .where(and(visibleTo(owner), eq(conversations.id, id)))
    .returning();
  return row;
}

/** A page ends with the message that reaches this size, because serializing and sending takes memory and time. */
const PAGE_BYTES = 512 * 1024;

/** Newest first. Messages that do not fit on the page have empty content, and `fits` is false. */
export function listMessages(
  db: Db,
  accountId: string,
  conversationId: string,
  limit: number,
  before?: string,
): Promise<(Message & { fits: boolean })[]> {
  const { imageUrls: _, ...columns } = getTableColumns(messages);
  const { content, id, position } = columns;
  const isOf = and(eq(messages.accountId, accountId), eq(messages.conversationId, conversationId));
  const known = db
    .select({ position, id })
    .from(messages)
    .where(and(isOf, eq(id, before ?? '')));
  const isOlder = before === undefined ? undefined : sql`(${position}, ${id}) < (${known})`;
  const fits = sql<boolean>`coalesce(sum(octet_length(${content})) over (
    order by ${position} desc, ${id} desc rows between unbounded preceding and 1 preceding
  ), 0) < ${PAGE_BYTES}::int`;
  return db
    .select({
      ...columns,
      content: sql<string>`case when ${fits} then ${content} else '' end`,
      fits,
    })
    .from(messages)
    .where(and(isOf, isOlder))
    .orderBy(desc(position), desc(id))
    .limit(limit);
}

const isMessage = (accountId: string, conversationId: string, messageId: string): SQL | undefined =>
  and(
    eq(messages.accountId, accountId),
    eq(messages.conversationId, conversationId),
    eq(messages.id, messageId),
  );

/** The position of a user's message in its conversation. */
export async function findQuestion(
  db: Db,
  accountId: string,
  conversationId: string,
  messageId: string,
): Promise<MessagePosition | undefined> {
  const { id, position, role } = messages;
  const [row] = await db
    .select({ id, position })
    .from(messages)
    .where(and(isMessage(accountId, conversationId, messageId), eq(role, 'user')));
  return row;
}

/** The images of a message, with their `data:` URLs. Empty if there is no such message. */
export async function readImages(
  db: Db,
  accountId: string,
  conversationId: string,
  messageId: string,
): Promise<(MessageImage & { url: string })[]> {
  const { imageUrls, images } = messages;
  const [row] = await db
    .select({ images, imageUrls })
    .from(messages)
    .where(isMessage(accountId, conversationId, messageId));
  const urls = JSON.parse(row?.imageUrls ?? '[]') as string[];
  return (row?.images ?? []).map((image, index) => ({ ...image, url: urls[index] ?? '' }));
}

export function deleteConversation(db: Db, owner: Owner, id: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const deleted = await tx
      .delete(conversations)
      .where(and(visibleTo(owner), eq(conversations.id, id)))
      .returning({ id: conversations.id });
    if (deleted.length === 0) return false;
    await tx
      .delete(messages)
      .where(and(eq(messages.accountId, owner.accountId), eq(messages.conversationId, id)));
    return true;
  });
}
