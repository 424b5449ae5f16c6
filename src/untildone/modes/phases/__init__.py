"""phases: analyse, plan, do the subtasks, review, along one of five routes."""
