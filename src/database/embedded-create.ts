/**
 * Creates an embedded database in the folder that the argument names. Runs as a process of its own: creating one takes
 * hundreds of MB, and a thread would not give all of them back.
 */
import { PGlite } from '@electric-sql/pglite';

const [dataDir] = process.argv.slice(2);
const database = await PGlite.create({ dataDir: dataDir as string });
await database.close();
