/**
 * Removes expensive values from a parsed body before it goes to another thread, whose event loop rebuilds it. This only
 * affects long lists and objects with many members.
 */

/** Transferring this cost takes about 10 ms. */
const MAX_COST = 100_000;
/** Members cost more than items, because each name must be found or created. */
const MEMBER_COST = 4;
/** Larger lists and objects are kept or removed as a whole. */
const MAX_ENTRIES = 2000;
/** The levels are the body, its messages, one message, its content, and one part of it. */
const MAX_DEPTH = 5;
/** A list or object from which more pieces would be removed is removed as a whole. */
const MAX_PIECES = 16;
const MAX_FIELDS = 2000;

export type Path = (string | number)[];
export type Piece = { path: Path; value: unknown };
export type Lightened = { value: unknown; pieces: Piece[] };

type Container = unknown[] | Record<string, unknown>;
const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

function weigh(value: unknown, costs: Map<object, number>): number {
  if (!isContainer(value)) return 1;
  let cost = 1;
  if (Array.isArray(value)) for (const item of value) cost += weigh(item, costs);
  else for (const name of Object.keys(value)) cost += MEMBER_COST - 1 + weigh(value[name], costs);
  costs.set(value, cost);
  return cost;
}

/** Replaces values with null in place. Subtracts the cost of the kept values from `left`. */
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
    // All or nothing: first restore the pieces that were removed from it.
    for (const piece of inner ?? []) putAt(member, piece.path, piece.value);
    left.cost = before;
    pieces.push({ path: [key], value: member });
    (value as Record<string | number, unknown>)[key] = null;
  }
  return pieces;
}

export function putAt(root: unknown, path: Path, value: unknown): void {
  const last = path.at(-1) as string | number;
  let holder = root as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) holder = holder[key] as Record<string | number, unknown>;
  holder[last] = value;
}

/**
 * Lightens a body in place. Null replaces each piece. Returns undefined if the body itself has too many entries.
 *
 * @param most - the highest cost to transfer
 */
export function lighten(value: unknown, most = MAX_COST): Lightened | undefined {
  const costs = new Map<object, number>();
  if (weigh(value, costs) <= most || !isContainer(value)) return { value, pieces: [] };
  if (Array.isArray(value) || Object.keys(value).length > MAX_FIELDS) return undefined;
  return { value, pieces: takeOut(value, 1, { cost: most }, costs) };
}
