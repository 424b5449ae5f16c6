CHINESE: dict[str, tuple[str, str]] = {}
