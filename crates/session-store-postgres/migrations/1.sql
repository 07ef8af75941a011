CREATE TABLE IF NOT EXISTS agent_sessions (
    id text COLLATE "C" PRIMARY KEY,
    cwd text COLLATE "C" NOT NULL,
    -- When it began, as its header says; in milliseconds.
    started bigint,
    modified timestamptz NOT NULL DEFAULT now(),
    name text,
    first_prompt text,
    bytes bigint NOT NULL,
    -- The number of its last line.
    head bigint NOT NULL,
    lease_owner text,
    -- Grows with every lease: a writer whose epoch is older is refused.
    lease_epoch bigint NOT NULL DEFAULT 0,
    lease_until timestamptz
);
CREATE INDEX IF NOT EXISTS agent_sessions_by_time ON agent_sessions (modified DESC, id DESC);
CREATE INDEX IF NOT EXISTS agent_sessions_by_folder ON agent_sessions (cwd, modified DESC, id DESC);

CREATE TABLE IF NOT EXISTS agent_lines (
    session text COLLATE "C" NOT NULL REFERENCES agent_sessions ON DELETE CASCADE,
    seq bigint NOT NULL,
    -- The id of the entry, where the line is one.
    entry text COLLATE "C",
    -- Its bytes, with the line feed. Joined, the lines are the session's file.
    line bytea NOT NULL,
    PRIMARY KEY (session, seq),
    UNIQUE (session, entry)
);

-- Messages that wait to be sent.
CREATE TABLE IF NOT EXISTS agent_waiting (
    session text COLLATE "C" NOT NULL REFERENCES agent_sessions ON DELETE CASCADE,
    entry text COLLATE "C" NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    body text NOT NULL,
    PRIMARY KEY (session, entry)
);
