ALTER TABLE "accounts" ADD COLUMN "suspended_at" timestamp (3) with time zone;
--> statement-breakpoint
-- A suspension ends what the account's keys may do, and so every process must hear of it: see 0008.
DROP TRIGGER accounts_key_change ON accounts;
--> statement-breakpoint
CREATE TRIGGER accounts_key_change AFTER UPDATE ON accounts FOR EACH ROW
WHEN ((OLD.plan, OLD.suspended_at, OLD.deleted_at) IS DISTINCT FROM (NEW.plan, NEW.suspended_at, NEW.deleted_at))
EXECUTE FUNCTION notify_key_change('id');
