"""Every requirement of the five designs, and the tests that hold it. What differs on purpose has its reason in the docstring of its test.

A name without a path is a test of the seed's own file in this folder.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = "tests/seeds"
INSTRUCT, API, CONTROL = "tests/e2e/test_instruct.py", "tests/e2e/test_api.py", "tests/e2e/test_control.py"
FORMS, LOGIN, TEXTS = "tests/e2e/test_pages_forms.py", "tests/e2e/test_login.py", "tests/faces/web/test_translations.py"
WRAP, SUPERVISED, LEFT = (f"tests/hosts/test_wrap{part}.py" for part in ("", "_supervised", "_left"))

SEEDS = {
    "test_000_round_control.py": {
        "[r+n] at the start adds and is removed": ("test_requirement_adding_at_the_start_adds_and_is_removed",),
        "[r=n] sets what is left": (
            "test_requirement_setting_at_the_start_replaces_what_is_left_and_is_removed",
            f"{INSTRUCT}::test_rounds_are_set_and_added_at_the_prompt",
        ),
        "combinations count in order": ("test_requirement_several_controls_count_in_the_order_written",),
        "leading blanks are allowed": ("test_requirement_blanks_around_controls_are_fine",),
        "elsewhere it is plain text": (
            "test_requirement_a_control_elsewhere_is_plain_text",
            f"{INSTRUCT}::test_a_control_elsewhere_is_text_and_a_hint_says_so",
        ),
        "example 1: the control at the end": ("test_on_purpose_the_control_at_the_end_in_example_1_is_text",),
        "example 1 with the control first": (
            "test_requirement_example_1_with_the_control_first",
            f"{INSTRUCT}::test_rounds_are_added_at_the_start_of_the_task",
        ),
        "example 2: the output": ("test_on_purpose_example_2_has_its_sentence_without_the_decoration",),
        "example 3: only a control": ("test_requirement_example_3_only_a_control_adds_and_waits_for_an_instruction",),
        "example 4: none left": (
            "test_requirement_example_4_none_left_stops_and_says_how_to_go_on",
            f"{INSTRUCT}::test_used_up_rounds_are_asked_for",
        ),
        "example 4: going on": ("test_requirement_example_4_a_message_with_more_rounds_goes_on",),
        "the header": ("test_requirement_the_header_names_round_and_rounds_left",),
        "no limit: no suffix": ("test_requirement_without_a_limit_the_header_has_no_suffix",),
        "no limit: unaffected": ("test_requirement_without_a_limit_adding_changes_nothing",),
        "case does not matter": ("test_requirement_case_does_not_matter",),
        "no fractions": ("test_requirement_no_fractions",),
        "no negatives": ("test_requirement_no_negative_numbers",),
        "cannot reduce": (
            "test_requirement_rounds_cannot_be_taken_away_and_a_hint_says_what_a_control_is",
            "test_requirement_ordinary_brackets_get_no_hint",
        ),
        "taken before each turn of the worker": ("test_requirement_a_round_is_taken_before_each_turn_of_the_worker",),
        "-r N at the start": ("test_requirement_the_rounds_are_set_at_the_start_by_a_flag",),
        "from another place": (
            "test_requirement_controls_count_from_wherever_a_person_speaks",
            f"{INSTRUCT}::test_the_prompt_hears_another_terminal",
            f"{API}::test_messages_and_budget",
        ),
        "interrupt and go on": (
            "test_requirement_a_turn_can_be_interrupted_and_the_loop_goes_on",
            f"{INSTRUCT}::test_a_key_interrupts_the_turn_and_gives_the_word",
            f"{INSTRUCT}::test_a_second_ctrl_c_leaves_with_everything_saved",
        ),
    },
    "test_001_orchestrator.py": {
        "state file with the eight fields": ("test_requirement_the_state_file_has_the_eight_fields",),
        "title of 100 characters": ("test_requirement_the_title_is_the_first_hundred_characters",),
        "10 iterations by default": ("test_requirement_ten_iterations_unless_set",),
        "id and times": ("test_on_purpose_ids_and_times_are_in_utc",),
        "progress folder": ("test_requirement_each_loop_has_a_progress_folder",),
        "unknown loop": ("test_requirement_an_unknown_loop_is_an_error",),
        "neither id nor task": ("test_requirement_neither_a_loop_nor_a_task_is_an_error",),
        "the loop writes only its own part": ("test_requirement_control_and_work_never_overwrite_each_other",),
        "signal paused": ("test_requirement_signal_paused_rests_and_resume_goes_on",),
        "signal failed": ("test_requirement_signal_stopped_ends_it_and_every_further_control_is_refused",),
        "signal completed": ("test_requirement_signal_completed_refuses_to_resume",),
        "signal created": ("test_on_purpose_resume_starts_a_loop_that_was_only_created",),
        "signal of an unknown status": ("test_on_purpose_a_status_written_into_the_file_by_hand_does_not_count",),
        "rule: init": ("test_requirement_rule_not_initialised_is_init",),
        "rule: pending, develop": ("test_requirement_rule_a_pending_task_is_develop",),
        "rule: failures, debug": ("test_requirement_rule_a_failed_task_after_develop_is_debug",),
        "rule: debug or confirmed, validate": ("test_requirement_rule_debug_or_a_confirmed_hypothesis_is_validate",),
        "rule: clean develop, validate": ("test_requirement_rule_a_clean_develop_is_validate",),
        "rule: validation failed, develop": (
            "test_requirement_rule_a_failed_validation_is_develop_with_what_failed_as_tasks",
        ),
        "rule: passed, complete": ("test_requirement_rule_a_passed_validation_is_complete",),
        "rule: develop by default": ("test_requirement_rule_otherwise_develop",),
        "iteration limit": ("test_on_purpose_the_iteration_limit_is_a_pause_and_no_completion",),
        "the action is shown": ("test_requirement_the_action_is_named_above_its_round",),
        "prompt: all sections": ("test_requirement_the_prompt_has_all_sections",),
        "prompt: control rule": ("test_requirement_the_prompt_says_the_control_rule",),
        "JSON answer, message shown": ("test_requirement_message_tasks_and_validation_are_shown_and_never_json",),
        "continue: false": ("test_on_purpose_continue_false_is_a_question_to_the_person",),
        "last_action, completed_actions": ("test_requirement_last_action_and_completed_actions_are_kept",),
        "errors with action, message, timestamp": ("test_requirement_errors_have_action_message_and_timestamp",),
        "failed action goes on": ("test_requirement_a_failed_action_is_recorded_and_the_next_goes_on",),
        "damaged state is rebuilt": ("test_requirement_damaged_state_is_rebuilt_from_journal_and_progress_files",),
        "person aborts, resume": ("test_requirement_a_person_who_aborts_can_resume",),
        "agent program fails, by hand": ("test_requirement_an_agent_program_that_fails_is_a_pause_for_work_by_hand",),
        "action files": ("test_requirement_files_of_the_project_replace_the_instructions",),
        "complete needs a passed validation": (
            "test_requirement_complete_from_the_menu_needs_a_passed_validation_and_costs_no_round_without_one",
            "test_requirement_a_validation_before_later_work_does_not_allow_complete",
        ),
        "interactive menu with the state": ("test_requirement_the_menu_shows_the_state_and_the_actions",),
        "menu: status": ("test_requirement_status_tells_more_than_the_line_above_the_menu",),
        "auto flow": ("test_requirement_the_auto_mode_asks_nobody",),
        "state machine of the API": (
            "test_requirement_the_state_machine_of_the_api",
            f"{API}::test_every_control_twice_is_fine_and_a_wrong_move_is_409_with_a_sentence",
        ),
        "events and output over the API": (
            f"{API}::test_events_go_on_where_they_were_cut",
            f"{API}::test_the_output_is_read_in_parts",
        ),
    },
    "test_002_copilot_loop.py": {
        "loop_enabled": ("test_on_purpose_loop_enabled_is_in_the_schema_and_on_for_run",),
        "max_iterations 1 to 100, 5": ("test_requirement_max_iterations_of_a_profile_are_1_to_100_and_5_unless_set",),
        "hard limit 100": ("test_on_purpose_a_person_may_set_more_than_a_hundred_or_no_limit",),
        "completion_promise": ("test_requirement_completion_promise_is_in_the_schema_by_either_name",),
        "null promise": ("test_on_purpose_no_promise_is_the_empty_text_and_null_is_the_usual_one",),
        "scenario: completes": ("test_requirement_scenario_the_promise_ends_it_after_one_iteration",),
        "scenario: max 3": ("test_requirement_scenario_three_iterations_without_a_promise_made",),
        "scenario: off": ("test_requirement_scenario_with_the_loop_off_it_is_one_ordinary_run",),
        "scenario: empty promise": ("test_requirement_scenario_no_promise_uses_all_iterations",),
        "follow-up prompt": ("test_requirement_the_follow_up_is_the_task_and_its_iteration",),
        "same session": ("test_requirement_the_follow_up_is_in_the_same_session",),
        "promise found in the output": (
            "test_requirement_the_promise_in_the_output_completes",
            "test_on_purpose_a_promise_with_words_after_it_does_not_complete",
        ),
        "wrong detection avoided": ("test_requirement_wrong_detection_is_avoided",),
        "form: card, switch": ("test_requirement_form_a_card_with_a_switch",),
        "form: the switch hides the rest": ("test_requirement_form_the_switch_hides_the_rest",),
        "form: slider, label": (
            "test_requirement_form_a_slider_with_its_label",
            f"{FORMS}::TestSettings::test_changes_are_written_and_comments_stay",
        ),
        "form: help texts": ("test_requirement_form_the_help_texts_are_those_of_the_design",),
        "form: placeholder": ("test_requirement_form_the_placeholder",),
        "form: saved": ("test_requirement_form_what_is_saved_is_in_the_projects_file_and_comments_stay",),
        "translations": (
            "test_requirement_translations_are_complete_and_other_languages_fall_back_to_english",
            f"{TEXTS}::TestTexts::test_everything_that_is_said_has_its_translations",
        ),
        "ui:widget in the schema": ("test_on_purpose_the_schema_has_no_words_about_widgets",),
        "large output": (
            "test_requirement_much_output_is_kept_in_a_file_and_not_in_memory",
            "tests/e2e/test_foundations.py::test_hundreds_of_megabytes_of_output_take_no_memory",
        ),
        "two writers": ("test_requirement_two_writers_at_once_lose_nothing",),
        "opening the page": (f"{LOGIN}::test_the_form_logs_in_and_leads_to_the_page_that_was_asked_for",),
    },
    "test_003_supervisor.py": {
        "agent, check, feedback, again": (
            "test_requirement_work_check_and_feedback_repeat_until_the_supervisor_agrees",
        ),
        "fork": ("test_requirement_the_supervisor_looks_from_a_fork_and_the_session_stays_as_it_was",),
        "SUPERVISOR.md is the system prompt": ("test_requirement_the_supervisor_file_is_the_system_prompt",),
        "only the person's words": (
            "test_requirement_the_supervisor_hears_the_persons_words_and_never_earlier_feedback",
        ),
        "project before global": ("test_requirement_the_projects_file_comes_before_the_global_one",),
        "also below the project's folder": ("test_requirement_the_projects_file_is_found_below_its_folder_too",),
        "none: an error that says how": ("test_requirement_no_file_is_an_error_that_says_how_to_make_one",),
        "marker alone on a line": ("test_requirement_agreement_is_the_marker_alone_on_a_line",),
        "marker with a message": ("test_requirement_the_marker_may_carry_a_message",),
        "own marker": ("test_requirement_the_marker_can_be_set",),
        "feedback is the next message": ("test_requirement_feedback_is_the_next_message_word_for_word",),
        "agent not on PATH": (
            "test_requirement_an_agent_that_is_not_on_path_is_an_error",
            "tests/e2e/test_bad_input.py::test_an_agent_that_is_not_installed_is_told_before_anything_is_written",
        ),
        "pty cannot start": ("test_requirement_a_pty_that_cannot_start_is_an_error",),
        "broken stream line": ("test_requirement_a_broken_line_of_the_stream_is_a_warning_and_the_rest_is_read",),
        "supervisor fails": ("test_requirement_a_supervisor_that_fails_ends_the_loop_and_is_never_agreement",),
        "the person notices nothing": (
            f"{WRAP}::test_every_byte_goes_both_ways_and_none_is_added",
            f"{WRAP}::test_the_agent_has_the_same_terminal",
            f"{WRAP}::test_ctrl_c_goes_to_the_agent_alone",
        ),
        "several turns": (f"{SUPERVISED}::test_it_is_sent_back_until_the_supervisor_agrees_then_the_person_asks_on",),
        "final session resumed": (
            "test_requirement_the_final_session_is_handed_back",
            "tests/e2e/test_supervise.py::test_at_a_terminal_the_person_goes_on_in_the_session",
        ),
        "killed": (
            f"{WRAP}::test_nothing_is_left_when_wrap_itself_is_killed",
            f"{LEFT}::test_a_killed_wrap_leaves_its_loop_at_rest",
        ),
        "not a terminal": (f"{WRAP}::test_without_a_terminal_it_says_so",),
    },
    "test_004_loop_engine.py": {
        "route direct": ("test_requirement_route_direct_is_one_run",),
        "route planned": ("test_requirement_route_planned_has_three_phases_in_a_line",),
        "route ui_flow": ("test_requirement_route_ui_flow_has_three_phases_in_a_line",),
        "route ralph": ("test_requirement_route_ralph_loops_until_it_is_done",),
        "route architect": ("test_requirement_route_architect_loops_until_it_is_done",),
        "auto, quick, deep": (
            "test_requirement_the_route_is_chosen_by_the_first_turn",
            "test_requirement_flags_that_contradict_each_other_are_refused",
            "tests/e2e/test_phases.py::test_quick_and_deep",
        ),
        "state file: place and format": (
            "test_requirement_the_state_file_has_its_place_and_every_section",
            "tests/modes/test_delta_file.py::test_it_is_written_as_in_the_design",
        ),
        "Task ID": ("test_on_purpose_the_task_id_is_the_loops_id",),
        "Current = 1, IN_PROGRESS": ("test_requirement_it_begins_with_iteration_1_in_progress",),
        "update after phase and subtask": ("test_requirement_the_state_is_updated_after_each_phase_and_subtask",),
        "Completion Summary": ("test_requirement_the_completed_state_has_the_promise_and_a_summary",),
        "hook 1: no state": ("test_requirement_hook_without_a_state_the_agent_stops",),
        "hook 2: not IN_PROGRESS": ("test_requirement_hook_a_status_that_is_not_in_progress_lets_it_stop",),
        "hook 3: no promise": ("test_requirement_hook_without_the_promise_it_blocks_with_where_it_stands",),
        "hook 4: limit": ("test_requirement_hook_at_the_limit_it_lets_go_with_a_warning",),
        "another session is free": ("test_requirement_hook_another_session_is_free_and_has_a_state_file_of_its_own",),
        "two sessions, two files": (
            "test_requirement_hook_another_session_is_free_and_has_a_state_file_of_its_own",
            "tests/e2e/test_phases.py::test_two_loops_of_one_folder_have_a_file_each",
        ),
        "re-injection template": ("test_on_purpose_the_template_is_in_english",),
        "promise in the state file": (
            "test_on_purpose_the_promise_in_the_file_alone_ends_nothing_and_the_agent_is_told_why",
        ),
        "all phases, subtasks, review": (
            "test_requirement_done_is_all_phases_all_subtasks_and_a_passed_review",
            "test_requirement_the_promise_is_refused_early_with_what_is_missing",
        ),
        "archive and report": ("test_requirement_at_the_end_state_and_report_are_archived_and_nothing_is_left",),
        "clean up": ("test_requirement_at_the_end_state_and_report_are_archived_and_nothing_is_left",),
        "defaults": ("test_requirement_the_usual_limits_are_20_15_3_and_30_minutes",),
        ".skillpackrc": ("test_requirement_skillpackrc_is_honoured_and_a_bad_one_is_one_sentence",),
        "limit menu": (
            "test_requirement_the_limit_menu_has_four_choices",
            "tests/e2e/test_phases.py::test_what_ran_out_is_what_is_offered",
        ),
        "resume menu": (
            "test_requirement_the_resume_menu_has_four_choices",
            f"{CONTROL}::test_resume_at_a_terminal_asks_what_to_do_with_what_is_unfinished",
        ),
        "resume menu: phase n of m": ("test_requirement_the_resume_menu_shows_phase_n_of_m",),
        "atomic save, SHA-256": (
            "test_requirement_the_checkpoint_is_saved_atomically_with_its_sha256",
            "tests/store/test_checkpoint.py::test_a_reader_gets_a_complete_checkpoint_while_one_is_written",
        ),
        "three backups": ("test_requirement_three_backups_of_the_checkpoint_are_kept",),
        "events": (
            "test_requirement_the_events_of_the_design_are_in_the_journal",
            "test_requirement_a_retry_is_in_the_journal",
        ),
        "log fields phase, subtasks_done": ("test_requirement_log_entries_have_phase_and_subtasks_done",),
        "edits by hand": ("test_requirement_a_person_edits_the_state_file",),
        "live file out of git": ("test_requirement_at_the_end_state_and_report_are_archived_and_nothing_is_left",),
    },
}
REQUIREMENTS = [(seed, requirement) for seed, rows in SEEDS.items() for requirement in rows]


@cache
def found_in(path: str) -> dict[str, str]:
    """The tests of a file and their docstrings, by name; those of a class as `Class::test`."""
    return dict(_tests(ast.parse((ROOT / path).read_text()).body, ""))


def _tests(body: list[ast.stmt], within: str) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _tests(node.body, f"{node.name}::")
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield f"{within}{node.name}", ast.get_docstring(node) or ""


def located(seed: str, name: str) -> tuple[str, str]:
    """The file and the name of a test."""
    path, _, test = name.partition("::")
    return (path, test) if test else (f"{HERE}/{seed}", name)


def test_no_requirement_is_missing() -> None:
    assert [len(rows) for rows in SEEDS.values()] == [22, 40, 24, 20, 33]


@pytest.mark.parametrize(("seed", "requirement"), REQUIREMENTS)
def test_every_requirement_has_its_tests(seed: str, requirement: str) -> None:
    for name in SEEDS[seed][requirement]:
        path, test = located(seed, name)
        assert test in found_in(path), f"{path} has no {test}"
        assert found_in(path)[test] or not test.startswith("test_on_purpose"), f"{test} has no reason"


@pytest.mark.parametrize("seed", SEEDS)
def test_every_test_of_a_seed_belongs_to_a_requirement(seed: str) -> None:
    named = {name for names in SEEDS[seed].values() for name in names}
    assert set(found_in(f"{HERE}/{seed}")) - named <= ALSO


ALSO = {"test_requirement_route_phase_and_subtasks_are_shown_and_never_json"}
"""Tests of what nobody asked for in so many words."""
