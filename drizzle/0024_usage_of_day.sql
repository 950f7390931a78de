-- Replaced by usage_counters_of_day, which startup and maintenance build (src/database/indexes.ts).
DROP INDEX IF EXISTS "usage_counters_by_day";
