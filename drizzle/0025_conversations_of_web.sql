-- The index that the schema declares is built by src/database/indexes.ts, without locking the table.
SELECT 1;
