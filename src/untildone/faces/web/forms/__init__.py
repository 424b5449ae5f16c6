"""Forms as values: fields made from the declarations of the settings, and what each shows at first."""
