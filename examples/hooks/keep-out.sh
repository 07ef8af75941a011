#!/bin/sh
# Keeps a session from being compacted while a file .no-compaction is in the folder that is worked in.
# For the point session_before_compact. It does not need what stands on standard input.

if [ -e .no-compaction ]; then
    echo ".no-compaction is here; remove it to compact" >&2
    exit 2
fi
