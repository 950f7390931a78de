-- Rows that are removed, by whomever, end what they allowed: see 0008.
CREATE TRIGGER accounts_key_removal AFTER DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION notify_key_change('id');
--> statement-breakpoint
CREATE TRIGGER api_keys_key_removal AFTER DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION notify_key_change('account_id');
