//! The tools of the agent: reading, writing and editing files of the workspace, and running commands.
