#!/usr/bin/env python3
"""Writes the summary of a compaction itself: what the user asked for, in the user's words, and the files.

For the point session_before_compact. Python 3, nothing to install.
"""

import json
import sys

LONGEST = 400


def said(message):
    """Returns the text of a message."""
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content if block.get("type") == "text")


def line(text):
    """Returns a text on one line of a list, not too long."""
    text = " ".join(text.split())
    return "- " + (text if len(text) <= LONGEST else text[:LONGEST] + "...")


def part(title, lines):
    return ["", "## " + title, ""] + lines if lines else []


def main():
    told = json.load(sys.stdin)
    old = set(told["messages_to_summarize"] + told["turn_prefix_messages"])
    messages = [
        entry["message"]
        for entry in told["branch_entries"]
        if entry.get("type") == "message" and entry["id"] in old
    ]
    asked = [said(message) for message in messages if message["role"] == "user"]
    answers = [said(message) for message in messages if message["role"] == "assistant"]
    last = [text for text in answers if text.strip()][-1:]
    if not asked and not told["previous_summary"]:
        return  # Nothing to say: the compaction goes its usual way.

    summary = [told["previous_summary"] or "# What happened so far"]
    summary += part("Asked for", [line(text) for text in asked])
    summary += part("Last answer", [line(text) for text in last])
    summary += part("Files read", ["- " + path for path in told["read_files"]])
    summary += part("Files changed", ["- " + path for path in told["modified_files"]])
    compaction = {
        "summary": "\n".join(summary),
        "short_summary": "asked for: %d" % len(asked),
        "first_kept_entry_id": told["first_kept_entry_id"],
        "details": {
            "readFiles": told["read_files"],
            "modifiedFiles": told["modified_files"],
        },
    }
    json.dump({"compaction": compaction}, sys.stdout)


main()
