"""Tables, transactions, migrations and the event log. No rule of a study and no statistic."""
