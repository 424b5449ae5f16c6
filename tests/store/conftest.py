import pytest

pytest.register_assert_rewrite("untildone.testing.store_conformance", "untildone.testing.store_records")
