-- The tables that grow with messages in partitions, in a schema without rows. Run once, after the migrations, with the number of bits
-- that number the partitions for @bits. No statement of the store and no later migration differs for it.
--
-- The numbers of chats and blobs begin with a hash of their user, and those of branches with that of their chat. So do the places of
-- messages, and the partitions are ranges of these numbers: what names a chat, a blob or a place, or a range of places of a branch,
-- names the partition.

CREATE FUNCTION number_by_user() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  NEW.no := NEW.no | ((get_byte(sha256(NEW.user_id), 0) >> (8 - @bits))::bigint << (31 - @bits));
  RETURN NEW;
END $$;
CREATE FUNCTION number_by_chat() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  NEW.no := NEW.no | ((NEW.chat >> (31 - @bits)) << (31 - @bits));
  RETURN NEW;
END $$;
CREATE TRIGGER number_by_user BEFORE INSERT ON chat FOR EACH ROW EXECUTE FUNCTION number_by_user();
CREATE TRIGGER number_by_user BEFORE INSERT ON blob FOR EACH ROW EXECUTE FUNCTION number_by_user();
CREATE TRIGGER number_by_chat BEFORE INSERT ON branch FOR EACH ROW EXECUTE FUNCTION number_by_chat();

-- What is left of a number behind the hash. The sequences refuse to go on when it is used up.
DO $$ DECLARE numbered text; BEGIN
  FOREACH numbered IN ARRAY ARRAY['chat', 'blob', 'branch'] LOOP
    EXECUTE format('ALTER TABLE %I ALTER COLUMN no SET MAXVALUE %s', numbered, (1::bigint << (31 - @bits)) - 1);
  END LOOP;
END $$;

DO $$ DECLARE
  divided record;
  whole text;
  references_of text[];
  reference text;
BEGIN
  FOR divided IN SELECT * FROM (VALUES ('run', 'pos', 63), ('words', 'pos', 63), ('node', 'chat', 31), ('applied', 'chat', 31),
      ('blob_piece', 'blob', 31)) divided (name, key, bits) LOOP
    whole := divided.name || '_whole';
    EXECUTE format('ALTER TABLE %I RENAME TO %I', divided.name, whole);
    EXECUTE format('ALTER INDEX %I RENAME TO %I', divided.name || '_pkey', whole || '_pkey');
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) PARTITION BY RANGE (%I)', divided.name, whole, divided.key);
    -- These are not copied.
    references_of := ARRAY(SELECT pg_get_constraintdef(oid) FROM pg_constraint
      WHERE conrelid = to_regclass(quote_ident(whole)) AND contype = 'f');
    EXECUTE format('DROP TABLE %I', whole);
    FOREACH reference IN ARRAY references_of LOOP
      EXECUTE format('ALTER TABLE %I ADD %s', divided.name, reference);
    END LOOP;
    FOR n IN 0 .. (1 << @bits) - 1 LOOP
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%s) TO (%s)', divided.name || '_' || n, divided.name,
        CASE WHEN n = 0 THEN 'MINVALUE' ELSE (n::bigint << (divided.bits - @bits))::text END,
        CASE WHEN n = (1 << @bits) - 1 THEN 'MAXVALUE' ELSE ((n + 1)::bigint << (divided.bits - @bits))::text END);
    END LOOP;
  END LOOP;
END $$;
ALTER INDEX words_lexemes_idx RENAME TO words_lexemes;
