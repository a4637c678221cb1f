-- What the app may do. Run as triptych_owner in the database, after every migration:
--   psql -f rights.sql 'postgresql://triptych_owner@127.0.0.1/triptych'
-- before PostgreSQL 15 everybody may create functions there, which would run with the rights of the app
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO triptych_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO triptych_app;
-- UPDATE: an imported study brings its row numbers, after which the next ones follow
GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO triptych_app;
-- the event log is append only, for the database too
REVOKE UPDATE, DELETE ON event FROM triptych_app;
REVOKE INSERT, UPDATE, DELETE ON alembic_version FROM triptych_app;
