DROP INDEX "api_keys_origins";--> statement-breakpoint
CREATE INDEX "api_keys_origins" ON "api_keys" USING gin ("allowed_origins") WITH (fastupdate=false) WHERE revoked_at is null;