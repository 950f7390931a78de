/**
 * Takes out of a parsed body what is too large to be handed to another thread: the receiver would build it on its event
 * loop. What clients really send fits; what does not is lists of many values, and objects of many members.
 */

/** Costs up to this take about ten milliseconds to hand over. */
const MAX_COST = 100_000;
/** Members cost more than items: each name has to be found or made. */
const MEMBER_COST = 4;
/** Lists and objects with more entries than this are not looked into, only kept or taken out. */
const MAX_ENTRIES = 2000;
/** A body, its messages, one of them, its content, one part of that. */
const MAX_DEPTH = 5;
/** Most pieces that are taken out of one list or object; beyond it the whole is. */
const MAX_PIECES = 16;
/** Most fields of the body itself. */
const MAX_FIELDS = 2000;

export type Path = (string | number)[];
/** A value that was taken out, and where. */
export type Piece = { path: Path; value: unknown };
export type Lightened = { value: unknown; pieces: Piece[] };

type Container = unknown[] | Record<string, unknown>;
const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

/** Costs of every list and object, by itself. */
function weigh(value: unknown, costs: Map<object, number>): number {
  if (!isContainer(value)) return 1;
  let cost = 1;
  if (Array.isArray(value)) for (const item of value) cost += weigh(item, costs);
  else for (const name of Object.keys(value)) cost += MEMBER_COST - 1 + weigh(value[name], costs);
  costs.set(value, cost);
  return cost;
}

/** Puts null where it takes something out. Changes the value in place, and `left` by what it keeps. */
function takeOut(
  value: Container,
  depth: number,
  left: { cost: number },
  costs: Map<object, number>,
): Piece[] {
  const pieces: Piece[] = [];
  const entries = Object.entries(value)
    .flatMap(([name, member]) =>
      isContainer(member) ? [{ name, member, cost: costs.get(member) ?? 0 }] : [],
    )
    .sort((one, other) => one.cost - other.cost);
  const isList = Array.isArray(value);
  left.cost -= (isList ? 1 : MEMBER_COST) * (Object.keys(value).length + 1);
  for (const { cost, member, name } of entries) {
    const key = isList ? Number(name) : name;
    if (cost <= left.cost) {
      left.cost -= cost;
      continue;
    }
    const before = left.cost;
    const canLook = depth < MAX_DEPTH && left.cost > 0 && Object.keys(member).length <= MAX_ENTRIES;
    const inner = canLook ? takeOut(member, depth + 1, left, costs) : undefined;
    if (inner !== undefined && inner.length <= MAX_PIECES && left.cost >= 0) {
      for (const piece of inner) pieces.push({ path: [key, ...piece.path], value: piece.value });
      continue;
    }
    // Everything or nothing: what was taken out of it goes back first.
    for (const piece of inner ?? []) putAt(member, piece.path, piece.value);
    left.cost = before;
    pieces.push({ path: [key], value: member });
    (value as Record<string | number, unknown>)[key] = null;
  }
  return pieces;
}

/** Puts a value where another one was taken out. */
export function putAt(root: unknown, path: Path, value: unknown): void {
  const last = path.at(-1) as string | number;
  let holder = root as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) holder = holder[key] as Record<string | number, unknown>;
  holder[last] = value;
}

/**
 * Lightens a body.
 *
 * @param value - a parsed body; pieces are taken out of it, and null stays in their place
 * @returns undefined where the body itself has too many entries to be handed over
 */
export function lighten(value: unknown): Lightened | undefined {
  const costs = new Map<object, number>();
  if (weigh(value, costs) <= MAX_COST || !isContainer(value)) return { value, pieces: [] };
  if (Array.isArray(value) || Object.keys(value).length > MAX_FIELDS) return undefined;
  return { value, pieces: takeOut(value, 1, { cost: MAX_COST }, costs) };
}
