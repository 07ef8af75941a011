-- What searches look for: of each part of a session's texts the beginnings and the insides of its words.
CREATE TABLE IF NOT EXISTS agent_words (
    session text COLLATE "C" NOT NULL REFERENCES agent_sessions ON DELETE CASCADE,
    -- The last line that this part and those before it cover.
    head bigint NOT NULL,
    part bigint NOT NULL,
    words tsvector NOT NULL,
    PRIMARY KEY (session, head, part)
);
CREATE INDEX IF NOT EXISTS agent_words_by_word ON agent_words USING gin (words);
