-- The whole text of outputs that were cut. Their names are unique.
CREATE TABLE IF NOT EXISTS agent_outputs (
    name text COLLATE "C" PRIMARY KEY,
    session text COLLATE "C" NOT NULL REFERENCES agent_sessions ON DELETE CASCADE,
    bytes bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS agent_outputs_by_session ON agent_outputs (session);
