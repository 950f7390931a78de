-- Whatever changes what a verified key may do tells every process, in the transaction that makes the change: the cache of
-- keys is forgotten by account. Contract section 3, argued in docs/decisions/0011-the-key-cache.md.
--
-- What happens all the time (a key's last use) is not among it: transactions that notify commit one after the other.

-- The argument names the column that holds the account's id.
CREATE FUNCTION notify_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('parley_keys', to_jsonb(OLD) ->> TG_ARGV[0]);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER accounts_key_change AFTER UPDATE ON accounts FOR EACH ROW
WHEN ((OLD.plan, OLD.deleted_at) IS DISTINCT FROM (NEW.plan, NEW.deleted_at))
EXECUTE FUNCTION notify_key_change('id');
--> statement-breakpoint
CREATE TRIGGER api_keys_key_change AFTER UPDATE ON api_keys FOR EACH ROW
WHEN ((OLD.scopes, OLD.allowed_origins, OLD.expires_at, OLD.revoked_at)
      IS DISTINCT FROM (NEW.scopes, NEW.allowed_origins, NEW.expires_at, NEW.revoked_at))
EXECUTE FUNCTION notify_key_change('account_id');
--> statement-breakpoint
CREATE TRIGGER key_secrets_key_change AFTER UPDATE OR DELETE ON key_secrets FOR EACH ROW
EXECUTE FUNCTION notify_key_change('account_id');
