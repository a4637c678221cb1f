-- Two roles and a database. Run once as PostgreSQL's administrator, the passwords in the environment:
--   OWNER_PASSWORD=… APP_PASSWORD=… psql -f roles.sql postgres
-- The owner makes and changes tables (python -m triptych data migrate, and nothing else); the app reads and writes rows.
\getenv owner_password OWNER_PASSWORD
\getenv app_password APP_PASSWORD
CREATE ROLE triptych_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE triptych_app LOGIN PASSWORD :'app_password';
CREATE DATABASE triptych OWNER triptych_owner ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE triptych FROM PUBLIC;
GRANT CONNECT ON DATABASE triptych TO triptych_app;
