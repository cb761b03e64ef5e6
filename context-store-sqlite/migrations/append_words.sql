-- How a file with full text appends: nothing without its words.
DROP VIEW append_one;
DROP VIEW append_two;
DROP VIEW append;
DROP VIEW append_row;

CREATE VIEW append_row
  (branch, chat, expected, first, head, at, data, small, large, name, first_role, first_text, role, text)
  AS SELECT 0, 0, 0, '', '', 0, x'', 0, 0, '', 0, '', 0, '';
CREATE TRIGGER append_row_run INSTEAD OF INSERT ON append_row WHEN NEW.branch IS NOT NULL BEGIN
  UPDATE branch SET own = NEW.expected + 1 + (NEW.first IS NOT NULL), head = NEW.head, touched = max(touched, NEW.at),
      own_sum = (NEW.expected + 1 + (NEW.first IS NOT NULL)) * 1000003 + max(touched, NEW.at) % 4294967291
    WHERE no = NEW.branch AND own = NEW.expected AND name = NEW.name;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  INSERT INTO run (pos, data) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.data);
  INSERT INTO node (chat, id, pos) SELECT NEW.chat, NEW.first, (NEW.branch << 32) + NEW.expected + 1
    WHERE NEW.first IS NOT NULL;
  INSERT INTO node (chat, id, pos)
    VALUES (NEW.chat, NEW.head, (NEW.branch << 32) + NEW.expected + 1 + (NEW.first IS NOT NULL));
  UPDATE chat SET moved = updated_at / 60000000 = NEW.at / 60000000,
      updated_at = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at, NEW.at),
      time_sum = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at % 4294967291 + 1000003,
        NEW.at % 4294967291)
    WHERE no = NEW.chat AND updated_at < NEW.at AND (moved = 0 OR updated_at / 60000000 < NEW.at / 60000000);
  INSERT INTO merge VALUES ((NEW.branch << 32) + NEW.small, (NEW.branch << 32) + NEW.expected + 1);
  INSERT INTO merge VALUES ((NEW.branch << 32) + NEW.large, (NEW.branch << 32) + NEW.expected + 1);
  INSERT INTO index_words VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.first_role, NEW.first_text);
  INSERT INTO index_words
    VALUES ((NEW.branch << 32) + NEW.expected + 1 + (NEW.first IS NOT NULL), NEW.role, NEW.text);
END;

-- The same for any number: `ids` is a JSON list, `texts` one of pairs of a role and a text, null where there is no text.
CREATE VIEW append (branch, chat, expected, own, head, at, ids, data, small, large, name, texts)
  AS SELECT 0, 0, 0, 0, '', 0, '', x'', 0, 0, '', '';
CREATE TRIGGER append_run INSTEAD OF INSERT ON append BEGIN
  UPDATE branch SET own = NEW.own, head = NEW.head, touched = max(touched, NEW.at),
      own_sum = NEW.own * 1000003 + max(touched, NEW.at) % 4294967291
    WHERE no = NEW.branch AND own = NEW.expected AND name = NEW.name;
  SELECT raise(ABORT, 'the branch is elsewhere') WHERE changes() <> 1;
  INSERT INTO run (pos, data) VALUES ((NEW.branch << 32) + NEW.expected + 1, NEW.data);
  INSERT INTO node (chat, id, pos)
    SELECT NEW.chat, value, (NEW.branch << 32) + NEW.expected + 1 + key FROM json_each(NEW.ids);
  UPDATE chat SET moved = updated_at / 60000000 = NEW.at / 60000000,
      updated_at = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at, NEW.at),
      time_sum = iif(updated_at / 60000000 = NEW.at / 60000000, updated_at % 4294967291 + 1000003,
        NEW.at % 4294967291)
    WHERE no = NEW.chat AND updated_at < NEW.at AND (moved = 0 OR updated_at / 60000000 < NEW.at / 60000000);
  INSERT INTO merge VALUES ((NEW.branch << 32) + NEW.small, (NEW.branch << 32) + NEW.expected + 1);
  INSERT INTO merge VALUES ((NEW.branch << 32) + NEW.large, (NEW.branch << 32) + NEW.expected + 1);
  INSERT INTO index_words SELECT (NEW.branch << 32) + NEW.expected + 1 + key, value ->> 0, value ->> 1
    FROM json_each(NEW.texts) WHERE type = 'array';
END;
