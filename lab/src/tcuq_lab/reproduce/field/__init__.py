"""The monitor and its rivals on streams as users have them: who ranks, answers, warns and estimates best."""
