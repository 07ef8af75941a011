-- What a line holds is in its bytes alone.
ALTER TABLE agent_lines DROP COLUMN IF EXISTS entry;
-- Room for the next version of a row on its page: most appends change nothing that is indexed.
ALTER TABLE agent_sessions SET (fillfactor = 50);
