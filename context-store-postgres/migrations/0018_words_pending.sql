-- The words of new messages wait in the index until there are this many kilobytes of them, and a commit then moves them all. A search
-- reads all that wait. With the server's limit, 4 MB, a commit could take seconds.
DO $$ DECLARE part regclass; BEGIN
  -- With partitions, each has an index of its own.
  FOR part IN SELECT oid FROM pg_class WHERE relkind = 'i' AND (oid = 'words_lexemes'::regclass
      OR oid IN (SELECT relid FROM pg_partition_tree('words_lexemes'))) LOOP
    EXECUTE format('ALTER INDEX %s SET (gin_pending_list_limit = 256)', part);
  END LOOP;
END $$;
