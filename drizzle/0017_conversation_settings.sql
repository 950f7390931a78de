-- The index that the schema declares is built by src/database/indexes.ts, without locking the table.
ALTER TABLE "conversations" ADD COLUMN "is_pinned" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "conversations" ADD COLUMN "instructions" text;--> statement-breakpoint
ALTER TABLE "conversations" ADD COLUMN "temperature" double precision;
