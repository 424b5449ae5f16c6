"""What a sealed room shows in place of the workspace: the copy of a tree, a repository, a home folder."""
