ALTER TABLE "messages" ADD COLUMN "images" jsonb;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "image_urls" text;