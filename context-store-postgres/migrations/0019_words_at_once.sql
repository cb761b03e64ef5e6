-- Each commit indexes the words of its messages. Words that waited were moved by one commit while
-- others added more, faster than it moved: its turn took seconds, and others timed out behind it.
-- Those that wait now are moved by the next vacuum.
DO $$ DECLARE part regclass; BEGIN
  -- With partitions, each has an index of its own.
  FOR part IN SELECT oid FROM pg_class WHERE relkind = 'i' AND (oid = 'words_lexemes'::regclass
      OR oid IN (SELECT relid FROM pg_partition_tree('words_lexemes'))) LOOP
    EXECUTE format('ALTER INDEX %s SET (fastupdate = off)', part);
  END LOOP;
END $$;
